"""Tokens in the usual form are read directly and exactly; all other tokens are left to the slow reader."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ltr_duel.core import interpreted, kernel
from ltr_duel.data.text.tokens import usual_token

USUAL = re.compile(r"(\d{1,7}):([+-]?(?:\d{1,7}(?:\.\d{0,7})?|\.\d{1,7})) ")


@kernel
def compiled(text, at):  # type: ignore[no-untyped-def]
    return usual_token(text, at)


def read(token: str, rest: str = " " * 64) -> tuple[int, float, int]:
    text = np.frombuffer(f"#{token}{rest}".encode("latin-1"), np.uint8)
    answer = compiled(text, 1)
    assert answer == interpreted(usual_token)(text, 1)
    return answer


def check(token: str) -> None:
    """Compare with the definition; a 1 precedes the token."""
    usual = USUAL.match(token + " ")
    if usual:
        assert read(token) == (int(usual[1]), float(usual[2]), 1 + usual.end())
    else:
        assert read(token)[0] == -1


@pytest.mark.parametrize(
    "token", ["1:0", "136:-0.028185", "0:3", "7:1.", "7:.5", "1234567:-1234567.1234567", "1:+5400000"]
)
def test_usual_tokens_are_read(token: str) -> None:
    check(token)


UNUSUAL = "12345678:1|1:12345678|1:0.12345678|1:|1:-|1:.|1:NULL|1|1;2|1:2\t|1:2#|1:2\n|1:1e3|1:--2|1:1.2.3|1::2|1:nan"


@pytest.mark.parametrize("token", UNUSUAL.split("|"))
def test_unusual_tokens_are_left_alone(token: str) -> None:
    assert read(token)[0] == -1


def test_near_the_end_of_the_text_nothing_is_read() -> None:
    assert read("1:2", " " * 61)[0] == 1 and read("1:2", " " * 60)[0] == -1


@settings(max_examples=3000, deadline=None)
@given(st.integers(0, 9), st.text("0123456789:.+-eE \t#\n/;\xff", max_size=40))
def test_any_token_is_read_exactly_or_left_alone(digit: int, rest: str) -> None:
    check(f"{digit}{rest}")


@settings(max_examples=3000, deadline=None)
@given(st.from_regex(r"[0-9]{1,8}:[+-]?[0-9]{0,8}\.?[0-9]{0,8}( |\t|#|e1 )", fullmatch=True))
def test_numbers_of_about_the_usual_form(token: str) -> None:
    check(token)
