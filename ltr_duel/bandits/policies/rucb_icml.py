"""RUCB with a hypothesised best arm: the form printed in the ICML proceedings.

The hypothesised best arm B is the last arm that was the only candidate; B is dropped when it is no longer a candidate.
While B is one of several candidates, the champion is B with probability 1/2, and another candidate with probability
1/2. As a result, the regret is O(K log T) + O(K^2): its logarithmic term grows with K, not with K^2 as in `rucb`.

Zoghi, Whiteson, Munos, de Rijke. Relative Upper Confidence Bound for the K-Armed Dueling Bandit Problem. ICML 2014.
Assumes a Condorcet winner; needs no horizon. A step costs O(K).
"""

from __future__ import annotations

from math import log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.policies.rucb import Params, idle_until, recommend, strongest_rival, update
from ltr_duel.bandits.policy import register
from ltr_duel.bandits.statistics import bound_rows
from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, kernel, random_below, uniform, vector


class State(NamedTuple):
    """The state of RUCB after some duels among K arms, and the hypothesised best arm."""

    wins: IntMatrix  # (K, K) this array and the next four are as in `rucb`
    rate: FloatMatrix  # (K, K)
    width: FloatMatrix  # (K, K)
    doubts: FloatMatrix  # (K, K)
    doubt: FloatVector  # (K,)
    best: IntVector  # (1,) the arm B, or -1 if there is none


def init(n_arms: int, horizon: int, params: Params) -> State:
    """Return the state before the first duel, without B."""
    return State(*bound_rows(n_arms, params.prior_wins), np.zeros(n_arms), np.full(1, -1))


def select(state: State, params: Params, t: int, rng: Generator) -> tuple[int, int]:
    """Return the champion, and the rival with the largest optimistic bound against the champion.

    The champion is B or another candidate; if there is no candidate, it is a random arm.
    """
    bonus = params.alpha * log(t)
    candidates = vector.count_up_to(state.doubt, bonus)
    best = state.best[0]
    if candidates == 0:
        state.best[0] = -1
        champion = random_below(state.doubt.shape[0], rng)
    elif candidates == 1:
        champion = vector.nth_up_to(state.doubt, bonus, 0)
        state.best[0] = champion
    elif best >= 0 and state.doubt[best] <= bonus:
        champion = best
        if uniform(rng) >= 0.5:
            champion = another_candidate(state.doubt, bonus, candidates, best, rng)
    else:
        state.best[0] = -1
        champion = vector.nth_up_to(state.doubt, bonus, random_below(candidates, rng))
    return champion, strongest_rival(state.rate, state.width, champion, sqrt(bonus), rng)


@kernel
def another_candidate(doubt: FloatVector, bonus: float, candidates: int, best: int, rng: Generator) -> int:
    """Draw a candidate other than ``best``, which must be a candidate."""
    n = random_below(candidates - 1, rng)
    arm = vector.nth_up_to(doubt, bonus, n)
    if arm < best:
        return arm
    return vector.nth_up_to(doubt, bonus, n + 1)


register(
    __name__,
    any_order=True,
    update=update,
    recommend=recommend,
    idle_until=idle_until,
    limits={"alpha": (0.01, None), "prior_wins": (0, None)},
    assumes="a Condorcet winner",
    regret="O(K log T) + O(K^2)",
    cost="O(K)",
    cite="zoghi2014rucb",
    where="the printed version",
)
