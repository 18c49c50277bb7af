"""The memory that a run of a policy needs, computed before the allocation.

A policy's ``init`` allocates all its arrays. Their total size is a polynomial in the number of arms, of degree at most
three. Therefore the sizes for four small numbers of arms determine the size for any number.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from ltr_duel.bandits.policy import Policy
from ltr_duel.bandits.state import arrays_in
from ltr_duel.core import host

FEW = 256  # up to this number of arms the memory is not checked
_COPIES = 4  # a policy that learns in turn stores the state of `init` and three copies (`in_turn.new_in_turn`)
_STEP = 32  # rows are padded to a multiple of this number of arms


def require_room(
    policy: Policy,
    params: Any,
    n_arms: int,
    *,
    horizon: int = 0,
    in_sweeps: bool = False,
    in_turn: bool = False,
    runs: int = 1,
) -> None:
    """Raise `InputError` unless there is enough memory for ``runs`` concurrent runs of a policy."""
    if n_arms <= FEW:
        return
    at_once = f" in {runs} runs at once" if runs > 1 else ""
    size = runs * run_bytes(policy, params, n_arms, horizon=horizon, in_sweeps=in_sweeps, in_turn=in_turn)
    host.require_memory(f"policy '{policy.name}' with {n_arms:,} arms{at_once}", size)


def run_bytes(
    policy: Policy, params: Any, n_arms: int, *, horizon: int = 0, in_sweeps: bool = False, in_turn: bool = False
) -> int:
    """Return the bytes of a policy's state, of the state's copies, and of the loop's scratch arrays."""
    walker = policy.sweeps if in_sweeps and policy.sweeps is not None else policy
    told = horizon if policy.needs_horizon else 0
    values = [_bytes(walker.init(_STEP * k, told, params)) for k in (1, 2, 3, 4)]
    scratch = 8 if in_sweeps else 0 if policy.feedback == "duel" else 1
    return (_COPIES if in_turn else 1) * _extended(values, n_arms / _STEP - 1) + scratch * n_arms**2


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
