"""Sparring: two bandits choose one arm each, and every duel rewards the one whose arm won.

Ailon, Karnin, Joachims. Reducing Dueling Bandits to Cardinal Bandits. ICML 2014; as Algorithms 6 (any box) and 7
(Thompson boxes) of Wolfenfeld's survey. Assumes utilities behind the preferences (a linear or similar link); needs no
horizon. The regret is conjectured, not proven, to be that of the two boxes together.

`sparring` has UCB1 boxes, `thompson_sparring` Thompson boxes, `exp3_sparring` Exp3 boxes (for adversarial preferences;
the mixing rate sqrt(K ln K / max(t, 10^4)) needs no horizon). A step costs O(K) for each box; Thompson boxes toss a
coin for each arm, many at a time, and draw few Beta samples (see `levels`).
"""

from __future__ import annotations

from math import log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.cardinal import (
    ThompsonBoxes,
    UcbBoxes,
    exp3_advance,
    thompson_advance,
    thompson_boxes,
    thompson_feedback,
    thompson_most,
    ucb_advance,
    ucb_boxes,
    ucb_feedback,
)
from ltr_duel.bandits.policy import register
from ltr_duel.core import FloatMatrix, IntVector, NoParams, coin, kernel, vector

LEFT, RIGHT = 0, 1  # the rows of the two boxes


class UcbParams(NamedTuple):
    """Parameters of sparring with UCB1 boxes."""

    alpha: float = 0.5  # exploration: 0.5 in Wolfenfeld's experiments, 2 in the textbook


class UcbState(NamedTuple):
    """Two UCB1 boxes over K arms, left in row 0 and right in row 1."""

    boxes: UcbBoxes


def ucb_init(n_arms: int, horizon: int, params: UcbParams) -> UcbState:
    """Nothing has been played."""
    return UcbState(ucb_boxes(2, n_arms))


def ucb_select(state: UcbState, params: UcbParams, t: int, rng: Generator) -> tuple[int, int]:
    """Advance both boxes."""
    left = ucb_advance(state.boxes, LEFT, params.alpha, rng)
    return left, ucb_advance(state.boxes, RIGHT, params.alpha, rng)


def ucb_update(
    state: UcbState, params: UcbParams, t: int, first: int, second: int, outcome: int, rng: Generator
) -> None:
    """Reward 1 for the box whose arm won; a coin where both chose the same arm."""
    won = right_won(outcome, rng)
    ucb_feedback(state.boxes, LEFT, first, 1.0 - won)
    ucb_feedback(state.boxes, RIGHT, second, won)


def ucb_recommend(state: UcbState, params: UcbParams) -> int:
    """The arm that the right box played most (the papers name none)."""
    return vector.first_most(state.boxes.plays[RIGHT])


@kernel
def right_won(outcome: int, rng: Generator) -> int:
    """Return the survey's b: 1 if the right arm won, else 0; a coin for an arm against itself."""
    if outcome == 0:
        outcome = coin(rng)
    return 1 if outcome < 0 else 0


class ThompsonState(NamedTuple):
    """Two Thompson boxes over K arms, left in row 0 and right in row 1."""

    boxes: ThompsonBoxes


def thompson_init(n_arms: int, horizon: int, params: NoParams) -> ThompsonState:
    """Uniform priors."""
    return ThompsonState(thompson_boxes(2, n_arms))


def thompson_select(state: ThompsonState, params: NoParams, t: int, rng: Generator) -> tuple[int, int]:
    """Take the largest sample of each box."""
    left = thompson_advance(state.boxes, LEFT, rng)
    return left, thompson_advance(state.boxes, RIGHT, rng)


def thompson_update(
    state: ThompsonState, params: NoParams, t: int, first: int, second: int, outcome: int, rng: Generator
) -> None:
    """One success and one failure."""
    won = right_won(outcome, rng)
    thompson_feedback(state.boxes, LEFT, first, 1 - won)
    thompson_feedback(state.boxes, RIGHT, second, won)


def thompson_recommend(state: ThompsonState, params: NoParams) -> int:
    """The arm that the right box played most."""
    return thompson_most(state.boxes, RIGHT)


class Exp3Params(NamedTuple):
    """Parameters of sparring with Exp3 boxes."""

    settle: int = 10_000  # until this step the mixing rate stays what it is there


class Exp3State(NamedTuple):
    """Two Exp3 boxes over K arms, left in row 0 and right in row 1."""

    log_weight: FloatMatrix  # (2, K) ln w_i
    share: FloatMatrix  # (2, K) probability of each arm in the last step
    plays: IntVector  # (K,) of the right box


def exp3_init(n_arms: int, horizon: int, params: Exp3Params) -> Exp3State:
    """All weights are 1."""
    return Exp3State(np.zeros((2, n_arms)), np.zeros((2, n_arms)), np.zeros(n_arms, np.int64))


def exp3_select(state: Exp3State, params: Exp3Params, t: int, rng: Generator) -> tuple[int, int]:
    """Draw one arm from each box."""
    mixing = exp3_mixing(state.log_weight.shape[1], t, params.settle)
    left = exp3_advance(state.log_weight[LEFT], state.share[LEFT], mixing, rng)
    return left, exp3_advance(state.log_weight[RIGHT], state.share[RIGHT], mixing, rng)


def exp3_chance(state: Exp3State, params: Exp3Params, arms: IntVector) -> float:
    """One arm by each box, either way round; the boxes draw independently."""
    low, high = arms[0], arms[-1]
    chance = state.share[LEFT, low] * state.share[RIGHT, high]
    if high > low:
        chance += state.share[LEFT, high] * state.share[RIGHT, low]
    return float(chance)


def exp3_update(
    state: Exp3State, params: Exp3Params, t: int, first: int, second: int, outcome: int, rng: Generator
) -> None:
    """The winner's box raises its weight by the importance-weighted reward."""
    won = right_won(outcome, rng)
    n_arms = state.log_weight.shape[1]
    mixing = exp3_mixing(n_arms, t, params.settle)
    box, arm = (RIGHT, second) if won else (LEFT, first)
    state.log_weight[box, arm] += mixing / (n_arms * state.share[box, arm])
    state.plays[second] += 1


def exp3_recommend(state: Exp3State, params: Exp3Params) -> int:
    """The arm that the right box played most."""
    return vector.first_most(state.plays)


@kernel
def exp3_mixing(n_arms: int, t: int, settle: int) -> float:
    """Return the share of uniform exploration in step t."""
    return min(1.0, sqrt(n_arms * log(n_arms) / max(t, settle)))


register(
    __name__,
    prefix="ucb",
    any_order=True,
    limits={"alpha": (0.0, None)},
    assumes="utilities behind the preferences",
    regret="conjectured: that of two UCB1, O(K log T)",
    cost="O(K)",
    cite="ailon2014reducing",
    where="Sparring",
)
register(
    __name__,
    name="thompson_sparring",
    prefix="thompson",
    any_order=True,
    assumes="utilities behind the preferences",
    regret="conjectured: that of two Thompson samplers",
    cost="O(K): 2K coins, a few Beta draws",
    cite="wolfenfeld_dueling,ailon2014reducing",
    where="Algorithm 7",
)
register(
    __name__,
    name="exp3_sparring",
    prefix="exp3",
    limits={"settle": (1, None)},
    assumes="nothing; compares with the best fixed arm even when preferences change",
    regret="O(sqrt(K T log K)) for each box",
    cost="O(K), 2K exponentials",
    cite="ailon2014reducing",
    where="Sparring with Exp3 boxes",
)
