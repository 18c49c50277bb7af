"""The first arm of D-TS+: among the candidates that win most in a sample, the one with the lowest regret estimate.

A coin for each pair decides on which side of 1/2 its sample falls. Only the estimates need the values of the samples.
They are drawn, given their side, in the rows of tied candidates.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.coin_words import BLOCK, new_seed
from ltr_duel.bandits.statistics import coin_divergence
from ltr_duel.bandits.tournament import CountVector, Tournament, coins_of, open_tournament, toss_arm
from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, draws, kernel, vector


class Sample(NamedTuple):
    """Scratch arrays for the sample of a step."""

    ahead: IntMatrix  # (K, padded K / 32) masks: for j > i, bit j % 32 of block j // 32 is 1 if theta_ij > 1/2
    theta: FloatMatrix  # (K, K) the samples in the rows of tied candidates; entries never sampled are 1/2
    cost: FloatVector  # (K,) estimated regret of tied candidates, infinity for the others


def new_sample(n_arms: int, blocks: int) -> Sample:
    """Allocate the scratch arrays for ``n_arms`` arms in ``blocks`` blocks of 32."""
    return Sample(np.zeros((n_arms, blocks), np.int64), np.full((n_arms, n_arms), 0.5), np.zeros(n_arms))


@kernel
def toss_all(tournament: Tournament, prefer: FloatMatrix, ahead: IntMatrix, rng: Generator) -> None:
    """Sample on which side of 1/2 each pair falls, and count the losses of all arms."""
    open_tournament(tournament, prefer.shape[0])
    seed = new_seed(rng)
    for i in range(prefer.shape[0]):
        toss_arm(tournament, coins_of(tournament, prefer, i, tournament.every), i, ahead[i], seed, rng)


@kernel
def is_ahead(ahead: IntMatrix, i: int, j: int) -> bool:
    """Return whether theta_ij > 1/2."""
    low, high = min(i, j), max(i, j)
    return ((ahead[low, high // BLOCK] >> high % BLOCK) & 1 == 1) == (i < j)


@kernel
def cheapest_candidate(
    wins: IntMatrix, blocked: IntVector, lost: CountVector, sample: Sample, least: int, rng: Generator
) -> int:
    """Return the candidate with the fewest losses in the sample; among equals, the lowest regret estimate decides."""
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
    """Draw the samples of a tied candidate, each on its side of 1/2; pairs with an earlier candidate have theirs."""
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
    """Return sum over j of (zeta_max - (zeta_i + zeta_j) / 2) / d(theta_ij, 1/2), with normalised scores zeta."""
    n_arms, total = theta.shape[0], 0.0
    for j in range(n_arms):
        divergence = coin_divergence(theta[j])
        if j != i and divergence > 0.0:
            total += (0.5 * (lost[i] + lost[j]) - top) / ((n_arms - 1) * divergence)
    return total
