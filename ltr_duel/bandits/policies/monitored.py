"""Monitored Dueling Bandits: RUCB or D-TS starts anew when the preference of a pair has changed.

Time is divided into periods. In each period, all pairs first meet once, to monitor their preferences. In the other
steps, the monitored policy (RUCB or D-TS) chooses the arms. The monitored policy learns from all duels. A window stores
the last w monitoring duels of each pair. A change is detected when the numbers of wins in the two halves of a window
differ by more than b. The monitored policy and all windows then start anew. If the preferences are constant within M
segments of the run,

    C = ln((4 T + 2) sqrt(T) / (sqrt(M) K)),  w = ceil(8 C / gap^2), made even,  b = sqrt(w C / 2)

The share of monitoring steps is gamma = sqrt(M w / T) (K - 1) / 2, and a period has floor(K (K - 1) / (2 gamma)) steps.
If gamma >= 1, the monitored policy has one step in each period.

Kolpaczki, Huellermeier, Bengs. Piecewise-Stationary Dueling Bandits. TMLR 2024. The details follow the authors' program
(github.com/kolpaczki/Piecwise-Stationary-Dueling-Bandits, `MonitoredDuelingBandits` with its heuristic parameters and
exact windows).
"""

from __future__ import annotations

from math import ceil, log, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ltr_duel.bandits import hooks
from ltr_duel.bandits.policies.double_thompson import Params as DtsParams
from ltr_duel.bandits.policies.double_thompson import State as DtsPolicy
from ltr_duel.bandits.policies.double_thompson import init as new_dts
from ltr_duel.bandits.policies.rucb import Params as UcbParams
from ltr_duel.bandits.policies.rucb import State as UcbPolicy
from ltr_duel.bandits.policies.rucb import init as new_ucb
from ltr_duel.bandits.policy import register
from ltr_duel.bandits.state import Registers, in_one_piece, registers
from ltr_duel.core import IntVector, dispatched, implement, kernel


class Params(NamedTuple):
    segments: int = 10  # M, the number of stationary segments
    gap: float = 0.3  # the change of a preference that is to be detected
    alpha: float = 0.51  # exploration of the monitored policy


class Now:
    start: int  # step in which the last change was detected
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
    policy: UcbPolicy
    memory: NDArray[np.uint64]  # the arrays of ``policy``
    fresh: NDArray[np.uint64]  # these arrays before the first duel
    windows: Windows


class ThompsonState(NamedTuple):
    policy: DtsPolicy
    memory: NDArray[np.uint64]
    fresh: NDArray[np.uint64]
    windows: Windows


def rucb_init(n_arms: int, horizon: int, params: Params) -> RucbState:
    policy, memory = in_one_piece(new_ucb(n_arms, horizon, UcbParams(params.alpha)))
    return RucbState(policy, memory, memory.copy(), new_windows(n_arms, horizon, params))


def thompson_init(n_arms: int, horizon: int, params: Params) -> ThompsonState:
    policy, memory = in_one_piece(new_dts(n_arms, horizon, DtsParams(params.alpha)))
    return ThompsonState(policy, memory, memory.copy(), new_windows(n_arms, horizon, params))


def new_windows(n_arms: int, horizon: int, params: Params) -> Windows:
    """Return empty windows. Their length follows from the parameters."""
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


@dispatched
def own_params(policy: Any, params: Params) -> Any:
    raise TypeError("this policy is not monitored")


def _rucb_params(policy: UcbPolicy, params: Params) -> UcbParams:
    return UcbParams(params.alpha, 0, False)


def _thompson_params(policy: DtsPolicy, params: Params) -> DtsParams:
    return DtsParams(params.alpha)


implement(own_params, UcbPolicy, _rucb_params)
implement(own_params, DtsPolicy, _thompson_params)


def select(state: Any, params: Params, t: int, rng: Generator) -> tuple[int, int]:
    pair, windows = monitored_pair(state.windows, t), state.windows
    if pair >= 0:
        return windows.first[pair], windows.second[pair]
    return hooks.select(state.policy, own_params(state.policy, params), t - windows.now[0].start, rng)


@kernel
def monitored_pair(windows: Windows, t: int) -> int:
    """Return the index of the pair to monitor in step t, or -1 if the monitored policy chooses."""
    now = windows.now[0]
    index = (t - now.start - 1) % now.period
    return index if index < windows.n.shape[0] else -1


def update(state: Any, params: Params, t: int, first: int, second: int, outcome: int, rng: Generator) -> None:
    since = t - state.windows.now[0].start
    hooks.update(state.policy, own_params(state.policy, params), since, first, second, outcome, rng)
    if changed(state.windows, t, outcome):
        for k in range(state.memory.shape[0]):
            state.memory[k] = state.fresh[k]


@kernel
def changed(windows: Windows, t: int, outcome: int) -> bool:
    """Store a monitoring duel. If the duel reveals a change, empty all windows and return True."""
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


def recommend(state: Any, params: Params) -> int:
    return hooks.recommend(state.policy, own_params(state.policy, params))


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
