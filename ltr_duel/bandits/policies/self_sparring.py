"""Self-Sparring: a Thompson bandit draws an arm for each position, and the drawn arms are compared.

`self_sparring` compares two arms, and `multi_self_sparring` compares a set of m arms. The draws are independent, so an
arm may be drawn more than once. An arm against itself counts as one win and one loss.

Sui, Zhuang, Burdick, Yue. Multi-dueling Bandits with Dependent Arms. UAI 2017, Algorithm 2 (IndSelfSparring).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.random import Generator

from ltr_duel.bandits.cardinal import ThompsonBandits, choose, most_played, record_reward, thompson_bandits
from ltr_duel.bandits.policy import register
from ltr_duel.core import IntVector, NoParams, SignMatrix


class SlateParams(NamedTuple):
    size: int = 5  # number of arms in a slate, at most K


class State(NamedTuple):
    bandits: ThompsonBandits


class SlateState(State):
    """A copy of the class `State`, because each policy needs a class of its own."""


def init(n_arms: int, horizon: int, params: NoParams) -> State:
    return State(thompson_bandits(1, n_arms))


def slate_init(n_arms: int, horizon: int, params: SlateParams) -> SlateState:
    return SlateState(thompson_bandits(1, n_arms))


def select(state: State, params: NoParams, t: int, rng: Generator) -> tuple[int, int]:
    first = choose(state.bandits, 0, t, rng)
    return first, choose(state.bandits, 0, t, rng)


def update(state: State, params: NoParams, t: int, first: int, second: int, outcome: int, rng: Generator) -> None:
    """Count a success of the winner and a failure of the loser. An arm that met itself gets both."""
    winner, loser = (first, second) if outcome > 0 else (second, first)
    record_reward(state.bandits, 0, winner, 1)
    record_reward(state.bandits, 0, loser, 0)


def slate_select(state: SlateState, params: SlateParams, t: int, slate: IntVector, rng: Generator) -> int:
    size = min(params.size, state.bandits.good.shape[1])
    for place in range(size):
        slate[place] = choose(state.bandits, 0, t, rng)
    return size


def slate_update(
    state: SlateState, params: SlateParams, t: int, slate: IntVector, size: int, won: SignMatrix, rng: Generator
) -> None:
    for a in range(size):
        for b in range(a + 1, size):
            winner, loser = (slate[a], slate[b]) if won[a, b] > 0 else (slate[b], slate[a])
            record_reward(state.bandits, 0, winner, 1)
            record_reward(state.bandits, 0, loser, 0)


def recommend(state: State, params: Any) -> int:
    return most_played(state.bandits, 0)  # the paper defines no recommendation


_FACTS: dict[str, Any] = {
    "any_order": True,
    "assumes": "an approximately linear order of the arms",
    "regret": "no regret asymptotically",
    "cite": "sui2017multidueling",
    "where": "IndSelfSparring",
}
register(__name__, cost="O(K): 2K coin flips, a few Beta draws", **_FACTS)
register(
    __name__,
    name="multi_self_sparring",
    prefix="slate",
    limits={"size": (2, None)},
    cost="O(size K) coin flips, a few Beta draws",
    **_FACTS,
)
