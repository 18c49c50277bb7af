"""The functions of a policy, as the loop calls them: each call goes to the policy whose class of states comes first.

The simulation loop owns time, the coin and the counting. In each step it calls

    select(state, params, t, rng)                                  -> first, second
    update(state, params, t, first, second, outcome, rng)

or, for a policy that compares whole sets of arms at once (`select_slate` and `update_slate` below),

    select(state, params, t, slate, rng)                           -> size
    update(state, params, t, slate, size, won, rng)

and, at checkpoints, ``recommend(state, params) -> arm``. A policy may add ``idle_until``: where nothing can change
for a while the loop then jumps. It may also add `Sweeps`: another way to walk through many steps at once, the same in
law, where the outcomes are coins of a known matrix. The functions need no decorator: numba compiles them when the loop
is compiled, and plain Python runs the same text. Only what other compiled functions call is a `kernel`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ltr_duel.core import FloatMatrix, IntMatrix, IntVector, SignMatrix, dispatched, dispatched_call

NEVER = np.iinfo(np.int64).max


@dispatched
def select(state: Any, params: Any, t: int, rng: np.random.Generator) -> tuple[int, int]:
    """Choose the two arms to compare in step t = 1, 2, ...; they may be the same arm."""
    raise TypeError("this state belongs to no registered policy")


@dispatched
def update(state: Any, params: Any, t: int, first: int, second: int, outcome: int, rng: np.random.Generator) -> None:
    """Update the state after ``first`` won (+1) or lost (-1).

    If both arms are the same, the oracle is not called and the outcome is 0, which carries no information. A policy
    whose paper flips a coin in this case draws it from ``rng``.
    """
    raise TypeError("this state belongs to no registered policy")


@dispatched
def select_slate(state: Any, params: Any, t: int, slate: IntVector, rng: np.random.Generator) -> int:
    """Write the arms to compare in step t into ``slate``, which has space for all arms; return their number."""
    raise TypeError("this state belongs to no registered policy")


@dispatched
def update_slate(
    state: Any, params: Any, t: int, slate: IntVector, size: int, won: SignMatrix, rng: np.random.Generator
) -> None:
    """Update the state: for positions a < b of the slate, ``slate[a]`` won (``won[a, b]`` is +1) or lost (-1).

    With a slate of one arm ``won`` has no content.
    """
    raise TypeError("this state belongs to no registered policy")


@dispatched
def recommend(state: Any, params: Any) -> int:
    """Return the arm that the policy would use if it had to stop now."""
    raise TypeError("this state belongs to no registered policy")


@dispatched
def idle_until(state: Any, params: Any, t: int) -> int:
    """Return, if `select` chose one arm alone in step t, the last step in which it is certain to repeat this choice.

    Up to that step, `select` and `update` must draw no random number and change no state. The default, t itself,
    means that the loop never jumps.
    """
    return t


@dispatched_call
def sweep(state: Any, params: Any, p: FloatMatrix, t: int, until: int, met: IntMatrix, rng: np.random.Generator) -> int:
    """Take the steps t..until at once, where arm i beats arm j with probability ``p[i, j]``, independently.

    Add the number of duels of each pair to ``met[first, second]``; they add up to the number of steps. After each
    call, ``met`` and the recommendation must have the same distribution as after single steps. Return the number of
    decisions.
    """
    raise TypeError("this state belongs to no registered policy")
