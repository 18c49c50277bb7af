"""Many coins at once: sixteen random bits for each, compared with the first sixteen of its probability.

One draw from a policy's generator for each coin would be most of the cost of Thompson sampling. So two draws seed a
counter-based generator (`scrambled`), of which each number gives the words of four coins.

Sixteen bits decide a coin unless they equal the first sixteen of its probability p: with ``odds = floor(2^16 p)`` a
smaller word wins, a larger one loses, and an equal one wins with the probability ``2^16 p - odds``, for which the
policy's own generator is asked. So a coin has its probability exactly, and one in 65,536 costs more than a comparison.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ltr_duel.core import (
    COINS,
    FloatVector,
    IntVector,
    compare_words,
    inlined,
    kernel,
    trailing_zeros,
    uniform,
    write_words,
)

OddsMatrix: TypeAlias = NDArray[np.uint16]
WordVector: TypeAlias = NDArray[np.uint16]
LaneVector: TypeAlias = NDArray[np.uint64]

BLOCK = COINS  # rows of odds are filled up to a multiple of it with zeros
_WORD = 65536.0  # 2^16
_HALF = 4294967296.0  # 2^32


def filled_up(coins: int) -> int:
    """Return how long a row of so many coins is."""
    return -(-coins // BLOCK) * BLOCK


def fair_odds(rows: int, coins: int) -> OddsMatrix:
    """Make rows of fair coins."""
    odds = np.zeros((rows, filled_up(coins)), np.uint16)
    odds[:, :coins] = 1 << 15
    return odds


def new_lane() -> LaneVector:
    """Make room for the words of a block of coins."""
    return np.zeros(BLOCK // 4, np.uint64)


def no_odds(coins: int) -> WordVector:
    """Make room for the odds of a row."""
    return np.zeros(filled_up(coins), np.uint16)


@inlined
def gather(row: WordVector, odds: WordVector, arms: IntVector) -> None:
    """Put the odds against these arms side by side."""
    for k in range(arms.shape[0]):
        row[k] = odds[arms[k]]


@inlined
def odds_of(p: float) -> np.uint16:
    """Return the first sixteen bits of a probability."""
    return np.uint16(min(max(p * _WORD, 0.0), _WORD - 1.0))


@inlined
def new_seed(rng: Generator) -> np.uint64:
    """Draw the 64 bits that a counter is scrambled with."""
    high, low = np.uint64(uniform(rng) * _HALF), np.uint64(uniform(rng) * _HALF)
    return (high << np.uint64(32)) | low


@inlined
def toss_block(
    lane: LaneVector, seed: np.uint64, drawn: int, odds: WordVector, chance: FloatVector, arms: IntVector, at: int,
    mask: int, rng: Generator,
) -> int:  # fmt: skip
    """Toss those coins of a row, in the block at place ``at``, that are in the mask; return the mask of those that win.

    ``odds[k]`` holds the first bits of the probability ``chance[arms[k]]``; ``drawn`` numbers of the seed are used up.
    """
    write_words(lane, seed, drawn)
    below, equal = compare_words(lane.view(np.uint16), odds[at:])
    if equal & mask != 0:
        below |= toss_equal(equal & mask, odds[at:], chance, arms[at:], rng)
    return below & mask


@kernel
def toss_equal(equal: int, odds: WordVector, chance: FloatVector, arms: IntVector, rng: Generator) -> int:
    """Decide the coins that the words left open, by the bits of their probabilities that ``odds`` lacks."""
    wins = 0
    while equal != 0:
        k = trailing_zeros(np.uint64(equal))
        if uniform(rng) < chance[arms[k]] * _WORD - odds[k]:
            wins |= equal & -equal
        equal &= equal - 1
    return wins


@inlined
def block_mask(coins: int, at: int) -> int:
    """Return the mask of the coins of a row that are in the block at place ``at``."""
    left = coins - at
    return (1 << (left if left < BLOCK else BLOCK)) - 1
