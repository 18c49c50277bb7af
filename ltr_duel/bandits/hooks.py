"""The functions that a policy defines, and that the simulation loop calls in each step.

`plain_loop` shows the order of the calls. The loop of a simulation, in `ltr_duel.bandits.loop`, is compiled by numba.
Everything that a policy learns is stored in its *state*. The state of each policy has a class of its own, by which the
loop finds the functions of the policy. If a policy compares sets of arms, its functions ``select`` and ``update`` need
the parameters of `select_slate` and `update_slate`. The functions need no decorator, but each helper that they call
needs the decorator `kernel`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.oracle import duel
from ltr_duel.core import IntVector, SignMatrix, Streams, dispatched, implement, kernel

NEVER = np.iinfo(np.int64).max


def plain_loop(state: Any, params: Any, oracle: Any, streams: Streams, steps: int) -> tuple[list[tuple[int, int]], int]:
    """Run a policy that compares pairs. Return its choices, and the arm that it recommends at the end."""
    path = []
    for t in range(1, steps + 1):
        first, second = select(state, params, t, streams.policy)
        outcome = duel(oracle, first, second, streams) if first != second else 0
        update(state, params, t, first, second, outcome, streams.policy)
        path.append((first, second))
    return path, recommend(state, params)


@dispatched
def select(state: Any, params: Any, t: int, rng: Generator) -> tuple[int, int]:
    """Return the two arms to compare in step t. Steps are numbered from 1. Both arms may be the same arm."""
    raise TypeError("this state belongs to no registered policy")


@dispatched
def update(state: Any, params: Any, t: int, first: int, second: int, outcome: int, rng: Generator) -> None:
    """Learn the outcome of step t: +1 if the arm ``first`` won, and -1 if ``second`` won.

    If both arms are the same, nothing was compared, and the outcome is 0. Some papers flip a coin in this case. A
    policy that follows such a paper draws the coin from ``rng``.
    """
    raise TypeError("this state belongs to no registered policy")


@dispatched
def select_slate(state: Any, params: Any, t: int, slate: IntVector, rng: Generator) -> int:
    """Write the arms to compare in step t into ``slate``, and return their number. ``slate`` has space for all arms."""
    raise TypeError("this state belongs to no registered policy")


@dispatched
def update_slate(state: Any, params: Any, t: int, slate: IntVector, size: int, won: SignMatrix, rng: Generator) -> None:
    """Learn the outcome of each pair of positions a < b in the slate.

    ``won[a, b]`` is +1 if ``slate[a]`` won, and -1 if ``slate[b]`` won. A tie is 0 for policies with ``counts_ties``.
    For other policies, a coin breaks ties.
    """
    raise TypeError("this state belongs to no registered policy")


@dispatched
def recommend(state: Any, params: Any) -> int:
    """Return the arm that the policy would choose if it had to stop now."""
    raise TypeError("this state belongs to no registered policy")


@dispatched
def idle_until(state: Any, params: Any, t: int) -> int:
    """Return the last step that the loop may skip after step t, or t if it must not skip a step.

    In all steps from t to the returned step, `select` must choose the same single arm. In these steps, `select` and
    `update` must not draw random numbers or change the state. A policy without this function skips no step.
    """
    return t


def pair_as_slate(kind: type) -> None:
    """Let loops for sets run a policy that compares pairs. A pair becomes a set of two arms, or of one arm."""
    implement(select_slate, kind, _select_pair)
    implement(update_slate, kind, _update_pair)


def _select_pair(state: Any, params: Any, t: int, slate: IntVector, rng: Generator) -> int:
    slate[0], slate[1] = select(state, params, t, rng)
    return 2 - int(slate[0] == slate[1])


def _update_pair(state: Any, params: Any, t: int, slate: IntVector, size: int, won: SignMatrix, rng: Generator) -> None:
    update(state, params, t, slate[0], slate[size - 1], won[0, 1] * (size - 1), rng)


@dispatched
def wrong_pair(state: Any, due: IntVector, n_arms: int, t: int, first: int, second: int) -> bool:
    """Return whether a policy from outside this package chose an arm that does not exist.

    The policies of this package are not checked, because the check can double the time of a step.
    """
    return False


def require_arms(kind: type) -> None:
    """Let the loop check the arms that a policy chooses. ``kind`` is the class of the policy's state."""
    implement(wrong_pair, kind, _wrong_pair)


def _wrong_pair(state: Any, due: IntVector, n_arms: int, t: int, first: int, second: int) -> bool:
    return is_outside(due, n_arms, t, second) | is_outside(due, n_arms, t, first)  # `or` is not inlined well


@kernel
def is_outside(due: IntVector, n_arms: int, t: int, arm: int) -> bool:
    """Return whether an arm does not exist. In this case, write the step and the arm into ``due``."""
    if 0 <= arm < n_arms:
        return False
    due[1], due[2] = t, arm
    return True


@kernel
def is_outside_in(due: IntVector, n_arms: int, t: int, slate: IntVector, size: int) -> bool:
    """Return whether a set has a wrong size, or an arm that does not exist. If so, write the fault into ``due``."""
    if not 1 <= size <= n_arms:
        due[1], due[2], due[3] = t, size, 1
        return True
    for a in range(size):  # noqa: SIM110 -- a kernel has no generators
        if is_outside(due, n_arms, t, slate[a]):
            return True
    return False


def complaint(due: IntVector, n_arms: int) -> str:
    """Return the part of the error message that describes the wrong choice."""
    _, step, value, is_size = due.tolist()
    what = f"a set of {value} among {n_arms} arms" if is_size else f"arm {value} of {n_arms}"
    return f"chooses {what} in step {step:,}"
