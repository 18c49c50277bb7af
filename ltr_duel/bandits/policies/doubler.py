"""Doubler and its forms without reset: the left arm repeats what the right player did in the last epoch.

Time is cut into epochs of 1, 2, 4, ... steps. In an epoch the left arm is a uniform draw from the multiset of arms that
the right player chose in the epoch before, so the right player faces a fixed opponent: an ordinary bandit.

`doubler` (Ailon, Karnin, Joachims, ICML 2014; Algorithm 8 of Wolfenfeld's survey) has a UCB1 box that starts anew in
each epoch: regret O(K log^2 T). `improved_doubler` (Algorithm 9) keeps its box and corrects the feedback for the
changing opponent by an estimate f of the opponent's utility. `thompson_doubler` (Algorithm 10, "unforgetful") keeps a
Thompson box and does without the correction. All assume utilities behind the preferences and a linear link; none
needs a horizon; the last two have no proven bound. A step costs O(K).

Comments give the lines of Algorithms 8 and 9, counted from `input`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ltr_duel.bandits.cardinal import UNPLAYED, thompson_advance, ucb_advance, ucb_feedback, ucb_rows
from ltr_duel.bandits.multiset import random_member, replace_members, starts_epoch
from ltr_duel.bandits.policies.sparring import right_won
from ltr_duel.bandits.policy import register
from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, first_most, kernel


class Params(NamedTuple):
    """Parameters of the doublers with UCB1 boxes."""

    alpha: float = 0.5  # exploration: 0.5 in Wolfenfeld's experiments, 2 in the textbook


class State(NamedTuple):
    """What Doubler knows: a UCB1 box over K arms, and the opponent."""

    mean: FloatMatrix  # (1, K) mean reward
    width: FloatMatrix  # (1, K) 1 / sqrt(plays)
    sums: FloatMatrix  # (1, K) summed reward
    plays: IntMatrix  # (1, K)
    total: IntVector  # (1,)
    cumulative: IntVector  # (K,) running sum of the multiset's histogram
    chosen: IntVector  # (K,) right arms of this epoch


class ImprovedState(NamedTuple):
    """What Improved Doubler knows: a UCB1 box over K arms, the opponent, and the opponent's utility."""

    mean: FloatMatrix  # (1, K) mean reward
    width: FloatMatrix  # (1, K) 1 / sqrt(plays)
    sums: FloatMatrix  # (1, K) summed reward
    plays: IntMatrix  # (1, K)
    total: IntVector  # (1,)
    cumulative: IntVector  # (K,) running sum of the multiset's histogram
    chosen: IntVector  # (K,) right arms of this epoch
    utility: FloatVector  # (1,) f of this epoch
    won: IntVector  # (1,) duels of this epoch that the right arm won


class ThompsonParams(NamedTuple):
    """Thompson Doubler has no parameters."""


class ThompsonState(NamedTuple):
    """What Thompson Doubler knows: a Thompson box over K arms, and the opponent."""

    good: IntVector  # (K,) duels that the arm won on the right
    bad: IntVector  # (K,) duels that it lost there
    cumulative: IntVector  # (K,) running sum of the multiset's histogram
    chosen: IntVector  # (K,) right arms of this epoch


def init(n_arms: int, horizon: int, params: Params) -> State:
    """Line 1."""
    return State(*ucb_rows(1, n_arms), np.zeros(n_arms, np.int64), np.zeros(n_arms, np.int64))


def select(state: State, params: Params, t: int, rng: np.random.Generator) -> tuple[int, int]:
    """Lines 5 to 8."""
    if starts_epoch(t):
        replace_members(state.cumulative, state.chosen, rng)  # line 11 of the epoch before
        for k in range(state.mean.shape[1]):  # line 5: reset
            state.mean[0, k] = UNPLAYED
            state.width[0, k] = 0.0
            state.sums[0, k] = 0.0
            state.plays[0, k] = 0
        state.total[0] = 0
    left = random_member(state.cumulative, rng)  # line 7
    return left, ucb_advance(state.mean[0], state.width[0], state.total[0], params.alpha, rng)  # line 8


def update(
    state: State, params: Params, t: int, first: int, second: int, outcome: int, rng: np.random.Generator
) -> None:
    """Lines 9 and 10."""
    won = right_won(outcome, rng)
    ucb_feedback(state.mean, state.width, state.sums, state.plays, state.total, 0, second, won)
    state.chosen[second] += 1


def recommend(state: State, params: Params) -> int:
    """The most frequent arm of the last full epoch, the left player's belief (the paper names none)."""
    return most_frequent(state.cumulative)


def improved_init(n_arms: int, horizon: int, params: Params) -> ImprovedState:
    """Line 1."""
    counts = np.zeros((2, n_arms), np.int64)
    return ImprovedState(*ucb_rows(1, n_arms), counts[0], counts[1], np.zeros(1), np.zeros(1, np.int64))


def improved_select(state: ImprovedState, params: Params, t: int, rng: np.random.Generator) -> tuple[int, int]:
    """Lines 6 and 7."""
    if starts_epoch(t):
        replace_members(state.cumulative, state.chosen, rng)  # line 10 of the epoch before
        if t > 1:  # line 11: f <- f + sum b / |T_p| - 1/2
            state.utility[0] += state.won[0] / (t // 2) - 0.5
        state.won[0] = 0
    left = random_member(state.cumulative, rng)
    return left, ucb_advance(state.mean[0], state.width[0], state.total[0], params.alpha, rng)


def improved_update(
    state: ImprovedState,
    params: Params,
    t: int,
    first: int,
    second: int,
    outcome: int,
    rng: np.random.Generator,
) -> None:
    """Lines 8 and 9: the box is fed b + f."""
    won = right_won(outcome, rng)
    reward = won + state.utility[0]
    ucb_feedback(state.mean, state.width, state.sums, state.plays, state.total, 0, second, reward)
    state.chosen[second] += 1
    state.won[0] += won


def improved_recommend(state: ImprovedState, params: Params) -> int:
    """The arm that the right player chose most."""
    return first_most(state.plays[0])


def thompson_init(n_arms: int, horizon: int, params: ThompsonParams) -> ThompsonState:
    """Uniform priors."""
    good, bad, cumulative, chosen = np.zeros((4, n_arms), np.int64)
    return ThompsonState(good, bad, cumulative, chosen)


def thompson_select(state: ThompsonState, params: ThompsonParams, t: int, rng: np.random.Generator) -> tuple[int, int]:
    """Algorithm 10: the largest theta, against the opponent."""
    if starts_epoch(t):
        replace_members(state.cumulative, state.chosen, rng)
    left = random_member(state.cumulative, rng)
    return left, thompson_advance(state.good, state.bad, rng)


def thompson_update(
    state: ThompsonState,
    params: ThompsonParams,
    t: int,
    first: int,
    second: int,
    outcome: int,
    rng: np.random.Generator,
) -> None:
    """One success or one failure of the right arm."""
    won = right_won(outcome, rng)
    state.good[second] += won
    state.bad[second] += 1 - won
    state.chosen[second] += 1


def thompson_recommend(state: ThompsonState, params: ThompsonParams) -> int:
    """The most frequent arm of the last full epoch."""
    return most_frequent(state.cumulative)


@kernel
def most_frequent(cumulative: IntVector) -> int:
    """Return the most frequent arm of a multiset."""
    best, most, before = 0, -1, 0
    for k in range(cumulative.shape[0]):
        if cumulative[k] - before > most:
            best, most = k, cumulative[k] - before
        before = cumulative[k]
    return best


register(
    __name__,
    limits={"alpha": (0.0, None)},
    assumes="utilities behind the preferences, linear link",
    regret="O(K log^2 T)",
    cost="O(K)",
    cite="ailon2014reducing",
    where="Doubler",
)
register(
    __name__,
    name="improved_doubler",
    prefix="improved",
    limits={"alpha": (0.0, None)},
    assumes="utilities behind the preferences, linear link",
    regret="not proven",
    cost="O(K)",
    cite="wolfenfeld_dueling",
    where="Algorithm 9",
)
register(
    __name__,
    name="thompson_doubler",
    prefix="thompson",
    assumes="utilities behind the preferences, linear link",
    regret="not proven",
    cost="O(K), K Beta draws",
    cite="wolfenfeld_dueling",
    where="Algorithm 10",
)
