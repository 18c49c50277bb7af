"""Vector searches equal numpy's, at sizes around whole blocks, compiled and as plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from ltr_duel.core import interpreted, stream
from ltr_duel.core.random import random_below
from ltr_duel.core.vector import (
    add_up_to,
    draw_up_to,
    find_at,
    find_up_to,
    first_above,
    nth_at,
    nth_bit,
    nth_up_to,
    random_highest,
)

SIZES = (1, 5, 31, 32, 33, 63, 64, 65, 100)


@pytest.mark.parametrize("size", SIZES)
def test_values_up_to_a_level_are_counted_and_found(size: int) -> None:
    rng = np.random.default_rng(size)
    for _ in range(5):
        values, indices = rng.integers(0, 4, size) / 2.0, np.full(size + 1, -1)
        level = values[rng.integers(size)]
        among = np.flatnonzero(values <= level)
        assert [nth_up_to(values, level, n) for n in range(among.size)] == among.tolist()
        assert find_up_to(values, level) == (among.size, among[0]) == interpreted(find_up_to)(values, level)
        assert add_up_to(values, level, indices, 1) == among.size + 1
        assert indices.tolist() == [-1, *among, *[-1] * (size - among.size)]
        assert add_up_to(values, -1.0, indices, 0) == 0


@pytest.mark.parametrize("size", SIZES)
def test_sums_at_a_level_are_counted_and_found(size: int) -> None:
    rng = np.random.default_rng(size)
    for _ in range(5):
        base, width = rng.integers(0, 3, size) / 2.0, rng.integers(0, 3, size) / 2.0
        level = (base + 0.5 * width)[rng.integers(size)]
        among = np.flatnonzero(base + 0.5 * width == level)
        found = [nth_at(base, width, 0.5, level, n) for n in range(among.size)]
        assert found == among.tolist() == [interpreted(nth_at)(base, width, 0.5, level, n) for n in range(among.size)]
        assert find_at(base, width, 0.5, level) == (among.size, among[0])


@pytest.mark.parametrize("size", [3, 40])
def test_one_of_several_is_drawn_by_one_number_and_a_single_one_by_none(size: int) -> None:
    values, rng = np.arange(size) // 3 * 1.0, stream(0, "draw")
    expected = stream(0, "draw")
    assert [draw_up_to(values, 0.0, rng) for _ in range(20)] == [random_below(3, expected) for _ in range(20)]
    highest = [random_highest(-values, values, 0.5, rng) for _ in range(20)]
    assert highest == [random_below(3, expected) for _ in range(20)]
    values[1:] += 1.0
    assert draw_up_to(values, 0.0, rng) == random_highest(-values, values, 0.5, rng) == 0
    assert rng.random() == expected.random()


def test_every_set_bit_is_found_by_its_number() -> None:
    rng = np.random.default_rng(1)
    for mask in [1, 1 << 31, (1 << 32) - 1, *(int(rng.integers(1, 1 << 32)) for _ in range(50))]:
        places = [k for k in range(32) if mask >> k & 1]
        assert [nth_bit(mask, n) for n in range(len(places))] == places
        assert [interpreted(nth_bit)(mask, n) for n in range(len(places))] == places


@pytest.mark.parametrize("size", [1, 2, 5, 64])
@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_the_first_sum_above_a_value_is_found(size: int, kind: type) -> None:
    sums = np.random.default_rng(size).integers(0, 3, size).cumsum().astype(kind)
    for value in range(int(sums[-1])):
        assert (
            first_above(sums, value) == np.searchsorted(sums, value, "right") == interpreted(first_above)(sums, value)
        )
