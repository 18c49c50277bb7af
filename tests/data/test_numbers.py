"""Every number equals Python's ``float(text)`` rounded to float32, and usual tokens are read in one step."""

from __future__ import annotations

import re
import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ltr_duel.core import interpreted, kernel
from ltr_duel.data.text.tokens import EXACT, NOT_A_NUMBER, POWERS, TOO_LARGE, UNSURE, parse_number, usual_token

digits = st.text("0123456789", max_size=30)
written = st.from_regex(r"[+-]?([0-9]{1,30}\.?[0-9]{0,30}|\.[0-9]{1,30})([eE][+-]?[0-9]{1,2})?", fullmatch=True)
floats = st.floats(width=32, allow_nan=False, allow_infinity=False)
halfway = st.integers(0, 2**31 - 2**24).map(lambda bits: repr((as_float32(bits) + as_float32(bits + 1)) / 2))

USUAL = re.compile(r"([0-9]{1,7}):([+-]?(?:[0-9]{1,7}(?:\.[0-9]{0,7})?|\.[0-9]{1,7})) ")


def as_float32(bits: int) -> float:
    return float(struct.unpack("<f", struct.pack("<I", bits))[0])


def check(text: str) -> int:
    line = np.frombuffer(text.encode("latin-1") + b"\n", np.uint8)
    value, end, code = parse_number(line, 0)
    assert (value, end, code) == interpreted(parse_number)(line, 0) and end == len(text)
    with np.errstate(over="ignore"):
        expected = np.float32(float(text))
    assert code in (EXACT, TOO_LARGE, UNSURE)
    if code == EXACT:
        assert np.float32(value).tobytes() == expected.tobytes(), text
    assert code != TOO_LARGE or np.isinf(expected)
    return int(code)


@settings(max_examples=300, deadline=None)
@given(written)
@example("0." + "0" * 60 + "1")
@example("1" + "0" * 38)
@example("340282356779733661637539395458142568447")
@example("3.4028235677973366e38")
@example("3.40282356779733e38")
@example("7.006492321624085e-46")
@example("7.0064923216240854e-46")
@example("123456789012345678e-10")
@example("1e99999999999999999999")
@example("1e-99999999999999999999")
@example("-0")
def test_any_written_form_is_read_as_python_reads_it(text):
    check(text)


@settings(max_examples=150, deadline=None)
@given(floats)
def test_shortest_and_longest_forms_of_every_float32_are_exact(value):
    for text in (repr(value), f"{value:.9g}", f"{value:.17g}", f"{value:.6f}", str(np.float32(value))):
        check(text)


@settings(max_examples=100, deadline=None)
@given(halfway)
@example("1.00000005960464477539062500000000000000000000001")
def test_numbers_between_two_float32_are_right_or_left_to_python(text):
    for nudged in (text, text.replace("e", "0001e") if "e" in text else text + "0001"):
        check(nudged)


def test_only_ties_are_left_to_python():
    assert check("1.000000059604644775390625") == UNSURE
    rng = np.random.default_rng(0)
    assert sum(check(f"{x:.17g}") == UNSURE for x in rng.random(300)) <= 1


@pytest.mark.parametrize("text", ["", "-.", "e5", "1e+", "--1", "nan"])
def test_what_python_refuses_is_refused(text):
    assert parse_number(np.frombuffer(text.encode() + b"\n", np.uint8), 0)[2] == NOT_A_NUMBER


def test_powers_of_ten_are_the_nearest_doubles():
    for i, power in enumerate(POWERS.tolist()):
        assert abs(Fraction(power) - Fraction(10) ** (i - 90)) <= Fraction(float(np.spacing(power))) / 2


@kernel
def compiled(text, at):
    return usual_token(text, at)


def token(word: str, rest: str = " " * 64) -> tuple[int, float, int]:
    text = np.frombuffer(f"#{word}{rest}".encode("latin-1"), np.uint8)
    answer = compiled(text, 1)
    assert answer == interpreted(usual_token)(text, 1)
    return answer


def check_token(word: str) -> None:
    usual = USUAL.match(word + " ")
    if usual:
        assert token(word) == (int(usual[1]), float(usual[2]), 1 + usual.end())
    else:
        assert token(word)[0] == -1


@settings(max_examples=300, deadline=None)
@given(st.from_regex(r"[0-9]{1,8}:[+-]?[0-9]{0,8}\.?[0-9]{0,8}( |\t|#|e1 )", fullmatch=True))
@example("1234567:-1234567.1234567")
@example("1:0.12345678")
@example("1::2")
def test_tokens_of_about_the_usual_form_are_read_exactly_or_left_alone(word):
    check_token(word)


def test_near_the_end_of_the_text_no_token_is_read():
    assert token("1:2", " " * 61)[0] == 1 and token("1:2", " " * 60)[0] == -1
