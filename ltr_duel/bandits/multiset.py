"""The left player of the doublers: a uniform draw from the arms that the right player chose in the last epoch."""

from __future__ import annotations

from numpy.random import Generator

from ltr_duel.core import IntVector, kernel, random_below


@kernel
def starts_epoch(t: int) -> bool:
    """Return whether t opens an epoch; epoch p is the steps 2^(p-1) to 2^p - 1."""
    return t & (t - 1) == 0


@kernel
def random_member(cumulative: IntVector, rng: Generator) -> int:
    """Draw a member of a multiset of arms, given as the running sum of its histogram."""
    n = random_below(cumulative[-1], rng)
    low, high = 0, cumulative.shape[0] - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > n:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def replace_members(cumulative: IntVector, chosen: IntVector, rng: Generator) -> None:
    """Make the multiset the arms counted in ``chosen``, and count anew; the first multiset is one random arm."""
    total = 0
    for k in range(chosen.shape[0]):
        total += chosen[k]
    if total == 0:
        chosen[random_below(chosen.shape[0], rng)] = 1
    total = 0
    for k in range(chosen.shape[0]):
        total += chosen[k]
        cumulative[k] = total
        chosen[k] = 0
