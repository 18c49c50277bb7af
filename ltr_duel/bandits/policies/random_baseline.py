"""Random policies, which serve as a baseline: a random pair, or a random set of arms, in each step.

`random` draws two different arms uniformly. `random_slate` draws a non-empty subset of the arms uniformly, as in Fig. 3
of the multi-dueling bandits paper (Brost et al., CIKM 2016). Only the recommendation uses the outcomes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.policy import register
from ltr_duel.bandits.statistics import most_victorious
from ltr_duel.core import IntMatrix, IntVector, NoParams, SignMatrix, random_below, uniform


class State(NamedTuple):
    wins: IntMatrix  # (K, K) wins[i, j]: comparisons in which arm i beat arm j


class SlateState(NamedTuple):
    lead: IntMatrix  # (K, K) for i < j: comparisons that i won against j, minus those that it lost; 0 for i >= j


def init(n_arms: int, horizon: int, params: NoParams) -> State:
    return State(np.zeros((n_arms, n_arms), np.int64))


def select(state: State, params: NoParams, t: int, rng: Generator) -> tuple[int, int]:
    n_arms = state.wins.shape[0]
    if n_arms == 1:
        return 0, 0
    first, second = random_below(n_arms, rng), random_below(n_arms - 1, rng)
    return first, second + (second >= first)


def update(state: Any, params: NoParams, t: int, first: int, second: int, outcome: int, rng: Generator) -> None:
    if outcome > 0:
        state.wins[first, second] += 1
    elif outcome < 0:
        state.wins[second, first] += 1


def recommend(state: State, params: NoParams) -> int:
    return most_victorious(state.wins)


def slate_init(n_arms: int, horizon: int, params: NoParams) -> SlateState:
    return SlateState(np.zeros((n_arms, n_arms), np.int64))


def slate_select(state: SlateState, params: NoParams, t: int, slate: IntVector, rng: Generator) -> int:
    """Include each arm with probability 1/2. An empty set is drawn again."""
    size = 0
    while size == 0:
        for k in range(state.lead.shape[0]):
            slate[size] = k
            size += int(uniform(rng) < 0.5)
    return size


def slate_update(
    state: SlateState, params: NoParams, t: int, slate: IntVector, size: int, won: SignMatrix, rng: Generator
) -> None:
    for a in range(size):
        lead = state.lead[slate[a]]
        for b in range(a + 1, size):  # the slate is in ascending order
            lead[slate[b]] += won[a, b]


def slate_recommend(state: SlateState, params: NoParams) -> int:
    """Return the arm that beats the most arms. For i < j, arm i beats arm j if ``lead[i, j]`` is positive."""
    return most_victorious(state.lead)


register(
    __name__,
    name="random",
    any_order=True,
    assumes="nothing",
    regret="linear in T",
    cost="O(1)",
    where="the baseline: two arms at random",
    adaptive=False,
)
register(
    __name__,
    name="random_slate",
    prefix="slate",
    any_order=True,
    assumes="nothing",
    regret="linear in T",
    cost="O(K^2)",
    cite="brost2016mdb",
    where="the baseline of Figure 3: arms at random",
    adaptive=False,
)
