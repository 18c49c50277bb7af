"""Boxes: ordinary (cardinal) bandit algorithms that are components of sparring, the doublers and MultiSBM.

Ailon, Karnin and Joachims reduce a dueling bandit to ordinary bandits ("singleton bandit machines", here *boxes*). A
box has two operations: *advance* returns the arm to play, and *feedback* receives the reward of this arm. There are
three kinds of boxes: UCB1, Thompson sampling and Exp3. A policy has one or more boxes; box b is stored in row b of the
matrices.
"""

from __future__ import annotations

from math import exp, log, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.thompson import (
    Field,
    Levels,
    Posteriors,
    draw_largest,
    new_levels,
    record_sample,
    record_samples,
    renew_level,
)
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

UNPLAYED = 1e9  # initial mean reward in a UCB1 box; so large that unplayed arms are played first, in random order
_LOWEST = 1e-6  # minimum level (see `thompson`) of a Thompson box; any number above 0 is correct


@dispatched_call
def advance(boxes: Any, box: int, t: int, rng: Generator) -> int:
    """Return the arm that a box plays in step t."""
    raise TypeError("the argument is not a set of boxes")


@dispatched_call
def feedback(boxes: Any, box: int, arm: int, reward: float) -> None:
    """Add a reward, usually from 0 to 1, to an arm of a box."""
    raise TypeError("the argument is not a set of boxes")


@dispatched_call
def most_played(boxes: Any, box: int) -> int:
    """Return the arm that a box played most; ties are broken by the lowest number."""
    raise TypeError("the argument is not a set of boxes")


class UcbBoxes(NamedTuple):
    """UCB1 boxes over K arms, box b in row b."""

    mean: FloatMatrix  # (B, K) mean reward
    width: FloatMatrix  # (B, K) 1 / sqrt(plays)
    sums: FloatMatrix  # (B, K) summed reward
    plays: IntMatrix  # (B, K)
    total: IntVector  # (B,) plays of the box
    alpha: FloatVector  # (1,) exploration constant


def ucb_boxes(boxes: int, n_arms: int, alpha: float) -> UcbBoxes:
    """Return boxes without plays."""
    mean, width, sums = np.zeros((3, boxes, n_arms))
    mean[:] = UNPLAYED
    plays, total = np.zeros((boxes, n_arms), np.int64), np.zeros(boxes, np.int64)
    return UcbBoxes(mean, width, sums, plays, total, np.array([alpha]))


@kernel
def ucb_reset(boxes: UcbBoxes) -> None:
    """Reset the boxes to their initial state."""
    boxes.mean[:] = UNPLAYED
    boxes.width[:] = 0.0
    boxes.sums[:] = 0.0
    boxes.plays[:] = 0
    boxes.total[:] = 0


def _ucb_advance(boxes: UcbBoxes, box: int, t: int, rng: Generator) -> int:
    """Play each arm once, then maximise ``mean + sqrt(alpha ln N / n)``, with N plays of the box and n of the arm."""
    scale = sqrt(boxes.alpha[0] * log(max(boxes.total[box], 1)))
    return vector.random_highest(boxes.mean[box], boxes.width[box], scale, rng)


def _ucb_feedback(boxes: UcbBoxes, box: int, arm: int, reward: float) -> None:
    boxes.total[box] += 1
    boxes.plays[box, arm] += 1
    boxes.sums[box, arm] += reward
    n = boxes.plays[box, arm]
    boxes.mean[box, arm] = boxes.sums[box, arm] / n
    boxes.width[box, arm] = 1.0 / sqrt(n)


def _ucb_most(boxes: UcbBoxes, box: int) -> int:
    return vector.first_most(boxes.plays[box])


class ThompsonBoxes(NamedTuple):
    """Thompson boxes over K arms, box b in row b; the largest sample is found with ``levels``."""

    good: IntMatrix  # (B, K) number of rewards of 1
    bad: IntMatrix  # (B, K) number of rewards of 0
    log_mass: FloatMatrix  # (B, K) see `thompson`
    levels: Levels


def thompson_boxes(boxes: int, n_arms: int) -> ThompsonBoxes:
    """Return boxes with uniform priors."""
    good, bad = np.zeros((2, boxes, n_arms), np.int64)
    return ThompsonBoxes(good, bad, np.zeros((boxes, n_arms)), new_levels(boxes, n_arms))


@inlined
def thompson_advance(boxes: ThompsonBoxes, box: int, t: int, rng: Generator) -> int:
    """Return the arm with the largest sample of theta_i ~ Beta(good_i + 1, bad_i + 1)."""
    levels = boxes.levels
    known = Posteriors(boxes.good[box], boxes.bad[box], boxes.log_mass[box], 0)
    field = Field(levels.every, levels.odds[box], -1, levels.no_doubts, 0.0)
    renew_level(levels, box, known, field, _LOWEST)
    return draw_largest(levels, box, known, field, -1.0, rng)


@kernel
def thompson_feedback(boxes: ThompsonBoxes, box: int, arm: int, reward: float) -> None:
    """Count a reward, 0 or 1, of an arm of a box."""
    counts = boxes.good if reward else boxes.bad
    counts[box, arm] += 1
    good, bad = boxes.good[box, arm], boxes.bad[box, arm]
    boxes.log_mass[box, arm] += log((good + bad) / (2.0 * counts[box, arm]))
    record_sample(boxes.levels, box, arm, reward > 0, good, bad, boxes.log_mass[box, arm])


@kernel
def thompson_rewards(boxes: ThompsonBoxes, box: int, arm: int, ones: int, zeros: int) -> None:
    """Count ``ones`` rewards of 1 and ``zeros`` rewards of 0 of an arm, faster than one by one."""
    if ones + zeros == 0:
        return
    good, bad = boxes.good[box, arm], boxes.bad[box, arm]
    ratio = record_samples(boxes.levels, box, arm, ones, zeros, good, bad, boxes.log_mass[box, arm])
    boxes.log_mass[box, arm] += log(ratio)
    boxes.good[box, arm] = good + ones
    boxes.bad[box, arm] = bad + zeros


def _thompson_most(boxes: ThompsonBoxes, box: int) -> int:
    good, bad, best = boxes.good[box], boxes.bad[box], 0
    for k in range(good.shape[0]):
        if good[k] + bad[k] > good[best] + bad[best]:
            best = k
    return best


class Exp3Boxes(NamedTuple):
    """Exp3 boxes over K arms, box b in row b, for rewards 0 and 1."""

    log_weight: FloatMatrix  # (B, K) ln w_i
    share: FloatMatrix  # (B, K) probability of each arm in the last step
    plays: IntMatrix  # (B, K)
    mixing: FloatVector  # (1,) share of uniform exploration in the last step
    settle: IntVector  # (1,) the mixing rate stays constant up to this step


def exp3_boxes(boxes: int, n_arms: int, settle: int) -> Exp3Boxes:
    """Return boxes in which all weights are 1."""
    log_weight, share = np.zeros((2, boxes, n_arms))
    return Exp3Boxes(log_weight, share, np.zeros((boxes, n_arms), np.int64), np.zeros(1), np.array([settle]))


def _exp3_advance(boxes: Exp3Boxes, box: int, t: int, rng: Generator) -> int:
    n_arms = boxes.share.shape[1]
    boxes.mixing[0] = min(1.0, sqrt(n_arms * log(n_arms) / max(t, boxes.settle[0])))
    return draw_by_weight(boxes.log_weight[box], boxes.share[box], boxes.mixing[0], rng)


@outlined
def draw_by_weight(log_weight: FloatVector, share: FloatVector, mixing: float, rng: Generator) -> int:
    """Set ``share`` to ``(1 - mixing) w_i / sum w + mixing / K`` with w = exp(log_weight), and draw an arm from it."""
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


def _exp3_feedback(boxes: Exp3Boxes, box: int, arm: int, reward: float) -> None:
    """Raise the weight of an arm by its importance-weighted reward."""
    boxes.plays[box, arm] += 1
    if reward:
        boxes.log_weight[box, arm] += boxes.mixing[0] / (boxes.share.shape[1] * boxes.share[box, arm])


def _exp3_most(boxes: Exp3Boxes, box: int) -> int:
    return vector.first_most(boxes.plays[box])


@kernel
def draw(share: FloatVector, rng: Generator) -> int:
    """Draw an arm from a distribution."""
    left = uniform(rng)
    for k in range(share.shape[0] - 1):
        left -= share[k]
        if left < 0.0:
            return k
    return share.shape[0] - 1


implement(advance, UcbBoxes, _ucb_advance)
implement(feedback, UcbBoxes, _ucb_feedback)
implement(most_played, UcbBoxes, _ucb_most)
implement(advance, ThompsonBoxes, thompson_advance)
implement(feedback, ThompsonBoxes, thompson_feedback)
implement(most_played, ThompsonBoxes, _thompson_most)
implement(advance, Exp3Boxes, _exp3_advance)
implement(feedback, Exp3Boxes, _exp3_feedback)
implement(most_played, Exp3Boxes, _exp3_most)
