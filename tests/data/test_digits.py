"""Parsing eight digits at once equals parsing one by one, for every end of the text."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ltr_duel.core import interpreted, kernel
from ltr_duel.data.text.tokens import leading_digits


@kernel
def compiled(text, at):  # type: ignore[no-untyped-def]
    return leading_digits(text, at)


@settings(max_examples=2000, deadline=None)
@given(st.text("0123456789", max_size=10), st.binary(max_size=12))
@example("", b"")
@example("12345678", b"9")
@example("99999999", b"\xff" * 8)
@example("1", b"\xff\xff\xff\xff\xff\xff\xff")
def test_compiled_and_interpreted_agree(digits: str, rest: bytes) -> None:
    text = np.frombuffer(b"x" + digits.encode() + rest, np.uint8)
    number, count = compiled(text, 1)
    assert (number, count) == interpreted(leading_digits)(text, 1)
    expected = (digits.encode() + rest)[:8]
    length = next((i for i, byte in enumerate(expected) if byte not in b"0123456789"), len(expected))
    assert (number, count) == (int(expected[:length] or b"0"), length)
