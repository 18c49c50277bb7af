"""Winner Stays: the two arms with the largest leads meet. A lead is the number of duels won minus duels lost.

Ties are broken in favour of the arms of the previous duel, so the same two arms meet again until one falls behind.

`winner_stays_strong` adds phases of exploitation. After round l = 1, 2, ..., the winner of the round plays against
itself for beta^l steps. Round l ends when one arm is l (K - 1) duels ahead and all other arms are l duels behind.

Chen, Frazier. Dueling Bandits with Weak Regret. ICML 2017, Algorithms 1 (WS-W) and 2 (WS-S).
"""

from __future__ import annotations

from math import floor
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.hooks import NEVER
from ltr_duel.bandits.policy import register
from ltr_duel.bandits.state import Registers, registers
from ltr_duel.core import IntVector, NoParams, kernel, random_below, vector


class StrongParams(NamedTuple):
    beta: float = 1.1  # exploitation after round l lasts beta^l steps


class Now:
    first: int  # the arms of the last duel, -1 before the first duel
    second: int
    number: int  # number of the round, 1, 2, ...
    until: int  # last step in which the winner of the last round is exploited
    beta: float  # 0 without exploitation


class State(NamedTuple):
    ahead: IntVector  # (K,) duels won minus duels lost
    now: Registers[Now]


class StrongState(State):
    """A copy of the class `State`, because each policy needs a class of its own."""


def init(n_arms: int, horizon: int, params: NoParams) -> State:
    return State(np.zeros(n_arms, np.int64), registers(Now, first=-1, second=-1, number=1))


def strong_init(n_arms: int, horizon: int, params: StrongParams) -> StrongState:
    return StrongState(np.zeros(n_arms, np.int64), registers(Now, first=-1, second=-1, number=1, beta=params.beta))


def select(state: State, params: Any, t: int, rng: Generator) -> tuple[int, int]:
    if t <= state.now[0].until:
        best = vector.first_most(state.ahead)
        return best, best
    first = most_ahead(state, -1, rng)
    if state.ahead.shape[0] == 1:
        return first, first
    return first, most_ahead(state, first, rng)


@kernel
def most_ahead(state: State, without: int, rng: Generator) -> int:
    best, ties = NEVER, 0
    for k in range(state.ahead.shape[0]):
        if k != without and (ties == 0 or state.ahead[k] > best):
            best, ties = state.ahead[k], 1
        elif k != without and state.ahead[k] == best:
            ties += 1
    for k in (state.now[0].first, state.now[0].second):
        if k >= 0 and k != without and state.ahead[k] == best:
            return k
    n = random_below(ties, rng)
    for k in range(state.ahead.shape[0]):
        n -= k != without and state.ahead[k] == best
        if n < 0:
            return k
    return 0


def update(state: State, params: Any, t: int, first: int, second: int, outcome: int, rng: Generator) -> None:
    if outcome == 0:
        return
    now = state.now[0]
    state.ahead[first] += outcome
    state.ahead[second] -= outcome
    now.first, now.second = first, second
    goal = now.number * (state.ahead.shape[0] - 1)
    if now.beta > 0.0 and (state.ahead[first] == goal or state.ahead[second] == goal):
        length = now.beta ** float(now.number)
        now.until = t + int(floor(length)) if length < 4e18 else NEVER
        now.number += 1


def recommend(state: State, params: Any) -> int:
    return vector.first_most(state.ahead)


def strong_idle_until(state: StrongState, params: StrongParams, t: int) -> int:
    return max(t, state.now[0].until)


register(
    __name__,
    assumes="a Condorcet winner",
    regret="weak: O(K^2), with a total order O(K log K)",
    made_for="weak",
    cost="O(K)",
    cite="chen2017dueling",
    where="WS-W",
)
register(
    __name__,
    name="winner_stays_strong",
    prefix="strong",
    limits={"beta": (1.000001, None)},
    assumes="a Condorcet winner",
    regret="O(K^2 + K log T)",
    cost="O(K)",
    cite="chen2017dueling",
    where="WS-S",
)
