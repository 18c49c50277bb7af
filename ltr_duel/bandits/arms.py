"""Whether the arms exist that a policy chooses: asked in each step of a policy from outside this package.

A compiled loop would count a wrong arm in memory that is not its own. The policies of this package are tested to choose
arms that exist; for them the compiler removes the question.
"""

from __future__ import annotations

from typing import Any

from ltr_duel.core import IntVector, dispatched, implement, kernel


@dispatched
def wrong_pair(state: Any, due: IntVector, n_arms: int, t: int, first: int, second: int) -> bool:
    """Return whether one of two arms does not exist; then ``due[1:]`` holds the step, the arm and 0."""
    return False


@dispatched
def wrong_slate(state: Any, due: IntVector, n_arms: int, t: int, slate: IntVector, size: int) -> bool:
    """Return whether a set has no arms, too many, or one that does not exist; the last number is 1 for its size."""
    return False


def require_arms(kind: type) -> None:
    """Let the loop test the arms that a policy with this class of states chooses."""
    implement(wrong_pair, kind, _wrong_pair)
    implement(wrong_slate, kind, _wrong_slate)


def complaint(due: IntVector, n_arms: int) -> str:
    """Say what was chosen."""
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
