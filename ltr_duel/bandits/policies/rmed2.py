"""RMED2 and RMED2FH: like RMED1, but each arm plays against the opponent that rules it out at the least regret.

The module `rmed` explains how arms are ruled out by evidence. Each duel of an arm gives evidence against it, and costs
regret. The best opponent of an arm has the lowest ratio of regret to evidence.

`rmed2` estimates the best opponent in each step. Before each pass, it plays every pair that has met too rarely for this
estimate. `rmed2fh` knows the horizon. It first plays every pair often enough, and then fixes the opponents permanently.

If several opponents are equally good, the opponent with the lowest number is chosen, as in the authors' program
(jkomiyama/duelingbanditlib). The authors' program also sets the estimated regret of a duel to at least 0.01. Here the
estimate may be smaller, and even negative, as in the paper.

Komiyama, Honda, Kashima, Nakagawa. Regret Lower Bound and Optimal Algorithm in Dueling Bandit Problem. COLT 2015,
Algorithms 1 and 2.
"""

from __future__ import annotations

from math import ceil, exp, inf, log
from typing import Any, NamedTuple

from numpy.random import Generator

from ltr_duel.bandits.policies.rmed import (
    State,
    last_step_alone,
    likely_winner,
    recommend,
    rmed_arrays,
    strongest_opponent,
    update,
)
from ltr_duel.bandits.policies.rmed import idle_until as idle_until_joined
from ltr_duel.bandits.policy import register
from ltr_duel.bandits.statistics import last_step_before
from ltr_duel.core import FloatMatrix, IntMatrix, kernel


class Params(NamedTuple):
    alpha: float = 3.0  # every pair meets at least alpha ln ln t times
    scale: float = 0.3  # f(K) = scale * K^power
    power: float = 1.01


class Rmed2State(State):
    """The state of RMED1 in another class, because each policy needs a class of its own."""


class FixedState(State):
    """The state of RMED1 in another class, because each policy needs a class of its own."""


def init(n_arms: int, horizon: int, params: Params) -> Rmed2State:
    return Rmed2State(*rmed_arrays(n_arms, 1, params.scale * n_arms**params.power))


def fixed_init(n_arms: int, horizon: int, params: Params) -> FixedState:
    rounds = max(1, ceil(params.alpha * log(log(max(horizon, 3)))))
    return FixedState(*rmed_arrays(n_arms, rounds, params.scale * n_arms**params.power))


def select(state: Rmed2State, params: Params, t: int, rng: Generator) -> tuple[int, int]:
    now = state.now[0]
    if now.rounds > 0:
        return now.first, now.second
    if now.place == 0 and find_neglected(state, params.alpha, t):
        now.forced = 1
        return now.first, now.second
    first = state.lists.current[now.place]
    winner = likely_winner(state.evidence, rng)
    rival = cheapest_rival(state.wins, state.share, state.terms, first, winner)
    if meets_rival(state.wins, state.share, first, winner, rival, t):
        return first, rival
    return first, strongest_opponent(state.share, first, winner, rng)


def fixed_select(state: FixedState, params: Params, t: int, rng: Generator) -> tuple[int, int]:
    now = state.now[0]
    if now.rounds > 0:
        return now.first, now.second
    if now.unset:
        fix_rivals(state, rng)
    first = state.lists.current[now.place]
    winner = likely_winner(state.evidence, rng)
    if meets_rival(state.wins, state.share, first, winner, state.rival[first], t):
        return first, state.rival[first]
    return first, strongest_opponent(state.share, first, winner, rng)


@kernel
def fix_rivals(state: State, rng: Generator) -> None:
    state.now[0].unset = 0
    winner = likely_winner(state.evidence, rng)
    for k in range(state.rival.shape[0]):
        state.rival[k] = cheapest_rival(state.wins, state.share, state.terms, k, winner)


@kernel
def level_at(alpha: float, t: int) -> int:
    """Return the number of duels that each pair needs in step t: alpha ln ln t, rounded up."""
    if t < 3:
        return 0
    return int(ceil(alpha * log(log(t))))


@kernel
def find_neglected(state: State, alpha: float, t: int) -> bool:
    """Find the next pair that met too rarely (see `level_at`). Return whether there is such a pair."""
    now, n_arms = state.now[0], state.share.shape[0]
    level = level_at(alpha, t)
    if level <= now.level or n_arms == 1:
        return False
    i, j = now.first, now.second
    fresh = i == 0 and j == 1
    while state.wins[i, j] + state.wins[j, i] >= level:
        j += 1
        if j == n_arms:
            i += 1
            j = i + 1
        if i == n_arms - 1:
            i, j = 0, 1
            if fresh:
                now.level = level
                break
            fresh = True
    now.first, now.second = i, j
    return now.level < level


@kernel
def cheapest_rival(wins: IntMatrix, share: FloatMatrix, terms: FloatMatrix, arm: int, winner: int) -> int:
    """Return the opponent that rules out ``arm`` at the least regret, or -1 if no arm beats ``arm``."""
    best, rival = inf, -1
    own = share[winner, arm] - 0.5 if winner != arm else 0.0
    for j in range(share.shape[0]):
        if terms[arm, j] > 0.0:
            gap = share[winner, j] - 0.5 if winner != j else 0.0
            cost = (own + gap) * (wins[arm, j] + wins[j, arm]) / terms[arm, j]
            if cost < best:
                best, rival = cost, j
    return rival


@kernel
def meets_rival(wins: IntMatrix, share: FloatMatrix, arm: int, winner: int, rival: int, t: int) -> bool:
    """Return whether the arm has met ``winner`` often enough to play against ``rival`` now."""
    if rival < 0 or share[arm, rival] > 0.5 or t < 3:
        return False
    met_winner = wins[arm, winner] + wins[winner, arm]
    return met_winner * log(log(t)) >= wins[arm, rival] + wins[rival, arm]


def idle_until(state: Rmed2State, params: Params, t: int) -> int:
    alone = last_step_alone(state, t)
    if alone <= t:
        return t
    return max(t, min(alone, last_step_at_level(params.alpha, level_at(params.alpha, t))))


@kernel
def last_step_at_level(alpha: float, level: int) -> int:
    return last_step_before(exp(min(level / alpha, 3.75)))  # ln ln of the largest 64-bit number is 3.77


_FACTS: dict[str, Any] = {
    "update": update,
    "recommend": recommend,
    "limits": {"alpha": (0.0, None), "scale": (0.0, None), "power": (0.0, None)},
    "assumes": "a Condorcet winner",
    "regret": "asymptotically optimal, O(K log T)",
    "cost": "O(K)",
    "cite": "komiyama2015regret",
}
register(__name__, prefix="rmed2", where="RMED2", **_FACTS)
register(
    __name__,
    name="rmed2fh",
    prefix="fixed",
    idle_until=idle_until_joined,
    needs_horizon=True,
    where="RMED2FH",
    **_FACTS,
)
