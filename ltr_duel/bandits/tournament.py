"""A sampled tournament among some arms, by coins instead of Beta draws, many at once.

A row of the tournament is up to K coins with known probabilities (see `posterior`). One draw from a policy's
generator for each of them would be most of the cost of double Thompson sampling. So each step seeds K small
generators (Marsaglia's xorshift, 32 bits, one for each column) from the policy's, and a row advances all of them in
SIMD code. The probability of a coin is rounded to a multiple of 2^-32.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core.jit import kernel

OddsMatrix: TypeAlias = NDArray[np.uint32]
LaneVector: TypeAlias = NDArray[np.uint32]
ShortVector: TypeAlias = NDArray[np.int32]

_UNIT = 4294967296.0  # 2^32


def tournament_rows(n_arms: int) -> tuple[Any, ...]:
    """Make odds (K, K), and the scratch lane, won, unmet and score (K,)."""
    odds = np.full((n_arms, n_arms), 1 << 31, np.uint32)
    won, unmet, score = np.zeros((3, n_arms), np.int32)
    return odds, np.zeros(n_arms, np.uint32), won, unmet, score


@kernel
def set_odds(odds: OddsMatrix, i: int, j: int, p: float) -> None:
    """Let arm i beat arm j with probability p."""
    level = min(max(p * _UNIT, 0.0), _UNIT - 1.0)
    odds[i, j] = np.uint32(level)


@kernel
def play_tournament(state: Any, least: int, rng: np.random.Generator) -> None:
    """Let the arms with ``blocked == least`` meet everybody once; ``score`` counts their wins, -1 for the others."""
    n_arms, players = state.score.shape[0], 0
    for k in range(n_arms):
        state.lane[k] = np.uint32(rng.random() * (_UNIT - 1.0) + 1.0)  # not 0
        state.unmet[k] = 1
        state.score[k] = 0
        players += state.blocked[k] == least
    for i in range(n_arms):
        if state.blocked[i] == least:
            start = i + 1 if players == n_arms else 0
            state.unmet[i] = 0
            advance(state.lane[start:])
            toss(state.lane[start:], state.odds[i, start:], state.unmet[start:], state.won[start:])
            state.score[i] += total(state.won[start:])
            add_losses(state.unmet[start:], state.won[start:], state.score[start:])
    for k in range(n_arms):
        if state.blocked[k] != least:
            state.score[k] = -1


@kernel
def advance(lane: LaneVector) -> None:
    """Advance every generator once."""
    for k in range(lane.shape[0]):
        x = lane[k]
        x = np.uint32(x ^ np.uint32(x << np.uint32(13)))
        x = np.uint32(x ^ np.uint32(x >> np.uint32(17)))
        lane[k] = np.uint32(x ^ np.uint32(x << np.uint32(5)))


@kernel
def toss(lane: LaneVector, odds: LaneVector, unmet: ShortVector, won: ShortVector) -> None:
    """Toss one coin for each arm that is still to be met."""
    for k in range(lane.shape[0]):
        won[k] = (lane[k] < odds[k]) * unmet[k]


@kernel
def total(won: ShortVector) -> int:
    """Count the wins."""
    count = 0
    for k in range(won.shape[0]):
        count += won[k]
    return count


@kernel
def add_losses(unmet: ShortVector, won: ShortVector, score: ShortVector) -> None:
    """Credit those who won against the arm of the row."""
    for k in range(won.shape[0]):
        score[k] += unmet[k] - won[k]
