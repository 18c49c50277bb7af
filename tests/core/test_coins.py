"""The instructions that sample 32 coins equal their plain Python counterparts."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ltr_duel.core import kernel
from ltr_duel.core._machine.coins import compare_words, tally_bits, write_words


@kernel
def compiled_coins(words, levels, counts, at, mask):  # type: ignore[no-untyped-def]
    below, equal = compare_words(words, levels)
    tally_bits(counts, at, mask)
    return below, equal


@kernel
def compiled_words(lane, seed, start):  # type: ignore[no-untyped-def]
    write_words(lane, seed, start)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1), st.integers(0, 7))
@example(0, 2**32 - 1, 0)
@example(1, 1 << 31, 3)
def test_words_of_coins(seed: int, mask: int, at: int) -> None:
    rng = np.random.default_rng(seed)
    words, levels = rng.integers(0, 4, (2, 32)).astype(np.uint16) << 14
    counts = rng.integers(-9, 9, 40).astype(np.int16)
    twin = counts.copy()
    tally_bits(twin, at, mask)
    assert compiled_coins(words, levels, counts, at, mask) == compare_words(words, levels)
    assert counts.tolist() == twin.tolist()
    below, equal = compare_words(words, levels)
    assert [below >> k & 1 for k in range(32)] == (words < levels).astype(int).tolist()
    assert [equal >> k & 1 for k in range(32)] == (words == levels).astype(int).tolist()


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**64 - 1), st.integers(0, 2**40))
def test_random_words_are_those_of_splitmix64(seed: int, start: int) -> None:
    lane, twin = np.zeros((2, 8), np.uint64)
    compiled_words(lane, np.uint64(seed), start)
    write_words(twin, np.uint64(seed), start)
    assert lane.tolist() == twin.tolist()


def test_splitmix64_starts_as_published() -> None:
    """The first numbers of the seed 1234567, as in the public programs of the generator."""
    lane = np.zeros(8, np.uint64)
    write_words(lane, 1234567, 0)
    assert lane[:3].tolist() == [6457827717110365317, 3203168211198807973, 9817491932198370423]
