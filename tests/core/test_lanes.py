"""A machine instruction gives the same result as its plain Python counterpart."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ltr_duel.core import kernel
from ltr_duel.core._machine.lanes import (
    AT_ONCE,
    LANES,
    SMALL_AT_ONCE,
    count_below,
    count_bits,
    count_reaching,
    lanes_at,
    lanes_up_to,
    larger,
    load_word,
    space_mask,
    trailing_zeros,
)


@kernel
def compiled_larger(a, b):  # type: ignore[no-untyped-def]
    return larger(a, b)


@kernel
def compiled_text(text, at):  # type: ignore[no-untyped-def]
    word = load_word(text, at)
    return word, space_mask(text, at), trailing_zeros(word)


@kernel
def compiled_lanes(values, width, at, scale, level):  # type: ignore[no-untyped-def]
    below = lanes_up_to(values, at, level)
    return below, lanes_at(values, width, at, scale, level), count_bits(below)


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


FEW = st.sampled_from([0.0, 0.5, 1.0, 2.0, np.inf])


@settings(max_examples=300, deadline=None)
@given(st.lists(FEW, min_size=LANES + 3, max_size=LANES + 3), st.integers(0, 3), st.sampled_from([0.5, 1.0, 2.5]))
def test_numbers_are_compared_with_a_level(numbers: list[float], at: int, level: float) -> None:
    values, width = np.array(numbers), np.arange(len(numbers)) % 3 / 2.0
    below, same = lanes_up_to(values, at, level), lanes_at(values, width, at, 0.5, level)
    assert compiled_lanes(values, width, at, 0.5, level) == (below, same, count_bits(below))
    assert [below >> k & 1 for k in range(40)] == [*(values[at : at + LANES] <= level), *[0] * 8]
    assert [same >> k & 1 for k in range(40)] == [*((values + 0.5 * width)[at : at + LANES] == level), *[0] * 8]


def test_a_product_is_rounded_before_it_is_added() -> None:
    """A fused instruction would round only once, and find different ties from plain Python."""
    rng = np.random.default_rng(0)
    values, width = rng.random(LANES), rng.random(LANES)
    for k in range(LANES):
        level = float(values[k] + 0.3 * width[k])
        assert compiled_lanes(values, width, 0, 0.3, level)[1] >> k & 1


@kernel
def compiled_counts(floats, small, at, level, bound):  # type: ignore[no-untyped-def]
    return count_reaching(floats, at, level), count_below(small, at, bound)


NEAR = st.sampled_from([-1.0, -0.0, 0.0, 1.0, np.nextafter(1.0, 2.0), np.inf])
SMALL = st.sampled_from([-(2**15), -1, 0, 1, 2, 2**15 - 1])


@settings(max_examples=300, deadline=None)
@given(
    st.lists(NEAR, min_size=AT_ONCE + 8, max_size=AT_ONCE + 8),
    st.lists(SMALL, min_size=SMALL_AT_ONCE + 8, max_size=SMALL_AT_ONCE + 8),
    st.integers(0, 8), NEAR, SMALL,
)  # fmt: skip
def test_numbers_compared_at_once(floats: list[float], small: list[int], at: int, level: float, bound: int) -> None:
    values, numbers = np.array(floats), np.array(small, np.int16)
    expected = (
        sum(value >= level for value in floats[at : at + AT_ONCE]),
        sum(number < bound for number in small[at : at + SMALL_AT_ONCE]),
    )
    assert compiled_counts(values, numbers, at, level, np.int16(bound)) == expected
    assert (count_reaching(values, at, level), count_below(numbers, at, bound)) == expected
