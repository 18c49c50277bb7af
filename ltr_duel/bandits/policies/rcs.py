"""RCS, Relative Confidence Sampling: like RUCB, but a sample from the posterior chooses the first arm.

The first arm is the arm that beats all others in a sampled tournament. If no arm beats all others, the first arm is the
arm that was chosen least often. The second arm has the largest upper confidence bound against the first arm.

In the tournament, a candidate meets the arms in order until it loses. The winner of this duel is the next candidate,
and meets the next arm. The last candidate then meets the arms that it has not met. A coin decides each duel (see
`thompson`).

Zoghi, Whiteson, de Rijke, Munos. Relative Confidence Sampling for Efficient On-Line Ranker Evaluation. WSDM 2014;
Algorithm 4 of Wolfenfeld's survey. Comments cite the line numbers of Algorithm 4. Here an arm's bound against itself is
1/2, as in RUCB's paper. The survey prints 0, but an arm would then never meet itself, and regret would be linear.
"""

from __future__ import annotations

from math import log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.policies.rucb import strongest_rival
from ltr_duel.bandits.policy import register
from ltr_duel.bandits.statistics import bound_rows, most_victorious, record_bound
from ltr_duel.bandits.thompson import posterior_rows, record_posterior
from ltr_duel.core import FloatMatrix, IntMatrix, IntVector, kernel, uniform, vector


class Params(NamedTuple):
    alpha: float = 0.51  # exploration


class State(NamedTuple):
    wins: IntMatrix  # (K, K) wins[i, j]: duels that arm i won against arm j
    rate: FloatMatrix  # (K, K) u_jc = rate[c, j] + sqrt(alpha ln t) width[c, j], as in `rucb`
    width: FloatMatrix  # (K, K)
    prefer: FloatMatrix  # (K, K) prefer[i, j] = Pr(theta_ij > 1/2)
    log_mass: FloatMatrix  # (K, K) see `thompson`
    chosen: IntVector  # (K,) number of steps in which each arm was champion
    last: IntVector  # (1,) the last champion, which is the first candidate of the next tournament


def init(n_arms: int, horizon: int, params: Params) -> State:
    wins, rate, width, _ = bound_rows(n_arms, 0)
    return State(wins, rate, width, *posterior_rows(n_arms), np.zeros(n_arms, np.int64), np.zeros(1, np.int64))


def select(state: State, params: Params, t: int, rng: Generator) -> tuple[int, int]:
    """Lines 4 to 12."""
    champion = beats_all(state.prefer, state.last[0], rng)  # lines 4 to 8
    if champion < 0:
        champion = vector.random_fewest(state.chosen, rng)  # line 9
    state.chosen[champion] += 1
    state.last[0] = champion
    return champion, strongest_rival(state.rate, state.width, champion, sqrt(params.alpha * log(t)), rng)


@kernel
def beats_all(prefer: FloatMatrix, start: int, rng: Generator) -> int:
    """Return the arm that beats all others in a sampled tournament, or -1. No pair is sampled twice."""
    n_arms = prefer.shape[0]
    candidate, before, met = start, start, 0  # `candidate` beat `before` and the arms at positions after `met`
    for place in range(1, n_arms):
        arm = start + place
        if arm >= n_arms:
            arm -= n_arms
        if uniform(rng) >= prefer[candidate, arm]:
            before, candidate, met = candidate, arm, place
    for place in range(met):
        arm = start + place
        if arm >= n_arms:
            arm -= n_arms
        if arm != before and uniform(rng) >= prefer[candidate, arm]:
            return -1
    return candidate


def update(state: State, params: Params, t: int, first: int, second: int, outcome: int, rng: Generator) -> None:
    if outcome == 0:
        return
    winner, loser = (first, second) if outcome > 0 else (second, first)
    state.wins[winner, loser] += 1
    record_bound(state.wins, state.rate, state.width, winner, loser)
    won = state.wins[winner, loser]
    record_posterior(state.prefer, state.log_mass, winner, loser, won, won + state.wins[loser, winner])


def recommend(state: State, params: Params) -> int:
    return most_victorious(state.wins)


register(
    __name__,
    any_order=True,
    limits={"alpha": (0.0, None)},
    assumes="a Condorcet winner",
    regret="not proven",
    cost="O(K), at most 2K coins",
    cite="zoghi2014rcs",
)
