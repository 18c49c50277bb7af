"""RMED1, Relative Minimum Empirical Divergence: play all arms that may still be the Condorcet winner.

The Condorcet winner is the arm that beats every other arm. The *evidence* against an arm measures how unlikely its
losses would be if this arm were the winner. An arm with too much evidence against it is ruled out. In each pass, all
other arms play once, usually against i*, the arm with the least evidence against it.

Komiyama, Honda, Kashima, Nakagawa. Regret Lower Bound and Optimal Algorithm in Dueling Bandit Problem. COLT 2015,
Algorithms 1 and 2. The module `rmed2` contains RMED2 and RMED2FH.
"""

# The evidence against arm i is I_i, a sum over all arms j that won at least half of their duels with arm i. Each term
# is n_ij d(phat_ij, 1/2). Here n_ij is the number of duels of the pair, phat_ij is the share of these duels that arm i
# won, and d is the Kullback-Leibler divergence between two coins. Arm i is ruled out in step t if
# I_i - I_i* > ln t + f(K). As in the paper's experiments, f(K) is 0.3 K^1.01.

from __future__ import annotations

from math import inf, log
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.policy import register
from ltr_duel.bandits.state import Registers, registers
from ltr_duel.bandits.statistics import coin_divergence, last_step_before
from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, inlined, kernel, vector

ROUNDING = 1e-9
RESUM = 1023  # mask, a power of two minus one: a sum is recomputed every RESUM + 1 changes, to limit rounding drift


class Params(NamedTuple):
    scale: float = 0.3  # f(K) = scale * K^power
    power: float = 1.01


class Now:
    rounds: int  # number of remaining rounds of initial duels
    first: int  # the next pair of initial duels; after them, in RMED2, the next pair to check for too few duels
    second: int
    n_current: int  # number of arms in L_C
    place: int  # number of these arms that were played in this pass
    n_following: int  # number of arms in L_N
    slack: float  # f(K)
    forced: int  # RMED2: 1 if this duel is played because the pair met too rarely
    level: int  # RMED2: number of duels that every pair is known to have reached
    unset: int  # RMED2FH: 1 until the rivals are fixed


class Lists(NamedTuple):
    """The arms of this pass, which the paper calls L_C, and the arms of the next pass, which it calls L_N."""

    pending: FloatVector  # (K,) I_i of each arm that is in neither L_R nor L_N; infinity for the other arms
    current: IntVector  # (K,) the first n_current entries: L_C; L_R are the arms of L_C that have still to play
    following: IntVector  # (K,) the first n_following entries: L_N


class State(NamedTuple):
    wins: IntMatrix  # (K, K) wins[i, j]: duels that arm i won against arm j
    share: FloatMatrix  # (K, K) share[i, j] = phat_ij; 1/2 before the first duel, 2 on the diagonal
    terms: FloatMatrix  # (K, K) n_ij d(phat_ij, 1/2) where phat_ij < 1/2, else 0
    evidence: FloatVector  # (K,) I_i, the row sums
    losing: IntVector  # (K,) number of positive terms of the row
    changes: IntVector  # (K,) number of changes of the row
    lists: Lists
    rival: IntVector  # (K,) the fixed opponent b_l of each arm l in RMED2FH, see `rmed2`
    now: Registers[Now]


def init(n_arms: int, horizon: int, params: Params) -> State:
    return State(*rmed_arrays(n_arms, 1, params.scale * n_arms**params.power))


def rmed_arrays(n_arms: int, rounds: int, slack: float) -> tuple[Any, ...]:
    share = np.full((n_arms, n_arms), 0.5)
    np.fill_diagonal(share, 2.0)  # never the smallest of its row
    wins, terms, evidence = np.zeros((n_arms, n_arms), np.int64), np.zeros((n_arms, n_arms)), np.zeros(n_arms)
    losing, changes, following = np.zeros((3, n_arms), np.int64)
    lists = Lists(np.full(n_arms, inf), np.arange(n_arms), following)
    now = registers(Now, rounds=rounds if n_arms > 1 else 0, second=1, n_current=n_arms, slack=slack, unset=1)
    return wins, share, terms, evidence, losing, changes, lists, np.full(n_arms, -1), now


def select(state: State, params: Params, t: int, rng: Generator) -> tuple[int, int]:
    now = state.now[0]
    if now.rounds > 0:
        return now.first, now.second
    first = state.lists.current[now.place]
    return first, strongest_opponent(state.share, first, likely_winner(state.evidence, rng), rng)


@kernel
def likely_winner(evidence: FloatVector, rng: Generator) -> int:
    """Return i*, the arm with the least evidence against it. Ties are broken at random."""
    return vector.draw_up_to(evidence, vector.smallest(evidence) + ROUNDING, rng)


@kernel
def strongest_opponent(share: FloatMatrix, arm: int, winner: int, rng: Generator) -> int:
    """Return the opponent of ``arm``: the arm to which it lost most clearly.

    If ``arm`` lost to ``winner``, or if it beats every other arm, the opponent is ``winner``.
    """
    if share[arm, winner] <= 0.5:
        return winner
    least = vector.smallest(share[arm])
    return vector.draw_up_to(share[arm], least, rng) if least <= 0.5 else winner


def update(state: State, params: Params, t: int, first: int, second: int, outcome: int, rng: Generator) -> None:
    now = state.now[0]
    if outcome != 0:
        record_duel(state, first, second, outcome)
    if now.rounds > 0:
        next_initial_pair(state)
    elif now.forced:
        now.forced = 0
    else:
        end_turn(state.lists, state.evidence, now, first, log(t))


@inlined
def record_duel(state: State, first: int, second: int, outcome: int) -> None:
    """Count a duel of two different arms, and update the evidence against both."""
    winner, loser = (first, second) if outcome > 0 else (second, first)
    state.wins[winner, loser] += 1
    won, lost = state.wins[winner, loser], state.wins[loser, winner]
    n = won + lost
    state.share[winner, loser] = won / n
    state.share[loser, winner] = lost / n
    term = n * coin_divergence(won / n) if won != lost else 0.0
    set_term(state, winner, loser, term if won < lost else 0.0)
    set_term(state, loser, winner, term if lost < won else 0.0)


@inlined
def set_term(state: State, i: int, j: int, term: float) -> None:
    before = state.terms[i, j]
    if term != before:
        state.terms[i, j] = term
        state.losing[i] += int(term > 0.0) - int(before > 0.0)
        state.changes[i] += 1
        if state.losing[i] == 0:
            state.evidence[i] = 0.0
        elif state.changes[i] & RESUM:
            state.evidence[i] += term - before
        else:
            total = 0.0
            for k in range(state.terms.shape[0]):
                total += state.terms[i, k]
            state.evidence[i] = total
    if state.lists.pending[i] < inf:
        state.lists.pending[i] = state.evidence[i]


@kernel
def next_initial_pair(state: State) -> None:
    now, n_arms = state.now[0], state.share.shape[0]
    now.second += 1
    if now.second == n_arms:
        now.first += 1
        now.second = now.first + 1
        if now.first == n_arms - 1:
            now.first, now.second = 0, 1
            now.rounds -= 1


@inlined
def end_turn(lists: Lists, evidence: FloatVector, now: Now, arm: int, log_t: float) -> None:
    """Mark an arm as played in this pass. Arms that have played and are not ruled out join the next pass."""
    lists.pending[arm] = evidence[arm]
    limit = vector.smallest(evidence) + log_t + now.slack
    joined = now.n_following
    now.n_following = vector.add_up_to(lists.pending, limit, lists.following, joined)
    for k in range(joined, now.n_following):
        lists.pending[lists.following[k]] = inf
    now.place += 1
    if now.place == now.n_current:
        now.place, now.n_current, now.n_following = 0, now.n_following, 0
        for k in range(now.n_current):
            lists.current[k] = lists.following[k]


def recommend(state: State, params: Params) -> int:
    return vector.nth_up_to(state.evidence, vector.smallest(state.evidence), 0)


def idle_until(state: State, params: Params, t: int) -> int:
    return last_step_alone(state, t)


@kernel
def last_step_alone(state: State, t: int) -> int:
    """Return the last step up to which one arm certainly plays against itself, or t if several arms still play."""
    now = state.now[0]
    if now.rounds > 0 or now.n_current != 1:
        return t
    alone, evidence = state.lists.current[0], state.evidence
    nearest = min(smallest_or_inf(evidence[:alone]), smallest_or_inf(evidence[alone + 1 :]))
    return max(t, last_step_before(nearest - evidence[alone] - now.slack))


@kernel
def smallest_or_inf(values: FloatVector) -> float:
    return vector.smallest(values) if values.shape[0] > 0 else inf


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
