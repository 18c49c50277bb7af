"""Versatile-DB: the bandit Tsallis-INF draws both arms, with guarantees for random and adversarial preferences.

Arm i is drawn with probability p_i = 4 / (eta_t (Lhat_i - x))^2. Here eta_t is 4 / sqrt(t), Lhat_i is the estimated
cumulative loss of arm i, and x is chosen to make the sum of all p_i equal to 1.

After a duel, Lhat grows by the average of two estimates, one from each player. The estimate for arm i is a baseline
b_i. For the arm that the player drew, (loss - b_i) / p_i is added. The baseline is 1/2 if p_i >= eta_t^2, and 0
otherwise.

Algorithm 3 of the paper has a learner for each player. Here both players share a single learner, as Remark 2 of the
paper allows. A public implementation (stephen-huan/dueling-bandit) adds b_i only to the played arm. Here b_i is added
to all arms, as in Zimmert and Seldin's paper.

Saha, Gaillard. Versatile Dueling Bandits: Best-of-both-World Analyses for Learning from Relative Preferences. ICML
2022, after Zimmert and Seldin's Tsallis-INF (JMLR 2021).
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.cardinal import draw
from ltr_duel.bandits.policies.sparring import right_won
from ltr_duel.bandits.policy import register
from ltr_duel.core import FloatVector, IntVector, kernel, vector


class Params(NamedTuple):
    rate: float = 4.0  # eta_t = rate / sqrt(t)


class State(NamedTuple):
    loss: FloatVector  # (K,) Lhat, estimated cumulative losses
    share: FloatVector  # (K,) p_t
    normaliser: FloatVector  # (1,) x of the last step, from which the next search starts
    plays: IntVector  # (K,)


def init(n_arms: int, horizon: int, params: Params) -> State:
    loss, share = np.zeros((2, n_arms))
    return State(loss, share, np.full(1, -1e9), np.zeros(n_arms, np.int64))


def select(state: State, params: Params, t: int, rng: Generator) -> tuple[int, int]:
    normalise(state, params.rate / sqrt(t))
    first = draw(state.share, rng)
    return first, draw(state.share, rng)


@kernel
def normalise(state: State, eta: float) -> None:
    """Find x with Newton's method, and compute all p_i. The sum of the p_i is convex and increases in x."""
    low = vector.smallest(state.loss)
    highest = low - 2.0 / eta  # at this x the best arm alone has probability 1
    x = min(state.normaliser[0], highest)
    x = max(x, low - 2.0 * sqrt(state.loss.shape[0]) / eta)  # at this x the sum is at most 1
    for _ in range(100):
        total, slope = 0.0, 0.0
        for k in range(state.loss.shape[0]):
            root = 2.0 / (eta * (state.loss[k] - x))
            state.share[k] = root * root
            total += state.share[k]
            slope += state.share[k] * root
        if abs(total - 1.0) < 1e-13:
            break
        x = min(x - (total - 1.0) / (eta * slope), highest)
    state.normaliser[0] = x


def update(state: State, params: Params, t: int, first: int, second: int, outcome: int, rng: Generator) -> None:
    lost = float(right_won(outcome, rng))  # loss of the left player
    level = params.rate * params.rate / t
    for k in range(state.loss.shape[0]):
        if state.share[k] >= level:
            state.loss[k] += 0.5  # each player adds half of b_k = 1/2
    left_base = 0.5 if state.share[first] >= level else 0.0
    right_base = 0.5 if state.share[second] >= level else 0.0
    state.loss[first] += 0.5 * (lost - left_base) / state.share[first]
    state.loss[second] += 0.5 * (1.0 - lost - right_base) / state.share[second]
    state.plays[first] += 1
    state.plays[second] += 1


def recommend(state: State, params: Params) -> int:
    return vector.first_most(state.plays)  # the paper defines no recommendation


register(
    __name__,
    limits={"rate": (1e-6, None)},
    assumes="a Condorcet winner for the first bound, nothing for the second",
    regret="O(sum of log T / gap) and O(sqrt(K T))",
    cost="O(K)",
    cite="saha2022versatile",
)
