"""The check, in each step, that the arms chosen by a policy from outside this package exist.

Without it, a compiled loop would write outside its arrays if an arm does not exist. Tests check the policies of this
package instead; for them the compiler removes the check.
"""

from __future__ import annotations

from typing import Any

from ltr_duel.core import IntVector, dispatched, implement, kernel


@dispatched
def wrong_pair(state: Any, due: IntVector, n_arms: int, t: int, first: int, second: int) -> bool:
    """Return whether one of two arms does not exist; if so, set ``due[1:]`` to the step, the arm and 0."""
    return False


@dispatched
def wrong_slate(state: Any, due: IntVector, n_arms: int, t: int, slate: IntVector, size: int) -> bool:
    """Return whether a set has a wrong size or an arm that does not exist.

    If so, set ``due[1:]`` to the step, the size and 1, or to the step, the arm and 0.
    """
    return False


def require_arms(kind: type) -> None:
    """Let the loop check the arms that a policy with this State class chooses."""
    implement(wrong_pair, kind, _wrong_pair)
    implement(wrong_slate, kind, _wrong_slate)


def complaint(due: IntVector, n_arms: int) -> str:
    """Return the part of the error message that describes the wrong choice."""
    _, step, value, is_size = due.tolist()
    what = f"a set of {value} among {n_arms} arms" if is_size else f"arm {value} of {n_arms}"
    return f"chooses {what} in step {step:,}"


def _wrong_pair(state: Any, due: IntVector, n_arms: int, t: int, first: int, second: int) -> bool:
    return is_outside(due, n_arms, t, second) | is_outside(due, n_arms, t, first)  # `or` is not inlined well


def _wrong_slate(state: Any, due: IntVector, n_arms: int, t: int, slate: IntVector, size: int) -> bool:
    return is_outside_in(due, n_arms, t, slate, size)


@kernel
def is_outside(due: IntVector, n_arms: int, t: int, arm: int) -> bool:
    """Return whether an arm does not exist."""
    if 0 <= arm < n_arms:
        return False
    due[1], due[2] = t, arm
    return True


@kernel
def is_outside_in(due: IntVector, n_arms: int, t: int, slate: IntVector, size: int) -> bool:
    """Return whether a set is too small or too large, or has an arm that does not exist."""
    if not 1 <= size <= n_arms:
        due[1], due[2], due[3] = t, size, 1
        return True
    for a in range(size):  # noqa: SIM110 -- a kernel has no generators
        if is_outside(due, n_arms, t, slate[a]):
            return True
    return False
