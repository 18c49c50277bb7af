"""How much memory the run of a policy takes, told before it is taken.

A policy says in ``init`` alone what it keeps, so that is asked at four small numbers of arms. The sizes of its arrays
are a polynomial in the number of arms of degree at most three, which four values determine.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from ltr_duel.bandits.policy import Policy
from ltr_duel.bandits.state import arrays_in
from ltr_duel.core import require_memory

FEW = 256  # arms whose state is made without a question
_STEP = 32  # arrays are filled up to whole blocks of so many


def require_room(
    policy: Policy, params: Any, n_arms: int, *, horizon: int = 0, in_sweeps: bool = False, runs: int = 1
) -> None:
    """Refuse to let a policy compare more arms than there is memory for.

    n_arms, horizon: what ``init`` will be told.
    in_sweeps: whether the policy takes whole sweeps at once.
    runs: how many runs there will be at once.

    Raises `InputError` saying which policy needs how much, and how much there is.
    """
    if n_arms <= FEW:
        return
    at_once = f" in {runs} runs at once" if runs > 1 else ""
    size = runs * run_bytes(policy, params, n_arms, horizon=horizon, in_sweeps=in_sweeps)
    require_memory(f"policy '{policy.name}' with {n_arms:,} arms{at_once}", size)


def run_bytes(policy: Policy, params: Any, n_arms: int, *, horizon: int = 0, in_sweeps: bool = False) -> int:
    """Return how many bytes the state of a policy has, and the scratch of its loop."""
    walker = policy.sweeps if in_sweeps and policy.sweeps is not None else policy
    told = horizon if policy.needs_horizon else 0
    values = [_bytes(walker.init(_STEP * k, told, params)) for k in (1, 2, 3, 4)]
    scratch = 8 if in_sweeps else 0 if policy.feedback == "duel" else 1
    return _extended(values, n_arms / _STEP - 1) + scratch * n_arms**2


def _bytes(state: Any) -> int:
    return sum(array.nbytes for _, array in arrays_in(state))


def _extended(values: list[int], x: float) -> int:
    """Return the value at x of the polynomial through the values at 0, 1, 2, 3 (Newton's differences)."""
    total, weight, row = 0.0, 1.0, values
    for k in range(len(values)):
        total += weight * row[0]
        weight *= (x - k) / (k + 1)
        row = [b - a for a, b in pairwise(row)]
    return round(total)
