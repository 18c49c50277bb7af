"""Many Bernoulli samples (*coins*) at once: a coin compares 16 random bits with the first 16 bits of its probability.

If each coin required a draw from the policy's generator, these draws would dominate the cost of Thompson sampling.
Instead, two draws seed a counter-based generator. Each of its 64-bit numbers provides four *words* of
16 bits, one for each of four coins.

Let p be the probability of a coin, and ``odds = floor(2^16 p)``. A word below ``odds`` wins, and a larger word loses.
If the word equals ``odds``, a further draw from the policy's generator wins with probability ``2^16 p - odds``. Each
coin therefore wins with probability exactly p, and only one coin in 65,536 needs the further draw.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

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

BLOCK = COINS  # number of coins in a block; rows of odds are padded with zeros to whole blocks
_WORD = 65536.0  # 2^16
_HALF = 4294967296.0  # 2^32


class Coins(NamedTuple):
    """A row of coins, one for each arm in ``arms``; ``odds[k]`` is the first 16 bits of ``chance[arms[k]]``."""

    arms: IntVector
    odds: WordVector
    chance: FloatVector  # (K,)
    lane: LaneVector  # scratch: the words of a block


def filled_up(coins: int) -> int:
    """Return the padded length of a row of ``coins`` coins."""
    return -(-coins // BLOCK) * BLOCK


def fair_odds(rows: int, coins: int) -> OddsMatrix:
    """Return the odds of rows of fair coins."""
    odds = np.zeros((rows, filled_up(coins)), np.uint16)
    odds[:, :coins] = 1 << 15
    return odds


def new_lane() -> LaneVector:
    """Allocate the words of a block of coins."""
    return np.zeros(BLOCK // 4, np.uint64)


def no_odds(coins: int) -> WordVector:
    """Allocate the odds of a row of coins."""
    return np.zeros(filled_up(coins), np.uint16)


@inlined
def gather(row: WordVector, odds: WordVector, arms: IntVector) -> None:
    """Copy the entries of ``odds`` for ``arms`` to the start of ``row``."""
    for k in range(arms.shape[0]):
        row[k] = odds[arms[k]]


@inlined
def odds_of(p: float) -> np.uint16:
    """Return the first 16 bits of a probability."""
    return np.uint16(min(max(p * _WORD, 0.0), _WORD - 1.0))


@inlined
def new_seed(rng: Generator) -> np.uint64:
    """Draw the 64-bit seed of the counter-based generator."""
    high, low = np.uint64(uniform(rng) * _HALF), np.uint64(uniform(rng) * _HALF)
    return (high << np.uint64(32)) | low


@inlined
def toss_block(coins: Coins, seed: np.uint64, drawn: int, at: int, mask: int, rng: Generator) -> int:
    """Flip the coins that ``mask`` selects in the block at position ``at`` of a row; return the mask of the wins.

    drawn: position of the block's first number in the seed's sequence of 64-bit numbers.
    """
    write_words(coins.lane, seed, drawn)
    below, equal = compare_words(coins.lane.view(np.uint16), coins.odds[at:])
    if equal & mask != 0:
        below |= toss_equal(coins, at, equal & mask, rng)
    return below & mask


@kernel
def toss_equal(coins: Coins, at: int, equal: int, rng: Generator) -> int:
    """Return which coins of the mask ``equal`` win: their words equal their odds, so one more draw per coin decides."""
    wins = 0
    while equal != 0:
        k = trailing_zeros(np.uint64(equal))
        if uniform(rng) < coins.chance[coins.arms[at + k]] * _WORD - coins.odds[at + k]:
            wins |= equal & -equal
        equal &= equal - 1
    return wins


@inlined
def block_mask(coins: int, at: int) -> int:
    """Return a mask with a bit for each coin in the block at position ``at``; the row has ``coins`` coins."""
    left = coins - at
    return (1 << (left if left < BLOCK else BLOCK)) - 1
