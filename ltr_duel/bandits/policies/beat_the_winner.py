"""Beat the Winner Reset: one arm, the incumbent, plays against the arms of a queue in turn.

In a round, the incumbent plays against the first arm of the queue until one of them has won r duels. The loser goes to
the end of the queue, and the winner is the next incumbent. The number r grows by one with each round that the incumbent
wins, and is 1 again when the incumbent loses. An incumbent of many rounds is therefore hard to beat by chance.

Kolpaczki, Huellermeier, Bengs. Piecewise-Stationary Dueling Bandits. TMLR 2024. The details follow the authors' program
(github.com/kolpaczki/Piecwise-Stationary-Dueling-Bandits, `BeatTheWinner` with ``reset``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.policy import register
from ltr_duel.bandits.state import Registers, registers
from ltr_duel.core import IntVector, NoParams


class Now:
    incumbent: int
    head: int  # index of the challenger in the queue
    goal: int  # r, the wins that end the round
    incumbent_wins: int
    challenger_wins: int


class State(NamedTuple):
    queue: IntVector  # (K - 1,) ring of the other arms; arms are numbered at random in each run
    now: Registers[Now]


def init(n_arms: int, horizon: int, params: NoParams) -> State:
    queue = np.arange(1, n_arms) if n_arms > 1 else np.zeros(1, np.int64)  # a single arm meets itself
    return State(queue, registers(Now, goal=1))


def select(state: State, params: NoParams, t: int, rng: Generator) -> tuple[int, int]:
    now = state.now[0]
    return now.incumbent, state.queue[now.head]


def update(state: State, params: NoParams, t: int, first: int, second: int, outcome: int, rng: Generator) -> None:
    if outcome == 0:
        return
    now = state.now[0]
    now.incumbent_wins += outcome > 0
    now.challenger_wins += outcome < 0
    if max(now.incumbent_wins, now.challenger_wins) < now.goal:
        return
    if now.challenger_wins == now.goal:
        state.queue[now.head], now.incumbent = first, second
        now.goal = 1
    else:
        now.goal += 1
    now.head = (now.head + 1) % state.queue.shape[0]
    now.incumbent_wins, now.challenger_wins = 0, 0


def recommend(state: State, params: NoParams) -> int:
    return state.now[0].incumbent


register(
    __name__,
    name="beat_the_winner_reset",
    deterministic=True,
    assumes="a Condorcet winner between two changes",
    regret="weak: bounded between two changes",
    made_for="weak",
    cost="O(1)",
    cite="kolpaczki2024piecewise",
    where="BtWR",
)
