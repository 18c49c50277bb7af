"""A sampled tournament among some arms, by coins instead of Beta draws, many at once.

A row of the tournament is up to K coins with known probabilities (see `posterior`), tossed by `words`. What an arm lost
is counted. Rows of arms that lost more than one that has met all others are not tossed any more: they cannot have won
most. With a favourite who goes first, that is most of them.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ltr_duel.bandits.coin_words import (
    BLOCK,
    LaneVector,
    OddsMatrix,
    WordVector,
    block_mask,
    fair_odds,
    filled_up,
    new_lane,
    new_seed,
    no_odds,
    odds_of,
    toss_block,
)
from ltr_duel.core import (
    FloatMatrix,
    FloatVector,
    InputError,
    IntVector,
    count_bits,
    inlined,
    kernel,
    random_below,
    tally_bits,
)

CountVector: TypeAlias = NDArray[np.int16]
MOST = 2**15  # arms that meet: none of them loses more often than that number can say


class Tournament(NamedTuple):
    """The coins of all pairs, and scratch."""

    odds: OddsMatrix  # (K, K filled up) the first sixteen bits of the probabilities; row i in the order of the seats
    every: IntVector  # (K,) 0, 1, ...; not scratch
    lane: LaneVector  # (8,) random words
    row: WordVector  # (K filled up,) odds of some arms, side by side
    place: IntVector  # (K,) where each arm sits among those it meets, see `seat`
    unmet: IntVector  # (K filled up / 32,) masks of the arms that have not yet met all others
    beaten: IntVector  # (K filled up / 32,) and of those that the last one won against
    lost: CountVector  # (K filled up,) what each arm lost so far


def new_tournament(n_arms: int, players: int) -> Tournament:
    """Make a tournament of fair coins, in which at most so many of the arms meet at once.

    Raises `InputError` for more players than losses can be counted of.
    """
    if players > MOST:
        raise InputError(f"a sampled tournament takes at most {MOST:,} arms, not {players:,}")
    size = filled_up(n_arms)
    unmet, beaten = np.zeros((2, size // BLOCK), np.int64)
    odds, row, lost = fair_odds(n_arms, n_arms), no_odds(n_arms), np.zeros(size, np.int16)
    return Tournament(odds, np.arange(n_arms), new_lane(), row, np.arange(n_arms), unmet, beaten, lost)


@kernel
def set_odds(odds: OddsMatrix, prefer: FloatMatrix, i: int, j: int) -> None:
    """Take account of new probabilities of a pair."""
    odds[i, j] = odds_of(prefer[i, j])
    odds[j, i] = odds_of(prefer[j, i])


@kernel
def seat(tournament: Tournament, prefer: FloatMatrix, arms: IntVector) -> None:
    """Put the odds of these arms against each other side by side, in their order."""
    for place in range(arms.shape[0]):
        tournament.place[arms[place]] = place
        for i in arms:
            tournament.odds[i, place] = odds_of(prefer[i, arms[place]])


@kernel
def set_seated_odds(tournament: Tournament, prefer: FloatMatrix, i: int, j: int) -> None:
    """Take account of new probabilities of a pair that sits together."""
    tournament.odds[i, tournament.place[j]] = odds_of(prefer[i, j])
    tournament.odds[j, tournament.place[i]] = odds_of(prefer[j, i])


@kernel
def most_wins(
    tournament: Tournament, prefer: FloatMatrix, rank: IntVector, least: int, favourite: int, rng: Generator
) -> int:
    """Let arms meet; of those with ``rank == least`` return the one that won most, one of several at random.

    Arm i beats arm j with probability ``prefer[i, j]``, of which `odds` holds the first bits. The favourite goes first.
    """
    open_tournament(tournament, prefer.shape[0])
    odds, lost, seed, fewest, ties = tournament.odds, tournament.lost, new_seed(rng), prefer.shape[0], 0
    for place in range(-1, prefer.shape[0]):
        i = place if place >= 0 else favourite
        if rank[i] == least and lost[i] <= fewest and place != favourite:
            toss_arm(tournament, odds[i], prefer[i], tournament.every, i, tournament.beaten, seed, rng)
            if lost[i] < fewest:
                fewest, ties = lost[i], 0
            ties += lost[i] == fewest
    skip = random_below(ties, rng)
    for i in range(prefer.shape[0]):
        if rank[i] == least and lost[i] == fewest:
            if skip == 0:
                return i
            skip -= 1
    return favourite


@kernel
def most_wins_among(
    tournament: Tournament, prefer: FloatMatrix, arms: IntVector, favourite: int, rng: Generator
) -> int:
    """Let these arms, as they were seated, meet each other; return the place of the one that won most.

    Of several it is one at random. The arm in place ``favourite`` goes first.
    """
    n = arms.shape[0]
    open_tournament(tournament, n)
    lost, seed, fewest, ties = tournament.lost, new_seed(rng), n, 0
    for turn in range(-1, n):
        place = turn if turn >= 0 else favourite
        if lost[place] <= fewest and turn != favourite:
            i = arms[place]
            toss_arm(tournament, tournament.odds[i], prefer[i], arms, place, tournament.beaten, seed, rng)
            if lost[place] < fewest:
                fewest, ties = lost[place], 0
            ties += lost[place] == fewest
    skip = random_below(ties, rng)
    for place in range(n):
        if lost[place] == fewest:
            if skip == 0:
                return place
            skip -= 1
    return favourite


@kernel
def open_tournament(tournament: Tournament, n_arms: int) -> None:
    """Begin: of the first so many arms, nobody has met."""
    for at in range(0, n_arms, BLOCK):
        tournament.unmet[at // BLOCK] = block_mask(n_arms, at)
        tournament.lost[at : at + BLOCK] = 0


@inlined
def toss_arm(
    tournament: Tournament, odds: WordVector, chance: FloatVector, arms: IntVector, i: int, beaten: IntVector,
    seed: np.uint64, rng: Generator,
) -> None:  # fmt: skip
    """Let number i of these arms meet all that it has not met.

    The odds are in the order of the arms, the chances are those of all. ``beaten`` are masks, in blocks of 32, of
    those against whom it wins.
    """
    lane, lost, unmet = tournament.lane, tournament.lost, tournament.unmet
    unmet[i // BLOCK] &= ~(1 << i % BLOCK)
    losses, drawn = 0, i * (lost.shape[0] // 4)
    for at in range(0, arms.shape[0], BLOCK):
        mask = unmet[at // BLOCK]
        beaten[at // BLOCK] = 0
        if mask != 0:
            wins = toss_block(lane, seed, drawn + at // 4, odds, chance, arms, at, mask, rng)
            beaten[at // BLOCK] = wins
            tally_bits(lost, at, wins)
            losses += count_bits(mask ^ wins)
    lost[i] += losses
