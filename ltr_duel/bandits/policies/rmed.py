"""RMED1: Relative Minimum Empirical Divergence.

Every arm whose losses do not yet rule it out as Condorcet winner is played once in each pass, against the arm that most
looks like the winner, or, if it does not lose to that one, against the arm it loses to most.

Komiyama, Honda, Kashima, Nakagawa. Regret Lower Bound and Optimal Algorithm in Dueling Bandit Problem. COLT 2015,
Algorithms 1 and 2. Assumes a Condorcet winner; needs no horizon. Regret O(K log T) + O(K^(2 + c)); its rate is the
lower bound where the winner is everybody's strongest rival. f(K) = 0.3 K^1.01 as in the paper's experiments. See
`rmed2` for its siblings.

A step costs O(K): the evidence I_i changes for two arms only (see `divergence`), and one scan finds who joins the
next pass.
"""

from __future__ import annotations

from math import inf, log
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.bandits.divergence import evidence_rows, record_evidence
from ltr_duel.bandits.policy import register
from ltr_duel.bandits.statistics import last_step_before
from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, count_up_to, kernel, random_up_to, smallest

ROUNDING = 1e-9


class Params(NamedTuple):
    """Parameters of RMED1."""

    scale: float = 0.3  # f(K) = scale * K^power
    power: float = 1.01


class State(NamedTuple):
    """What RMED knows after some duels among K arms."""

    wins: IntMatrix  # (K, K) wins[i, j]: duels that arm i won against arm j
    share: FloatMatrix  # (K, K) share[i, j] = phat_ij; 1/2 before the first duel, 2 on the diagonal
    terms: FloatMatrix  # (K, K) n_ij d(phat_ij, 1/2) where phat_ij < 1/2, else 0
    evidence: FloatVector  # (K,) I_i, the row sums
    losing: IntVector  # (K,) positive terms of the row
    changes: IntVector  # (K,) of the row
    pending: FloatVector  # (K,) I_i of the arms outside L_R and L_N, infinity for the others
    current: IntVector  # (K,) L_C
    following: IntVector  # (K,) L_N
    clock: IntVector  # (9,) see the constants below
    slack: FloatVector  # (1,) f(K)
    rival: IntVector  # (K,) the fixed b_l of RMED2FH


# In `clock`. ROUNDS, FIRST, SECOND: rounds of initial duels left, and the next pair; SIZE, PLACE, FOLLOWING: arms in
# L_C, those of them played in this pass, arms in L_N; FORCED, LEVEL: see `rmed2`; UNSET: 1 until RMED2FH has fixed its
# rivals.
ROUNDS, FIRST, SECOND, SIZE, PLACE, FOLLOWING, FORCED, LEVEL, UNSET = range(9)


def init(n_arms: int, horizon: int, params: Params) -> State:
    """L_C and L_R are all arms, L_N is empty; every pair is to meet once."""
    return State(*rmed_rows(n_arms, 1, params.scale * n_arms**params.power))


def rmed_rows(n_arms: int, rounds: int, slack: float) -> tuple[Any, ...]:
    """Make the arrays of a state, for so many initial duels of each pair."""
    clock = np.zeros(9, np.int64)
    clock[[ROUNDS, FIRST, SECOND, SIZE, UNSET]] = (rounds if n_arms > 1 else 0), 0, 1, n_arms, 1
    lists = np.arange(n_arms), np.zeros(n_arms, np.int64)
    rival = np.full(n_arms, -1)
    return *evidence_rows(n_arms), np.full(n_arms, inf), *lists, clock, np.array([slack]), rival


def select(state: State, params: Params, t: int, rng: np.random.Generator) -> tuple[int, int]:
    """The next arm of L_C, and its opponent."""
    if state.clock[ROUNDS] > 0:
        return state.clock[FIRST], state.clock[SECOND]
    first = state.current[state.clock[PLACE]]
    return first, strongest_opponent(state, first, likely_winner(state, rng), rng)


@kernel
def likely_winner(state: Any, rng: np.random.Generator) -> int:
    """Draw i*, the arm with the least evidence against it. Sums that differ by a rounding error tie."""
    least = smallest(state.evidence) + ROUNDING
    return random_up_to(state.evidence, least, count_up_to(state.evidence, least), rng)


@kernel
def strongest_opponent(state: Any, arm: int, winner: int, rng: np.random.Generator) -> int:
    """RMED1's choice: i* if it beats the arm or nobody does, else the arm it loses to most."""
    if state.share[arm, winner] <= 0.5:
        return winner
    least = smallest(state.share[arm])
    if least > 0.5:
        return winner
    return random_up_to(state.share[arm], least, count_up_to(state.share[arm], least), rng)


def update(
    state: State, params: Params, t: int, first: int, second: int, outcome: int, rng: np.random.Generator
) -> None:
    """Count, and see who joins the next pass."""
    if outcome != 0:
        record_duel(state, first, second, outcome)
    if state.clock[ROUNDS] > 0:
        next_initial_pair(state)
    elif state.clock[FORCED]:
        state.clock[FORCED] = 0
    else:
        end_turn(state, first, log(t))


@kernel
def record_duel(state: Any, first: int, second: int, outcome: int) -> None:
    """Count a duel of two different arms."""
    if outcome > 0:
        record_evidence(state, first, second)
    else:
        record_evidence(state, second, first)
    if state.pending[first] < inf:
        state.pending[first] = state.evidence[first]
    if state.pending[second] < inf:
        state.pending[second] = state.evidence[second]


@kernel
def next_initial_pair(state: Any) -> None:
    """Go to the next of the pairs that meet at the beginning."""
    n_arms = state.share.shape[0]
    state.clock[SECOND] += 1
    if state.clock[SECOND] == n_arms:
        state.clock[FIRST] += 1
        state.clock[SECOND] = state.clock[FIRST] + 1
        if state.clock[FIRST] == n_arms - 1:
            state.clock[FIRST] = 0
            state.clock[SECOND] = 1
            state.clock[ROUNDS] -= 1


@kernel
def end_turn(state: Any, arm: int, log_t: float) -> None:
    """The arm leaves L_R; who is outside L_R and not ruled out joins L_N; after the last turn L_N is the next L_C."""
    state.pending[arm] = state.evidence[arm]
    limit = smallest(state.evidence) + log_t + state.slack[0]
    if count_up_to(state.pending, limit) > 0:
        for j in range(state.pending.shape[0]):
            if state.pending[j] <= limit:
                state.following[state.clock[FOLLOWING]] = j
                state.clock[FOLLOWING] += 1
                state.pending[j] = inf
    state.clock[PLACE] += 1
    if state.clock[PLACE] == state.clock[SIZE]:
        state.clock[PLACE] = 0
        state.clock[SIZE] = state.clock[FOLLOWING]
        state.clock[FOLLOWING] = 0
        for k in range(state.clock[SIZE]):
            state.current[k] = state.following[k]


def recommend(state: State, params: Params) -> int:
    """i*, the first of several."""
    best = 0
    for k in range(state.evidence.shape[0]):
        if state.evidence[k] < state.evidence[best]:
            best = k
    return best


def idle_until(state: State, params: Params, t: int) -> int:
    """i* alone in L_C, losing to nobody, meets itself until another arm is no longer ruled out."""
    if state.clock[ROUNDS] > 0 or state.clock[SIZE] != 1:
        return t
    alone, nearest = state.current[0], inf
    for k in range(state.evidence.shape[0]):
        if k != alone:
            nearest = min(nearest, state.evidence[k])
    return max(t, last_step_before(nearest - state.evidence[alone] - state.slack[0]))


register(
    __name__,
    name="rmed1",
    limits={"scale": (0.0, None), "power": (0.0, None)},
    assumes="a Condorcet winner",
    regret="O(K log T) + O(K^(2 + c))",
    cost="O(K)",
    cite="komiyama2015regret",
    where="RMED1",
)
