"""Doubler and its variants: a bandit chooses the right arm, and the left arm is one of its choices in the last epoch.

Time is divided into epochs of 1, 2, 4, ... steps. In an epoch, the left arm is drawn from the arms that the right
player chose in the previous epoch. An arm that was chosen often is also drawn often. The right player thus has a fixed
opponent, and solves an ordinary bandit problem.

- `doubler` has a UCB1 bandit (see `cardinal`), which is reset in each epoch. The regret bound of `doubler` holds for
  ``alpha = 2``, not for the default 0.5.
- `improved_doubler` never resets its bandit. Because the opponent changes, it adds an estimate of the opponent's
  utility to the reward.
- `thompson_doubler` has a Thompson bandit, which is never reset.

The three policies are Algorithms 8, 9 and 10 of Wolfenfeld's survey, whose text has epochs of 2, 4, 8, ... steps.
Comments cite the line numbers of Algorithms 8 and 9, in which `input` is line 1. `doubler` is by Ailon, Karnin,
Joachims, ICML 2014.
"""

# The estimate f of the opponent's utility grows after each epoch by the right player's share of wins minus 1/2, as in
# Algorithm 9. According to the derivation in the survey, f should grow by twice this amount.

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits import cardinal
from ltr_duel.bandits.policies.sparring import right_won
from ltr_duel.bandits.policy import register
from ltr_duel.bandits.state import Registers, registers
from ltr_duel.core import IntVector, NoParams, kernel, random_below, vector


class Params(NamedTuple):
    alpha: float = 0.5  # exploration: 0.5 in Wolfenfeld's experiments, 2 in the original UCB1


class Opponent(NamedTuple):
    """The left player. It draws from the arms that the right player chose in the previous epoch."""

    cumulative: IntVector  # (K,) running sum over the arms: how often each arm was chosen in the previous epoch
    chosen: IntVector  # (K,) how often each arm was chosen on the right in this epoch


class Epoch:
    improved: int  # 1 for Improved Doubler
    utility: float  # f, the estimate of the opponent's utility in Improved Doubler, else 0
    won: int  # duels of this epoch that the right arm won


class State(NamedTuple):
    bandits: cardinal.UcbBandits  # one bandit, of the right player
    opponent: Opponent
    now: Registers[Epoch]


class ImprovedState(State):
    """A copy of the class `State`, because each policy needs a class of its own."""


class ThompsonState(NamedTuple):
    bandits: cardinal.ThompsonBandits
    opponent: Opponent
    now: Registers[Epoch]


def new_opponent(n_arms: int) -> Opponent:
    cumulative, chosen = np.zeros((2, n_arms), np.int64)
    return Opponent(cumulative, chosen)


@kernel
def starts_epoch(t: int) -> bool:
    """Return whether t is the first step of an epoch: 1, 2, 4, ..."""
    return t & (t - 1) == 0


@kernel
def replace_members(opponent: Opponent, rng: Generator) -> None:
    """Let the left player draw from the arms of the previous epoch, or from one random arm in the first epoch."""
    if opponent.chosen.sum() == 0:
        opponent.chosen[random_below(opponent.chosen.shape[0], rng)] = 1
    total = 0
    for k in range(opponent.chosen.shape[0]):
        total += opponent.chosen[k]
        opponent.cumulative[k] = total
        opponent.chosen[k] = 0


@kernel
def random_member(opponent: Opponent, rng: Generator) -> int:
    return vector.first_above(opponent.cumulative, random_below(opponent.cumulative[-1], rng))


@kernel
def most_frequent(opponent: Opponent) -> int:
    best, most, before = 0, -1, 0
    for k in range(opponent.cumulative.shape[0]):
        count = opponent.cumulative[k] - before
        if count > most:
            best, most = k, count
        before += count
    return best


def init(n_arms: int, horizon: int, params: Params) -> State:
    return State(cardinal.ucb_bandits(1, n_arms, params.alpha), new_opponent(n_arms), registers(Epoch))


def improved_init(n_arms: int, horizon: int, params: Params) -> ImprovedState:
    return ImprovedState(
        cardinal.ucb_bandits(1, n_arms, params.alpha), new_opponent(n_arms), registers(Epoch, improved=1)
    )


def thompson_init(n_arms: int, horizon: int, params: NoParams) -> ThompsonState:
    return ThompsonState(cardinal.thompson_bandits(1, n_arms), new_opponent(n_arms), registers(Epoch))


def select(state: State, params: Params, t: int, rng: Generator) -> tuple[int, int]:
    now = state.now[0]
    if starts_epoch(t):
        replace_members(state.opponent, rng)  # line 11 or 10 of the previous epoch
        if not now.improved:
            cardinal.ucb_reset(state.bandits)  # line 5
        elif t > 1:  # line 11: f <- f + sum b / |T_p| - 1/2
            now.utility += now.won / (t // 2) - 0.5
        now.won = 0
    left = random_member(state.opponent, rng)
    return left, cardinal.choose(state.bandits, 0, t, rng)


def thompson_select(state: ThompsonState, params: NoParams, t: int, rng: Generator) -> tuple[int, int]:
    if starts_epoch(t):
        replace_members(state.opponent, rng)
    left = random_member(state.opponent, rng)
    return left, cardinal.choose(state.bandits, 0, t, rng)


def update(state: Any, params: Any, t: int, first: int, second: int, outcome: int, rng: Generator) -> None:
    now, won = state.now[0], right_won(outcome, rng)
    cardinal.record_reward(state.bandits, 0, second, won + now.utility)  # b + f
    state.opponent.chosen[second] += 1
    now.won += won


def recommend(state: Any, params: Any) -> int:
    return most_frequent(state.opponent)  # the paper defines no recommendation


def improved_recommend(state: ImprovedState, params: Params) -> int:
    return cardinal.most_played(state.bandits, 0)


_FACTS: dict[str, Any] = {"assumes": "utilities behind the preferences, linear link", "cost": "O(K)"}
_LIMITS = {"alpha": (0.0, None)}
register(__name__, limits=_LIMITS, regret="O(K log^2 T)", cite="ailon2014reducing", where="Doubler", **_FACTS)
register(
    __name__,
    name="improved_doubler",
    prefix="improved",
    limits=_LIMITS,
    regret="not proven",
    cite="wolfenfeld_dueling",
    where="Algorithm 9",
    **_FACTS,
)
register(
    __name__,
    name="thompson_doubler",
    prefix="thompson",
    params=NoParams,
    regret="not proven",
    cite="wolfenfeld_dueling",
    where="Algorithm 10",
    **_FACTS | {"cost": "O(K): K coin flips, a few Beta draws"},
)
