"""Winner Stays: the arms with the two largest leads (duels won minus lost) meet; the winner stays.

Chen, Frazier. Dueling Bandits with Weak Regret. ICML 2017, Algorithms 1 (WS-W) and 2 (WS-S). Both assume a Condorcet
winner and need no horizon. `winner_stays` has weak regret O(K^2), or O(K log K) with a total order, for every T.
`winner_stays_strong` plays the winner of round l = 1, 2, ... against itself for beta^l steps: strong regret O(K^2 + K
log T).

Round l ends when one arm is l (K - 1) duels ahead and all other arms are l duels behind. The tie rule prefers the arms
of the previous duel; therefore two arms meet until one of them loses a gambler's ruin. A step costs O(K).
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
    """Parameters of Winner Stays for strong regret."""

    beta: float = 1.1  # exploitation after round l lasts beta^l steps


class Now:
    """The progress of the run."""

    first: int  # the arms of the last duel, -1 before the first duel
    second: int
    number: int  # number of the round, 1, 2, ...
    until: int  # last step in which the winner of the last round is exploited


class State(NamedTuple):
    """The state of Winner Stays with K arms."""

    ahead: IntVector  # (K,) duels won minus duels lost
    now: Registers[Now]


class StrongState(State):
    """The state for strong regret: the same arrays in another class, because each policy needs a separate class."""


def init(n_arms: int, horizon: int, params: NoParams) -> State:
    """Return the state before the first duel."""
    return State(np.zeros(n_arms, np.int64), registers(Now, first=-1, second=-1, number=1))


def strong_init(n_arms: int, horizon: int, params: StrongParams) -> StrongState:
    """Return the state before the first duel."""
    return StrongState(*init(n_arms, horizon, NoParams()))


def select(state: State, params: NoParams, t: int, rng: Generator) -> tuple[int, int]:
    """Return the arms with the two largest leads."""
    return leaders(state, rng)


@kernel
def leaders(state: State, rng: Generator) -> tuple[int, int]:
    """Return the arms with the two largest leads."""
    first = most_ahead(state, -1, rng)
    if state.ahead.shape[0] == 1:
        return first, first
    return first, most_ahead(state, first, rng)


@kernel
def most_ahead(state: State, without: int, rng: Generator) -> int:
    """Return the arm with the largest lead, except ``without``; ties go to an arm of the last duel, else to chance."""
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


def update(state: State, params: NoParams, t: int, first: int, second: int, outcome: int, rng: Generator) -> None:
    """Count the duel."""
    if outcome != 0:
        record(state, first, second, outcome)


@kernel
def record(state: State, first: int, second: int, outcome: int) -> None:
    """Count a duel."""
    state.ahead[first] += outcome
    state.ahead[second] -= outcome
    now = state.now[0]
    now.first, now.second = first, second


def strong_select(state: StrongState, params: StrongParams, t: int, rng: Generator) -> tuple[int, int]:
    """Return the winner of the last round while it is exploited, otherwise the arms with the two largest leads."""
    if t <= state.now[0].until:
        best = vector.first_most(state.ahead)
        return best, best
    return leaders(state, rng)


def strong_update(
    state: StrongState, params: StrongParams, t: int, first: int, second: int, outcome: int, rng: Generator
) -> None:
    """Count the duel, and end the round if it is decided."""
    if outcome == 0:
        return
    record(state, first, second, outcome)
    now = state.now[0]
    goal = now.number * (state.ahead.shape[0] - 1)
    if state.ahead[first] == goal or state.ahead[second] == goal:
        length = params.beta ** float(now.number)
        now.until = t + int(floor(length)) if length < 4e18 else NEVER
        now.number += 1


def recommend(state: State, params: Any) -> int:
    """Return the arm with the largest lead."""
    return vector.first_most(state.ahead)


def strong_idle_until(state: StrongState, params: StrongParams, t: int) -> int:
    """Return the last step in which the winner is exploited."""
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
