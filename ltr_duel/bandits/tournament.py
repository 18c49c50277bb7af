"""A sampled tournament among some arms, by coins instead of Beta draws, many at once.

A row of the tournament is up to K coins with known probabilities (see `posterior`). One draw from a policy's
generator for each of them would be most of the cost of double Thompson sampling. So each step seeds K / 4 small
generators (Marsaglia's xorshift, 64 bits) from the policy's; a row advances all of them in SIMD code, and each gives
the 16-bit words of four coins.

Sixteen bits decide a coin unless they equal the first sixteen of its probability p: with ``odds = floor(2^16 p)`` a
smaller word wins, a larger one loses, and an equal one wins with the probability ``2^16 p - odds``, for which the
policy's own generator is asked. So a coin has its probability exactly, and one in 65,536 costs more than a comparison.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ltr_duel.core import FloatMatrix, FloatVector, IntVector, kernel

OddsMatrix: TypeAlias = NDArray[np.uint16]
WordVector: TypeAlias = NDArray[np.uint16]
LaneVector: TypeAlias = NDArray[np.uint64]
ScoreVector: TypeAlias = NDArray[np.int16]

_WORD = 65536.0  # 2^16
_HALF = 4294967296.0  # 2^32


class Tournament(NamedTuple):
    """The coins of all pairs, and scratch, for fewer than 32,768 arms."""

    odds: OddsMatrix  # (K, K) the first sixteen bits of the probabilities
    lane: LaneVector  # (K / 4,) the small generators
    unmet: WordVector  # (K,) 1 for the arms that have not yet met all others
    score: ScoreVector  # (K,) wins of each player, -1 for the other arms


def new_tournament(n_arms: int) -> Tournament:
    """Make a tournament of fair coins."""
    odds = np.full((n_arms, n_arms), 1 << 15, np.uint16)
    lane, unmet = np.zeros((n_arms + 3) // 4, np.uint64), np.zeros(n_arms, np.uint16)
    return Tournament(odds, lane, unmet, np.zeros(n_arms, np.int16))


@kernel
def set_odds(odds: OddsMatrix, i: int, j: int, p: float) -> None:
    """Let arm i beat arm j with probability p."""
    odds[i, j] = np.uint16(min(max(p * _WORD, 0.0), _WORD - 1.0))


@kernel
def play_tournament(tournament: Tournament, prefer: FloatMatrix, rank: IntVector, least: int, rng: Generator) -> None:
    """Let the arms with ``rank == least`` meet all others once; `score` counts their wins.

    Arm i beats arm j with probability ``prefer[i, j]``, of which `odds` holds the first bits.
    """
    lane, score, unmet = tournament.lane, tournament.score, tournament.unmet
    n_arms, players = score.shape[0], 0
    seed_lanes(lane, rng)
    for k in range(n_arms):
        unmet[k] = 1
        score[k] = 0
        players += rank[k] == least
    words, met = lane.view(np.uint16), 0
    for i in range(n_arms):
        if rank[i] == least:
            start = i + 1 if players == n_arms else 0
            odds = tournament.odds[i, start:]
            unmet[i] = 0
            advance(lane[: (n_arms - start + 3) // 4])
            won, equal = toss(words, odds, unmet[start:], score[start:])
            if equal > 0:
                won += toss_equal(words, odds, prefer[i, start:], unmet[start:], score[start:], rng)
            score[i] += won + met  # so far it holds only what others won
            met += 1
    for k in range(n_arms):
        if rank[k] != least:
            score[k] = -1


@kernel
def seed_lanes(lane: LaneVector, rng: Generator) -> None:
    """Seed every generator with 64 bits, not all of them 0."""
    for k in range(lane.shape[0]):
        high, low = np.uint64(rng.random() * _HALF), np.uint64(rng.random() * (_HALF - 1.0) + 1.0)
        lane[k] = (high << np.uint64(32)) ^ low


@kernel
def advance(lane: LaneVector) -> None:
    """Advance every generator once."""
    for k in range(lane.shape[0]):
        x = lane[k]
        x = x ^ (x << np.uint64(13))
        x = x ^ (x >> np.uint64(7))
        lane[k] = x ^ (x << np.uint64(17))


@kernel
def toss(words: WordVector, odds: WordVector, unmet: WordVector, score: ScoreVector) -> tuple[int, int]:
    """Toss a coin for each arm that is still to be met: return how many are won, and how many are not yet decided.

    Takes from the ``score`` of the others what they lose. All numbers have 16 bits, so that an instruction tosses
    as many coins as fit.
    """
    won, equal = np.uint16(0), np.uint16(0)
    for k in range(odds.shape[0]):
        wins = np.uint16(words[k] < odds[k]) & unmet[k]
        won = np.uint16(won + wins)
        equal = np.uint16(equal + (np.uint16(words[k] == odds[k]) & unmet[k]))
        score[k] = np.int16(score[k] - wins)
    return int(won), int(equal)


@kernel
def toss_equal(
    words: WordVector, odds: WordVector, prefer: FloatVector, unmet: WordVector, score: ScoreVector, rng: Generator
) -> int:
    """Decide the coins that `toss` left open, by the bits of their probabilities that ``odds`` lacks."""
    won = 0
    for k in range(odds.shape[0]):
        if unmet[k] and words[k] == odds[k] and rng.random() < prefer[k] * _WORD - odds[k]:
            won += 1
            score[k] -= 1
    return won
