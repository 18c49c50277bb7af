"""Monitored Dueling Bandits: RUCB or D-TS starts anew when the preference of a pair has changed.

Kolpaczki, Huellermeier, Bengs. Piecewise-Stationary Dueling Bandits. TMLR 2024; read from the authors' program
(github.com/kolpaczki/Piecwise-Stationary-Dueling-Bandits, `MonitoredDuelingBandits` with its heuristic parameters and
exact windows). Assumes a Condorcet winner in each of M stationary segments, and a known horizon T.

Every ``period`` steps, all pairs meet once, in a fixed order; in all other steps the monitored policy chooses. Both
kinds of duels are passed to the policy. A window stores the last w monitoring duels of each pair. A change is detected
when the wins of its two halves differ by more than b; then the policy and all windows start anew. With

    C = ln((4 T + 2) sqrt(T) / (sqrt(M) K)),  w = ceil(8 C / gap^2), made even,  b = sqrt(w C / 2)

and a share gamma = sqrt(M w / T) (K - 1) / 2 of the steps, period = floor(K (K - 1) / (2 gamma)); if gamma >= 1, the
monitored policy has one step in each period. A step costs as much as a step of the monitored policy.
"""

from __future__ import annotations

from math import ceil, log, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ltr_duel.bandits import hooks
from ltr_duel.bandits.policies import double_thompson, rucb
from ltr_duel.bandits.policy import register
from ltr_duel.bandits.state import Registers, registers
from ltr_duel.core import IntVector, kernel


class Params(NamedTuple):
    """Parameters of Monitored Dueling Bandits."""

    segments: int = 10  # M, the number of stationary segments
    gap: float = 0.3  # the change of a preference that is to be detected
    alpha: float = 0.51  # exploration of the monitored policy


class Now:
    """The progress since the last detected change."""

    start: int  # step in which it was detected
    period: int
    limit: float  # b


class Windows(NamedTuple):
    """The last w monitoring duels of each of the P pairs of arms."""

    first: IntVector  # (P,) the arms of a pair
    second: IntVector  # (P,)
    won: NDArray[np.int8]  # (P, w) ring: whether the first arm won
    n: IntVector  # (P,) monitoring duels since the last detected change
    recent: IntVector  # (P,) wins in the recent half of the window
    older: IntVector  # (P,) wins in the older half
    now: Registers[Now]


class RucbState(NamedTuple):
    """The state of monitored RUCB."""

    policy: rucb.State
    fresh: rucb.State  # before the first duel
    windows: Windows


class ThompsonState(NamedTuple):
    """The state of monitored D-TS."""

    policy: double_thompson.State
    fresh: double_thompson.State  # before the first duel
    windows: Windows


def rucb_init(n_arms: int, horizon: int, params: Params) -> RucbState:
    """Return the state before the first duel."""
    policy, fresh = (rucb.init(n_arms, horizon, rucb.Params(params.alpha)) for _ in range(2))
    return RucbState(policy, fresh, new_windows(n_arms, horizon, params))


def thompson_init(n_arms: int, horizon: int, params: Params) -> ThompsonState:
    """Return the state before the first duel."""
    policy, fresh = (double_thompson.init(n_arms, horizon, double_thompson.Params(params.alpha)) for _ in range(2))
    return ThompsonState(policy, fresh, new_windows(n_arms, horizon, params))


def new_windows(n_arms: int, horizon: int, params: Params) -> Windows:
    """Return empty windows of the length that the parameters determine."""
    first, second = np.triu_indices(n_arms, 1)
    pairs, least = max(1, first.size), 1.0  # with T < K, the logarithm would be negative
    level = max(least, log((4.0 * horizon + 2.0) * sqrt(horizon) / (sqrt(params.segments) * n_arms)))
    half = ceil(ceil(8.0 * level / params.gap**2) / 2)
    share = sqrt(params.segments * 2.0 * half / horizon) * (n_arms - 1) / 2
    period = max(pairs + 1, int(pairs / share)) if share > 0 else pairs + 1
    now = registers(Now, period=period, limit=sqrt(half * level))
    ring = np.zeros((first.size, 2 * half), np.int8)
    n, recent, older = np.zeros((3, first.size), np.int64)
    return Windows(first, second, ring, n, recent, older, now)


def rucb_select(state: RucbState, params: Params, t: int, rng: Generator) -> tuple[int, int]:
    """Return the pair to monitor, or the pair that RUCB chooses."""
    pair = monitored_pair(state.windows, t)
    if pair >= 0:
        return state.windows.first[pair], state.windows.second[pair]
    return hooks.select(state.policy, rucb.Params(params.alpha, 0, False), t - state.windows.now[0].start, rng)


def thompson_select(state: ThompsonState, params: Params, t: int, rng: Generator) -> tuple[int, int]:
    """Return the pair to monitor, or the pair that D-TS chooses."""
    pair = monitored_pair(state.windows, t)
    if pair >= 0:
        return state.windows.first[pair], state.windows.second[pair]
    return hooks.select(state.policy, double_thompson.Params(params.alpha), t - state.windows.now[0].start, rng)


@kernel
def monitored_pair(windows: Windows, t: int) -> int:
    """Return the index of the pair to monitor in step t, or -1."""
    now = windows.now[0]
    index = (t - now.start - 1) % now.period
    return index if index < windows.n.shape[0] else -1


def rucb_update(
    state: RucbState, params: Params, t: int, first: int, second: int, outcome: int, rng: Generator
) -> None:
    """Pass the duel to RUCB; if a change is detected, start anew."""
    own = rucb.Params(params.alpha, 0, False)
    hooks.update(state.policy, own, t - state.windows.now[0].start, first, second, outcome, rng)
    if changed(state.windows, t, outcome):
        policy, fresh = state.policy, state.fresh
        copy(policy.wins, fresh.wins)
        copy(policy.rate, fresh.rate)
        copy(policy.width, fresh.width)
        copy(policy.doubts, fresh.doubts)
        copy(policy.doubt, fresh.doubt)


def thompson_update(
    state: ThompsonState, params: Params, t: int, first: int, second: int, outcome: int, rng: Generator
) -> None:
    """Pass the duel to D-TS; if a change is detected, start anew."""
    own = double_thompson.Params(params.alpha)
    hooks.update(state.policy, own, t - state.windows.now[0].start, first, second, outcome, rng)
    if changed(state.windows, t, outcome):
        known, fresh = state.policy.known, state.fresh.known
        copy(known.wins, fresh.wins)
        copy(known.doubts, fresh.doubts)
        copy(known.prefer, fresh.prefer)
        copy(known.log_mass, fresh.log_mass)
        copy(known.blocked, fresh.blocked)
        copy(known.release, fresh.release)
        levels, empty = state.policy.levels, state.fresh.levels
        copy(levels.level, empty.level)
        copy(levels.chance, empty.chance)
        copy(levels.odds, empty.odds)
        copy(levels.patience, empty.patience)
        copy(state.policy.tournament.odds, state.fresh.tournament.odds)


@kernel
def copy(array: NDArray[Any], source: NDArray[Any]) -> None:
    """Copy an array; an assignment to a slice of a matrix would allocate memory."""
    for k in range(array.size):
        array.flat[k] = source.flat[k]


@kernel
def changed(windows: Windows, t: int, outcome: int) -> bool:
    """Store a monitoring duel; if it reveals a change, empty all windows and return True."""
    pair, now = monitored_pair(windows, t), windows.now[0]
    if pair < 0:
        return False
    won, length = windows.won[pair], windows.won.shape[1]
    n = windows.n[pair]
    place, middle = n % length, (n + length // 2) % length
    leaving = won[middle] if 2 * n >= length else 0
    windows.older[pair] += leaving - (won[place] if n >= length else 0)
    windows.recent[pair] += (outcome > 0) - leaving
    won[place] = outcome > 0
    windows.n[pair] = n + 1
    if n + 1 < length or abs(windows.recent[pair] - windows.older[pair]) <= now.limit:
        return False
    for k in range(windows.n.shape[0]):
        windows.n[k], windows.recent[k], windows.older[k] = 0, 0, 0
    now.start = t
    return True


def rucb_recommend(state: RucbState, params: Params) -> int:
    """Return the arm that RUCB recommends."""
    return hooks.recommend(state.policy, rucb.Params(params.alpha, 0, False))


def thompson_recommend(state: ThompsonState, params: Params) -> int:
    """Return the arm that D-TS recommends."""
    return hooks.recommend(state.policy, double_thompson.Params(params.alpha))


_FACTS: dict[str, Any] = {
    "needs_horizon": True,
    "limits": {"segments": (1, None), "gap": (0.05, 1.0), "alpha": (0.01, None)},
    "assumes": "a Condorcet winner between two changes, their number",
    "regret": "dynamic: see the paper",
    "cite": "kolpaczki2024piecewise",
    "where": "MDB",
}
register(__name__, name="monitored_rucb", prefix="rucb", cost="O(K)", **_FACTS)
register(__name__, name="monitored_double_thompson", prefix="thompson", cost="as `double_thompson`", **_FACTS)
