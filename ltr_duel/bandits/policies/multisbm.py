"""MultiSBM: each left arm has a bandit that chooses the right arm, which is the left arm of the next duel.

The bandits are UCB1 bandits (see `cardinal`). After N plays of a bandit and n plays of an arm, the confidence width of
the arm is sqrt(alpha ln N / n). In the paper, it is sqrt((alpha + 2) ln t / (2 n)). The paper's alpha = 3 therefore
corresponds to ``alpha = 2.5`` here. In the paper, the regret bound needs an alpha of at least max(3, 2 + ln K / ln ln
T).

Two public programs (HuasenWu/DuelingBandits, jkomiyama/duelingbanditlib) do the same as ``multisbm:alpha=2.5``, except
that they break ties by the lowest number.

Ailon, Karnin, Joachims. Reducing Dueling Bandits to Cardinal Bandits. ICML 2014, Algorithm 2.
"""

from __future__ import annotations

from math import log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.cardinal import UcbBandits, record_reward, ucb_bandits
from ltr_duel.bandits.policies.sparring import right_won
from ltr_duel.bandits.policy import register
from ltr_duel.core import FloatVector, IntVector, random_below, vector


class Params(NamedTuple):
    alpha: float = 3.0  # exploration of the UCB1 bandits; the bound needs at least 2.5 in these terms


class State(NamedTuple):
    """K UCB1 bandits over K arms. Row x belongs to the bandit of the left arm x."""

    bandits: UcbBandits
    scale: FloatVector  # (K,) sqrt(alpha ln N) of the bandit, computed in advance to save time
    left: IntVector  # (1,) the left arm of the next duel
    chosen: IntVector  # (K,) number of duels with each arm on the right


def init(n_arms: int, horizon: int, params: Params) -> State:
    return State(
        ucb_bandits(n_arms, n_arms, params.alpha), np.zeros(n_arms), np.zeros(1, np.int64), np.zeros(n_arms, np.int64)
    )


def select(state: State, params: Params, t: int, rng: Generator) -> tuple[int, int]:
    if t == 1:
        state.left[0] = random_below(state.scale.shape[0], rng)  # arbitrary
    left = state.left[0]
    return left, vector.random_highest(state.bandits.mean[left], state.bandits.width[left], state.scale[left], rng)


def update(state: State, params: Params, t: int, first: int, second: int, outcome: int, rng: Generator) -> None:
    won = right_won(outcome, rng)
    record_reward(state.bandits, first, second, won)
    state.scale[first] = sqrt(params.alpha * log(state.bandits.total[first]))
    state.left[0] = second
    state.chosen[second] += 1


def recommend(state: State, params: Params) -> int:
    return vector.first_most(state.chosen)  # the paper defines no recommendation


register(
    __name__,
    limits={"alpha": (0.0, None)},
    assumes="utilities behind the preferences, linear link",
    regret="O(K log T) asymptotically",
    cost="O(K)",
    cite="ailon2014reducing",
    where="Algorithm 2",
)
