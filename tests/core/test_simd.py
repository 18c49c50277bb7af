"""A machine instruction gives what its twin in plain Python gives."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ltr_duel.core import kernel
from ltr_duel.core.simd import larger, load_word, space_mask, trailing_zeros


@kernel
def compiled_larger(a, b):  # type: ignore[no-untyped-def]
    return larger(a, b)


@kernel
def compiled_text(text, at):  # type: ignore[no-untyped-def]
    word = load_word(text, at)
    return word, space_mask(text, at), trailing_zeros(word)


@settings(max_examples=500, deadline=None)
@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_the_larger_of_two_floats(a: float, b: float) -> None:
    assert compiled_larger(a, b) == larger(a, b) == max(a, b)


@settings(max_examples=500, deadline=None)
@given(st.text(" 1:.\n\0\xff", min_size=40, max_size=40), st.integers(0, 8))
@example(" " * 40, 1)
@example("\0" * 40, 3)
def test_bytes_of_a_text(text: str, at: int) -> None:
    data = np.frombuffer(text.encode("latin-1"), np.uint8)
    word = load_word(data, at)
    assert compiled_text(data, at) == (word, space_mask(data, at), trailing_zeros(word))
    assert space_mask(data, at).bit_count() == text[at : at + 32].count(" ")
