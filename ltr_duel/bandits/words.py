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

from ltr_duel.core import kernel, scrambled

OddsMatrix: TypeAlias = NDArray[np.uint16]
WordVector: TypeAlias = NDArray[np.uint16]
LaneVector: TypeAlias = NDArray[np.uint64]

BLOCK = 32  # coins that one instruction compares; rows of odds are filled up to a multiple of it with zeros
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


def new_lane(coins: int) -> LaneVector:
    """Make room for the words of a row of coins."""
    return np.zeros(filled_up(coins) // 4, np.uint64)


@kernel
def set_odds(odds: OddsMatrix, i: int, j: int, p: float) -> None:
    """Let coin j of row i win with probability p."""
    odds[i, j] = np.uint16(min(max(p * _WORD, 0.0), _WORD - 1.0))


@kernel
def rest_of_odds(p: float, odds: int) -> float:
    """Return the probability of winning with a word that equals the odds."""
    return p * _WORD - odds


@kernel
def fill(lane: LaneVector, rng: Generator) -> None:
    """Draw new words."""
    high, low = np.uint64(rng.random() * _HALF), np.uint64(rng.random() * _HALF)
    seed = (high << np.uint64(32)) | low
    for k in range(lane.shape[0]):
        lane[k] = scrambled(seed, k)
