"""Round robin: compares all pairs in turn and recommends the arm that beats the most others; not a bandit algorithm.

Step t compares the pair with number (t - 1) mod (K (K - 1) / 2). Choices do not depend on outcomes, so all arms are
shown equally often throughout, and regret is linear. A step costs O(1).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.policies.random_baseline import update
from ltr_duel.bandits.policy import register
from ltr_duel.bandits.statistics import victories
from ltr_duel.core import IntMatrix, IntVector, NoParams


class State(NamedTuple):
    """The pairs, and their outcomes."""

    first: IntVector  # (pairs,)
    second: IntVector  # (pairs,)
    wins: IntMatrix  # (K, K) wins[i, j]: comparisons in which arm i beat arm j


def init(n_arms: int, horizon: int, params: NoParams) -> State:
    """Return the state before the first outcome. A single arm is paired with itself."""
    first, second = np.triu_indices(n_arms, min(1, n_arms - 1))
    return State(first.astype(np.int64), second.astype(np.int64), np.zeros((n_arms, n_arms), np.int64))


def select(state: State, params: NoParams, t: int, rng: Generator) -> tuple[int, int]:
    """Return the next pair."""
    pair = (t - 1) % state.first.shape[0]
    return state.first[pair], state.second[pair]


def recommend(state: State, params: NoParams) -> int:
    """Return the arm that beats the most arms; ties are broken by the number of comparisons won."""
    best, most, most_wins = 0, -1, -1
    for i in range(state.wins.shape[0]):
        beaten, wins = victories(state.wins, i), state.wins[i].sum()
        if beaten > most or (beaten == most and wins > most_wins):
            best, most, most_wins = i, beaten, wins
    return best


register(
    __name__,
    update=update,
    any_order=True,
    assumes="nothing",
    regret="linear in T",
    cost="O(1)",
    where="the fixed comparison of all pairs",
    deterministic=True,
    adaptive=False,
)
