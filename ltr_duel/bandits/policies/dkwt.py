"""DKWT: the Dvoretzky-Kiefer-Wolfowitz tournament, which stops when it knows the Condorcet winner.

The arms form a line, and the winner of a match meets the next arm. A match has stages s = 1, 2, ... In stage s, the
pair meets T_s times. The match ends if the shares of wins in this stage differ by more than h = 2^-(s + 1). Otherwise
the next, longer stage begins. If both arms of a pair are equally good, the match may never end.

The length of a stage is T_s = ceil(8 ln(4 / gamma_s) / h^2), with gamma_s = 6 delta / (K pi^2 s^2). The policy then
names a wrong arm with a probability of at most delta.

Haddenhorst, Bengs, Huellermeier. Identification of the Generalized Condorcet Winner in Multi-dueling Bandits. NeurIPS
2021. The details follow the authors' program (github.com/bjoernhad/GCWidentification, functions `algo_1`, `algo_2`,
`DKWT`), for comparisons of two arms. The authors' program repeats the last match, but this policy does not.
"""

from __future__ import annotations

from math import ceil, log, pi
from typing import NamedTuple

from numpy.random import Generator

from ltr_duel.bandits.hooks import NEVER
from ltr_duel.bandits.policy import register
from ltr_duel.bandits.state import Registers, registers
from ltr_duel.core import kernel


class Params(NamedTuple):
    delta: float = 0.05  # probability of a wrong answer


class Now:
    n_arms: int
    champion: int  # the winner of the last match; arms are numbered at random in each run
    challenger: int  # n_arms after the last match
    stage: int  # s
    goal: int  # T_s
    n: int  # duels of this stage
    wins: int  # duels of this stage that the champion won


class State(NamedTuple):
    now: Registers[Now]


def init(n_arms: int, horizon: int, params: Params) -> State:
    state = State(registers(Now, n_arms=n_arms, challenger=1))
    open_stage(state, params, 1)
    return state


@kernel
def open_stage(state: State, params: Params, stage: int) -> None:
    now = state.now[0]
    now.stage, now.n, now.wins = stage, 0, 0
    allowed = 6.0 * params.delta / (now.n_arms * pi**2 * float(stage) ** 2)
    length = 8.0 * log(4.0 / allowed) * 4.0 ** (stage + 1)
    now.goal = int(ceil(length)) if length < 4e18 else NEVER


def select(state: State, params: Params, t: int, rng: Generator) -> tuple[int, int]:
    now = state.now[0]
    return now.champion, now.challenger if now.challenger < now.n_arms else now.champion


def update(state: State, params: Params, t: int, first: int, second: int, outcome: int, rng: Generator) -> None:
    if outcome == 0:
        return
    now = state.now[0]
    now.n += 1
    now.wins += outcome > 0
    if now.n < now.goal:
        return
    lead = (2 * now.wins - now.n) / now.n
    if abs(lead) <= 0.5 ** (now.stage + 1):
        open_stage(state, params, now.stage + 1)
        return
    if lead < 0:
        now.champion = now.challenger
    now.challenger += 1
    open_stage(state, params, 1)


def recommend(state: State, params: Params) -> int:
    return state.now[0].champion


def idle_until(state: State, params: Params, t: int) -> int:
    return NEVER if state.now[0].challenger == state.now[0].n_arms else t


register(
    __name__,
    limits={"delta": (1e-12, 0.999999)},
    deterministic=True,
    assumes="a Condorcet winner, no even pair",
    regret="none: stops at the Condorcet winner with probability 1 - delta",
    identifies="the Condorcet winner",
    cost="O(1)",
    cite="haddenhorst2021identification",
    where="DKWT, two arms",
)
