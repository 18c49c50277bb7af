"""Bandits in a box: the ordinary bandit learners of which sparring, the doublers and MultiSBM consist.

Ailon, Karnin and Joachims reduce a dueling bandit to ordinary bandits, "singleton bandit machines" with two operations:
*advance* returns the arm to play, *feedback* receives its reward. This module has three machines: UCB1, Thompson
sampling and Exp3. A policy has one or more of them, box b in row b of its matrices.
"""

from __future__ import annotations

from math import exp, log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.levels import (
    Levels,
    is_due,
    largest_above,
    largest_below,
    list_arms,
    new_levels,
    record_sample,
    set_level,
    toss_row,
)
from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, inlined, kernel, larger, uniform, vector

UNPLAYED = 1e9  # initial mean reward in a UCB1 box, so that unplayed arms are played first, in random order
_LOWEST = 1e-6  # level of a Thompson box: any above 0 will do


class UcbBoxes(NamedTuple):
    """UCB1 boxes over K arms, box b in row b."""

    mean: FloatMatrix  # (B, K) mean reward
    width: FloatMatrix  # (B, K) 1 / sqrt(plays)
    sums: FloatMatrix  # (B, K) summed reward
    plays: IntMatrix  # (B, K)
    total: IntVector  # (B,) plays of the box


def ucb_boxes(boxes: int, n_arms: int) -> UcbBoxes:
    """Return boxes without plays."""
    mean, width, sums = np.zeros((3, boxes, n_arms))
    mean[:] = UNPLAYED
    return UcbBoxes(mean, width, sums, np.zeros((boxes, n_arms), np.int64), np.zeros(boxes, np.int64))


@kernel
def ucb_reset(boxes: UcbBoxes) -> None:
    """Reset the boxes to their initial state."""
    boxes.mean[:] = UNPLAYED
    boxes.width[:] = 0.0
    boxes.sums[:] = 0.0
    boxes.plays[:] = 0
    boxes.total[:] = 0


@kernel
def ucb_advance(boxes: UcbBoxes, box: int, alpha: float, rng: Generator) -> int:
    """UCB1: each arm once, then the largest ``mean + sqrt(alpha ln N / n)``, where N is the plays of this box."""
    scale = sqrt(alpha * log(max(boxes.total[box], 1)))
    return vector.random_highest(boxes.mean[box], boxes.width[box], scale, rng)


@kernel
def ucb_feedback(boxes: UcbBoxes, box: int, arm: int, reward: float) -> None:
    """Add a reward of an arm of a box."""
    boxes.total[box] += 1
    boxes.plays[box, arm] += 1
    boxes.sums[box, arm] += reward
    n = boxes.plays[box, arm]
    boxes.mean[box, arm] = boxes.sums[box, arm] / n
    boxes.width[box, arm] = 1.0 / sqrt(n)


class ThompsonBoxes(NamedTuple):
    """Thompson boxes over K arms, box b in row b; `levels` finds the largest sample."""

    good: IntMatrix  # (B, K) rewards
    bad: IntMatrix  # (B, K) plays without a reward
    log_mass: FloatMatrix  # (B, K) see `posterior`
    levels: Levels


def thompson_boxes(boxes: int, n_arms: int) -> ThompsonBoxes:
    """Return boxes with uniform priors."""
    good, bad = np.zeros((2, boxes, n_arms), np.int64)
    return ThompsonBoxes(good, bad, np.zeros((boxes, n_arms)), new_levels(boxes, n_arms))


@inlined
def thompson_advance(boxes: ThompsonBoxes, box: int, rng: Generator) -> int:
    """Thompson sampling: the largest of theta_i ~ Beta(good_i + 1, bad_i + 1)."""
    levels, good, bad, log_mass = boxes.levels, boxes.good[box], boxes.bad[box], boxes.log_mass[box]
    if is_due(levels, box):
        set_level(levels, box, list_arms(levels, levels.every), good, bad, 0, log_mass, _LOWEST)
    above = toss_row(levels, box, rng)
    if above > 0:
        return largest_above(levels, box, above, good, bad, 0, rng)
    return largest_below(levels, box, list_arms(levels, levels.every), good, bad, 0, log_mass, -1.0, rng)


@kernel
def thompson_feedback(boxes: ThompsonBoxes, box: int, arm: int, reward: int) -> None:
    """Count a reward of an arm of a box, 0 or 1."""
    counts = boxes.good if reward else boxes.bad
    counts[box, arm] += 1
    good, bad = boxes.good[box, arm], boxes.bad[box, arm]
    boxes.log_mass[box, arm] += log((good + bad) / (2.0 * counts[box, arm]))
    record_sample(boxes.levels, box, arm, reward > 0, good, bad, boxes.log_mass[box, arm])


@kernel
def thompson_most(boxes: ThompsonBoxes, box: int) -> int:
    """Return the arm that a box played most; the lowest number breaks ties."""
    good, bad, best = boxes.good[box], boxes.bad[box], 0
    for k in range(good.shape[0]):
        if good[k] + bad[k] > good[best] + bad[best]:
            best = k
    return best


@kernel
def exp3_advance(log_weight: FloatVector, share: FloatVector, mixing: float, rng: Generator) -> int:
    """Exp3: fill ``share`` with ``(1 - mixing) w_i / sum w + mixing / K`` and draw an arm from it."""
    n_arms = log_weight.shape[0]
    top = log_weight[0]
    for k in range(n_arms):
        top = larger(top, log_weight[k])
    total = 0.0
    for k in range(n_arms):
        share[k] = exp(log_weight[k] - top)
        total += share[k]
    for k in range(n_arms):
        share[k] = (1.0 - mixing) * share[k] / total + mixing / n_arms
    return draw(share, rng)


@kernel
def draw(share: FloatVector, rng: Generator) -> int:
    """Draw an arm from a distribution."""
    left = uniform(rng)
    for k in range(share.shape[0] - 1):
        left -= share[k]
        if left < 0.0:
            return k
    return share.shape[0] - 1
