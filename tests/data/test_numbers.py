"""Every number equals Python's ``float(text)`` rounded to float32."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ltr_duel.core import interpreted
from ltr_duel.data.text.tokens import (
    EXACT,
    NOT_A_NUMBER,
    POWERS,
    TOO_LARGE,
    UNSURE,
    parse_any_number,
    parse_number,
)

digits = st.text("0123456789", max_size=30)
written = st.builds(
    lambda sign, whole, point, part, e: sign + whole + point + part + e,
    st.sampled_from(["", "+", "-"]),
    digits,
    st.sampled_from(["", "."]),
    digits,
    st.one_of(
        st.just(""),
        st.builds("{}{}{}".format, st.sampled_from("eE"), st.sampled_from(["", "+", "-"]), st.integers(0, 60)),
    ),
).filter(lambda text: any(c.isdigit() for c in text.split("e")[0].split("E")[0]))
floats = st.floats(width=32, allow_nan=False, allow_infinity=False)
halfway = st.integers(0, 2**31 - 2**24).map(lambda bits: repr((as_float32(bits) + as_float32(bits + 1)) / 2))


def as_float32(bits: int) -> float:
    return float(struct.unpack("<f", struct.pack("<I", bits))[0])


def expected(text: str) -> np.float32:
    with np.errstate(over="ignore"):
        return np.float32(float(text))


def check(text: str, parse: object = parse_number) -> int:
    value, end, code = parse(np.frombuffer(text.encode() + b"\n", np.uint8), 0)  # type: ignore[operator]
    assert end == len(text)
    want = expected(text)
    if code == EXACT:
        got = np.float32(value)
        assert got.tobytes() == want.tobytes(), (text, got, want)
    elif code == TOO_LARGE:
        assert np.isinf(want)
    else:
        assert code == UNSURE
    return int(code)


@settings(max_examples=2000, deadline=None)
@given(written)
@example("0." + "0" * 60 + "1")
@example("1" + "0" * 38)
@example("340282356779733661637539395458142568447")
@example("3.4028235677973366e38")
@example("3.40282356779733e38")
@example("7.006492321624085e-46")
@example("7.0064923216240854e-46")
@example("1e-45")
@example("123456789012345678e-10")
@example("1e99999999999999999999")
@example("1e-99999999999999999999")
@example("-0")
def test_any_written_form(text: str) -> None:
    check(text)


@settings(max_examples=1000, deadline=None)
@given(floats)
def test_shortest_and_longest_forms_of_every_float32(value: float) -> None:
    for text in (repr(value), f"{value:.9g}", f"{value:.17g}", f"{value:.6f}", str(np.float32(value))):
        check(text)


@settings(max_examples=500, deadline=None)
@given(halfway)
@example("1.00000005960464477539062500000000000000000000001")
def test_numbers_between_two_float32_are_right_or_left_to_python(text: str) -> None:
    for nudged in (text, text.replace("e", "0001e") if "e" in text else text + "0001"):
        check(nudged)


def test_an_exact_tie_is_left_to_python() -> None:
    assert check("1.000000059604644775390625") == UNSURE


def test_hardly_any_number_is_left_to_python() -> None:
    rng = np.random.default_rng(0)
    unsure = sum(check(f"{x:.17g}") == UNSURE for x in rng.random(5000))
    assert unsure <= 1


@pytest.mark.parametrize("text", ["", "-", "+", ".", "-.", "e5", ".e5", "1e", "1e+", "--1", "nan", "inf", " 1"])
def test_what_python_refuses_is_refused(text: str) -> None:
    assert parse_number(np.frombuffer(text.encode() + b"\n", np.uint8), 0)[2] == NOT_A_NUMBER


@settings(max_examples=300, deadline=None)
@given(written)
def test_interpreted_and_compiled_agree(text: str) -> None:
    line = np.frombuffer(text.encode() + b"\n", np.uint8)
    compiled = parse_any_number(line, 0)
    assert tuple(compiled) == tuple(interpreted(parse_any_number)(line, 0))


def test_powers_of_ten_are_the_nearest_doubles() -> None:
    from fractions import Fraction

    for i, power in enumerate(POWERS.tolist()):
        exact = Fraction(10) ** (i - 90)
        spacing = Fraction(float(np.spacing(power)))
        assert abs(Fraction(power) - exact) <= spacing / 2
