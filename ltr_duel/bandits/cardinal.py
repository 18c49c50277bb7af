"""Ordinary bandit algorithms, from which the policies Sparring, Doubler and MultiSBM are built.

In each step, an ordinary bandit plays one arm, and receives a number, called the reward of the arm. Ailon, Karnin and
Joachims use such bandits to choose the arms of a duel. `choose` returns the arm to play, and `record_reward` tells the
bandit its reward. The bandits are UCB1, Thompson sampling or Exp3. All bandits of a policy are stored in the same
matrices, in which row b belongs to bandit b.
"""

from __future__ import annotations

from math import exp, log, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits import thompson
from ltr_duel.core import (
    FloatMatrix,
    FloatVector,
    IntMatrix,
    IntVector,
    dispatched_call,
    implement,
    inlined,
    kernel,
    larger,
    outlined,
    uniform,
    vector,
)

UNPLAYED = 1e9  # initial mean reward in a UCB1 bandit; so large that unplayed arms are played first, in random order
_LOWEST = 1e-6  # smallest level of a Thompson bandit (see `thompson`); it may be any number above 0


@dispatched_call
def choose(bandits: Any, bandit: int, t: int, rng: Generator) -> int:
    """Return the arm that a bandit plays in step t."""
    raise TypeError("the argument is not a set of bandits")


@dispatched_call
def record_reward(bandits: Any, bandit: int, arm: int, reward: float) -> None:
    """Tell a bandit the reward of an arm that it played. Rewards are usually from 0 to 1."""
    raise TypeError("the argument is not a set of bandits")


@dispatched_call
def most_played(bandits: Any, bandit: int) -> int:
    """Return the arm that a bandit played most often."""
    return vector.first_most(bandits.plays[bandit])


class UcbBandits(NamedTuple):
    """The memory of B bandits with the algorithm UCB1. Each bandit has K arms."""

    mean: FloatMatrix  # (B, K) mean reward
    width: FloatMatrix  # (B, K) 1 / sqrt(plays)
    sums: FloatMatrix  # (B, K) summed reward
    plays: IntMatrix  # (B, K)
    total: IntVector  # (B,) plays of the bandit
    alpha: FloatVector  # (1,) exploration constant


def ucb_bandits(number: int, n_arms: int, alpha: float) -> UcbBandits:
    """Return UCB1 bandits that have not played yet."""
    mean, width, sums = np.zeros((3, number, n_arms))
    mean[:] = UNPLAYED
    plays, total = np.zeros((number, n_arms), np.int64), np.zeros(number, np.int64)
    return UcbBandits(mean, width, sums, plays, total, np.array([alpha]))


@kernel
def ucb_reset(bandits: UcbBandits) -> None:
    """Reset the bandits to their initial state."""
    bandits.mean[:] = UNPLAYED
    bandits.width[:] = 0.0
    bandits.sums[:] = 0.0
    bandits.plays[:] = 0
    bandits.total[:] = 0


def _ucb_choose(bandits: UcbBandits, bandit: int, t: int, rng: Generator) -> int:
    scale = sqrt(bandits.alpha[0] * log(max(bandits.total[bandit], 1)))
    return vector.random_highest(bandits.mean[bandit], bandits.width[bandit], scale, rng)


def _ucb_reward(bandits: UcbBandits, bandit: int, arm: int, reward: float) -> None:
    bandits.total[bandit] += 1
    bandits.plays[bandit, arm] += 1
    bandits.sums[bandit, arm] += reward
    n = bandits.plays[bandit, arm]
    bandits.mean[bandit, arm] = bandits.sums[bandit, arm] / n
    bandits.width[bandit, arm] = 1.0 / sqrt(n)


class ThompsonBandits(NamedTuple):
    """The memory of B bandits with Thompson sampling. Each bandit has K arms."""

    good: IntMatrix  # (B, K) number of rewards of 1
    bad: IntMatrix  # (B, K) number of rewards of 0
    log_mass: FloatMatrix  # (B, K) see `thompson`
    levels: thompson.Levels  # the memory that makes draws fast


def thompson_bandits(bandits: int, n_arms: int) -> ThompsonBandits:
    """Return Thompson bandits that have not played yet. Their priors are uniform."""
    good, bad = np.zeros((2, bandits, n_arms), np.int64)
    return ThompsonBandits(good, bad, np.zeros((bandits, n_arms)), thompson.new_levels(bandits, n_arms))


@inlined
def thompson_choose(bandits: ThompsonBandits, bandit: int, t: int, rng: Generator) -> int:
    """Draw a sample from the posterior of each arm, and return the arm with the largest sample."""
    levels = bandits.levels
    known = thompson.Posteriors(bandits.good[bandit], bandits.bad[bandit], bandits.log_mass[bandit], 0)
    field = thompson.Field(levels.every, levels.bits[bandit], -1, levels.zeros, 0.0)
    thompson.renew_level(levels, bandit, known, field, _LOWEST)
    return thompson.draw_largest(levels, bandit, known, field, -1.0, rng)


@kernel
def thompson_reward(bandits: ThompsonBandits, bandit: int, arm: int, reward: float) -> None:
    """Count a reward of an arm. The reward is 0 or 1."""
    counts = bandits.good if reward else bandits.bad
    counts[bandit, arm] += 1
    good, bad = bandits.good[bandit, arm], bandits.bad[bandit, arm]
    bandits.log_mass[bandit, arm] += log((good + bad) / (2.0 * counts[bandit, arm]))
    thompson.record_sample(bandits.levels, bandit, arm, reward > 0, good, bad, bandits.log_mass[bandit, arm])


@kernel
def thompson_rewards(bandits: ThompsonBandits, bandit: int, arm: int, ones: int, zeros: int) -> None:
    """Count several rewards of an arm at once: ``ones`` rewards of 1, and ``zeros`` rewards of 0."""
    if ones + zeros == 0:
        return
    good, bad = bandits.good[bandit, arm], bandits.bad[bandit, arm]
    ratio = thompson.record_samples(bandits.levels, bandit, arm, ones, zeros, good, bad, bandits.log_mass[bandit, arm])
    bandits.log_mass[bandit, arm] += log(ratio)
    bandits.good[bandit, arm] = good + ones
    bandits.bad[bandit, arm] = bad + zeros


def _thompson_most(bandits: ThompsonBandits, bandit: int) -> int:
    good, bad, best = bandits.good[bandit], bandits.bad[bandit], 0
    for k in range(good.shape[0]):
        if good[k] + bad[k] > good[best] + bad[best]:
            best = k
    return best


class Exp3Bandits(NamedTuple):
    """The memory of B bandits with the algorithm Exp3, for rewards 0 and 1. Each bandit has K arms."""

    log_weight: FloatMatrix  # (B, K) ln w_i
    share: FloatMatrix  # (B, K) probability of each arm in the last step
    plays: IntMatrix  # (B, K)
    mixing: FloatVector  # (1,) share of uniform exploration in the last step
    settle: IntVector  # (1,) the mixing rate stays constant up to this step


def exp3_bandits(bandits: int, n_arms: int, settle: int) -> Exp3Bandits:
    """Return Exp3 bandits that have not played yet."""
    log_weight, share = np.zeros((2, bandits, n_arms))
    return Exp3Bandits(log_weight, share, np.zeros((bandits, n_arms), np.int64), np.zeros(1), np.array([settle]))


@outlined
def exp3_choose(bandits: Exp3Bandits, bandit: int, t: int, rng: Generator) -> int:
    """Draw an arm. An arm with a large weight is drawn often."""
    log_weight, share, n_arms = bandits.log_weight[bandit], bandits.share[bandit], bandits.share.shape[1]
    mixing = min(1.0, sqrt(n_arms * log(n_arms) / max(t, bandits.settle[0])))
    top, total = log_weight[0], 0.0
    for k in range(n_arms):
        top = larger(top, log_weight[k])
    for k in range(n_arms):
        share[k] = exp(log_weight[k] - top)
        total += share[k]
    for k in range(n_arms):
        share[k] = (1.0 - mixing) * share[k] / total + mixing / n_arms
    bandits.mixing[0] = mixing
    return draw(share, rng)


def _exp3_reward(bandits: Exp3Bandits, bandit: int, arm: int, reward: float) -> None:
    bandits.plays[bandit, arm] += 1
    if reward:  # the weight grows more if the arm was unlikely to be drawn
        bandits.log_weight[bandit, arm] += bandits.mixing[0] / (bandits.share.shape[1] * bandits.share[bandit, arm])


@kernel
def draw(share: FloatVector, rng: Generator) -> int:
    """Draw an arm. Arm k has the probability ``share[k]``."""
    left = uniform(rng)
    for k in range(share.shape[0] - 1):
        left -= share[k]
        if left < 0.0:
            return k
    return share.shape[0] - 1


implement(choose, UcbBandits, _ucb_choose)
implement(record_reward, UcbBandits, _ucb_reward)
implement(choose, ThompsonBandits, thompson_choose)
implement(record_reward, ThompsonBandits, thompson_reward)
implement(most_played, ThompsonBandits, _thompson_most)
implement(choose, Exp3Bandits, exp3_choose)
implement(record_reward, Exp3Bandits, _exp3_reward)
