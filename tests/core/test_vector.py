"""Vector searches equal numpy's, at sizes around whole blocks; machine instructions equal their plain counterparts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ltr_duel.core import interpreted, kernel, stream
from ltr_duel.core._machine.coins import compare_words, tally_bits, write_words
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
from ltr_duel.core.random import random_below
from ltr_duel.core.vector import (
    add_up_to,
    count_up_to,
    draw_up_to,
    find_at,
    first_above,
    largest,
    nth_at,
    nth_up_to,
    random_highest,
)

SIZES = (1, 31, 32, 33, 64, 100)


@pytest.mark.parametrize("size", SIZES)
def test_values_up_to_a_level_are_counted_and_found(size):
    rng = np.random.default_rng(size)
    values, indices = rng.integers(0, 4, size) / 2.0, np.full(size + 1, -1)
    level = values[rng.integers(size)]
    among = np.flatnonzero(values <= level)
    for run in (lambda function: function, interpreted):
        assert [run(nth_up_to)(values, level, n) for n in range(among.size)] == among.tolist()
        assert run(count_up_to)(values, level) == among.size and run(largest)(values) == values.max()
    assert add_up_to(values, level, indices, 1) == among.size + 1
    assert indices.tolist() == [-1, *among, *[-1] * (size - among.size)]


@pytest.mark.parametrize("size", SIZES)
def test_sums_at_a_level_are_counted_and_found(size):
    rng = np.random.default_rng(size)
    base, width = rng.integers(0, 3, size) / 2.0, rng.integers(0, 3, size) / 2.0
    level = (base + 0.5 * width)[rng.integers(size)]
    among = np.flatnonzero(base + 0.5 * width == level)
    for run in (lambda function: function, interpreted):
        assert [run(nth_at)(base, width, 0.5, level, n) for n in range(among.size)] == among.tolist()
        assert run(find_at)(base, width, 0.5, level) == (among.size, among[0])


@pytest.mark.parametrize("size", [3, 40])
def test_several_candidates_take_a_random_number_and_a_single_candidate_takes_none(size):
    values, rng = np.arange(size) // 3 * 1.0, stream(0, "draw")
    expected = stream(0, "draw")
    assert [draw_up_to(values, 0.0, rng) for _ in range(20)] == [random_below(3, expected) for _ in range(20)]
    highest = [random_highest(-values, values, 0.5, rng) for _ in range(20)]
    assert highest == [random_below(3, expected) for _ in range(20)]
    values[1:] += 1.0
    assert draw_up_to(values, 0.0, rng) == random_highest(-values, values, 0.5, rng) == 0
    assert rng.random() == expected.random()


@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_the_first_sum_above_a_value_is_found(kind):
    sums = np.random.default_rng(4).integers(0, 3, 64).cumsum().astype(kind)
    for value in range(int(sums[-1])):
        assert (
            first_above(sums, value) == np.searchsorted(sums, value, "right") == interpreted(first_above)(sums, value)
        )


@kernel
def compiled_larger(a, b):
    return larger(a, b)


@kernel
def compiled_text(text, at):
    word = load_word(text, at)
    return word, space_mask(text, at), trailing_zeros(word)


@kernel
def compiled_lanes(values, width, at, scale, level):
    below = lanes_up_to(values, at, level)
    return below, lanes_at(values, width, at, scale, level), count_bits(below)


@kernel
def compiled_counts(floats, small, at, level, bound):
    return count_reaching(floats, at, level), count_below(small, at, bound)


@kernel
def compiled_coins(words, levels, counts, at, mask):
    tally_bits(counts, at, mask)
    return compare_words(words, levels)


@kernel
def compiled_words(lane, seed, start):
    write_words(lane, seed, start)


@settings(max_examples=300, deadline=None)
@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_larger_returns_the_larger_of_two_floats(a, b):
    assert compiled_larger(a, b) == larger(a, b) == max(a, b)


@settings(max_examples=300, deadline=None)
@given(st.text(" 1:.\n\0\xff", min_size=40, max_size=40), st.integers(0, 8))
@example(" " * 40, 1)
@example("\0" * 40, 3)
def test_load_word_and_space_mask_read_the_bytes_of_a_text(text, at):
    data = np.frombuffer(text.encode("latin-1"), np.uint8)
    word = load_word(data, at)
    assert compiled_text(data, at) == (word, space_mask(data, at), trailing_zeros(word))
    assert space_mask(data, at).bit_count() == text[at : at + 32].count(" ")


FEW = st.sampled_from([0.0, 0.5, 1.0, 2.0, np.inf])


@settings(max_examples=200, deadline=None)
@given(st.lists(FEW, min_size=LANES + 3, max_size=LANES + 3), st.integers(0, 3), st.sampled_from([0.5, 1.0, 2.5]))
def test_32_numbers_are_compared_with_a_level(numbers, at, level):
    values, width = np.array(numbers), np.arange(len(numbers)) % 3 / 2.0
    below, same = lanes_up_to(values, at, level), lanes_at(values, width, at, 0.5, level)
    assert compiled_lanes(values, width, at, 0.5, level) == (below, same, count_bits(below))
    assert [below >> k & 1 for k in range(40)] == [*(values[at : at + LANES] <= level), *[0] * 8]
    assert [same >> k & 1 for k in range(40)] == [*((values + 0.5 * width)[at : at + LANES] == level), *[0] * 8]


def test_a_product_is_rounded_before_it_is_added():
    """A fused instruction would round only once, and find different ties from plain Python."""
    values, width = np.random.default_rng(0).random((2, LANES))
    for k in range(LANES):
        level = float(values[k] + 0.3 * width[k])
        assert compiled_lanes(values, width, 0, 0.3, level)[1] >> k & 1


NEAR = st.sampled_from([-1.0, -0.0, 0.0, 1.0, np.nextafter(1.0, 2.0), np.inf])
SMALL = st.sampled_from([-(2**15), -1, 0, 1, 2, 2**15 - 1])


@settings(max_examples=200, deadline=None)
@given(
    st.lists(NEAR, min_size=AT_ONCE + 8, max_size=AT_ONCE + 8),
    st.lists(SMALL, min_size=SMALL_AT_ONCE + 8, max_size=SMALL_AT_ONCE + 8),
    st.integers(0, 8), NEAR, SMALL,
)  # fmt: skip
def test_the_rank_of_a_number_among_a_few(floats, small, at, level, bound):
    values, numbers = np.array(floats), np.array(small, np.int16)
    expected = (
        sum(value >= level for value in floats[at : at + AT_ONCE]),
        sum(number < bound for number in small[at : at + SMALL_AT_ONCE]),
    )
    assert compiled_counts(values, numbers, at, level, np.int16(bound)) == expected
    assert (count_reaching(values, at, level), count_below(numbers, at, bound)) == expected


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1), st.integers(0, 7))
@example(1, 1 << 31, 3)
def test_32_coins_are_compared_and_tallied(seed, mask, at):
    rng = np.random.default_rng(seed)
    words, levels = rng.integers(0, 4, (2, 32)).astype(np.uint16) << 14
    counts = rng.integers(-9, 9, 40).astype(np.int16)
    twin = counts.copy()
    tally_bits(twin, at, mask)
    below, equal = compare_words(words, levels)
    assert compiled_coins(words, levels, counts, at, mask) == (below, equal) and counts.tolist() == twin.tolist()
    assert [below >> k & 1 for k in range(32)] == (words < levels).astype(int).tolist()
    assert [equal >> k & 1 for k in range(32)] == (words == levels).astype(int).tolist()


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**64 - 1), st.integers(0, 2**40))
def test_random_words_are_those_of_splitmix64(seed, start):
    lane, twin = np.zeros((2, 8), np.uint64)
    compiled_words(lane, np.uint64(seed), start)
    write_words(twin, np.uint64(seed), start)
    assert lane.tolist() == twin.tolist()
    write_words(lane, 1234567, 0)  # as in the public programs of the generator
    assert lane[:3].tolist() == [6457827717110365317, 3203168211198807973, 9817491932198370423]
