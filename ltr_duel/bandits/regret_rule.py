"""The first arm of D-TS+: of the candidates that win most in a sample, the one with the least regret estimate.

A coin for each pair tells on which side of 1/2 its sample falls. The estimates need the samples themselves: they are
drawn, on the side that fell, in the rows of tied candidates alone.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.coin_words import BLOCK, new_seed
from ltr_duel.bandits.statistics import coin_divergence
from ltr_duel.bandits.tournament import CountVector, Tournament, open_tournament, toss_arm
from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, draws, kernel, vector


class Sample(NamedTuple):
    """Scratch: what is drawn of the sample in a step."""

    ahead: IntMatrix  # (K, K filled up / 32) masks: bit j % 32 of block j // 32 says theta_ij > 1/2, for j > i
    theta: FloatMatrix  # (K, K) the samples in the rows of tied candidates; 1/2 where there was none
    cost: FloatVector  # (K,) estimated regret of tied candidates, infinity for the others


def new_sample(n_arms: int, blocks: int) -> Sample:
    """Make scratch for so many arms, which fill so many blocks of 32."""
    return Sample(np.zeros((n_arms, blocks), np.int64), np.full((n_arms, n_arms), 0.5), np.zeros(n_arms))


@kernel
def toss_all(tournament: Tournament, prefer: FloatMatrix, ahead: IntMatrix, rng: Generator) -> None:
    """Toss on which side of 1/2 the sample of each pair falls, and count what all arms lose."""
    open_tournament(tournament, prefer.shape[0])
    seed = new_seed(rng)
    for i in range(prefer.shape[0]):
        toss_arm(tournament, tournament.odds[i], prefer[i], tournament.every, i, ahead[i], seed, rng)


@kernel
def is_ahead(ahead: IntMatrix, i: int, j: int) -> bool:
    """Return whether theta_ij > 1/2."""
    low, high = min(i, j), max(i, j)
    return ((ahead[low, high // BLOCK] >> high % BLOCK) & 1 == 1) == (i < j)


@kernel
def cheapest_candidate(
    wins: IntMatrix, blocked: IntVector, lost: CountVector, sample: Sample, least: int, rng: Generator
) -> int:
    """Return the candidate that lost least in the sample; of several the one with the least regret estimate."""
    n_arms = blocked.shape[0]
    top, fewest, ties, chosen = n_arms, n_arms, 0, 0
    for k in range(n_arms):
        top = min(top, lost[k])
        if blocked[k] == least:
            if lost[k] < fewest:
                fewest, ties, chosen = lost[k], 0, k
            ties += lost[k] == fewest
    if ties == 1:
        return chosen
    for k in range(n_arms):
        sample.cost[k] = inf if blocked[k] != least or lost[k] != fewest else 0.0
    for k in range(n_arms):
        if sample.cost[k] == 0.0:
            draw_row(wins, sample, k, rng)
    for k in range(n_arms):
        if sample.cost[k] == 0.0:
            sample.cost[k] = regret_estimate(lost, sample.theta[k], k, top)
    lowest = vector.smallest(sample.cost)
    return vector.random_up_to(sample.cost, lowest, vector.count_up_to(sample.cost, lowest), rng)


@kernel
def draw_row(wins: IntMatrix, sample: Sample, i: int, rng: Generator) -> None:
    """Draw the samples of a tied candidate, each on its side of 1/2; those with an earlier one are there already."""
    for j in range(sample.cost.shape[0]):
        if j != i and (j > i or sample.cost[j] > 0.0):
            if is_ahead(sample.ahead, i, j):
                theta = draws.beta_above(0.5, wins[i, j], wins[j, i], rng)
            else:
                theta = 1.0 - draws.beta_above(0.5, wins[j, i], wins[i, j], rng)
            sample.theta[i, j] = theta
            sample.theta[j, i] = 1.0 - theta


@kernel
def regret_estimate(lost: CountVector, theta: FloatVector, i: int, top: int) -> float:
    """R_i = sum over j of (zeta_max - (zeta_i + zeta_j) / 2) / d(theta_ij, 1/2), with normalised scores zeta."""
    n_arms, total = theta.shape[0], 0.0
    for j in range(n_arms):
        divergence = coin_divergence(theta[j])
        if j != i and divergence > 0.0:
            total += (0.5 * (lost[i] + lost[j]) - top) / ((n_arms - 1) * divergence)
    return total
