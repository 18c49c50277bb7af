"""A policy against the coins of a matrix, step by step, with every choice written down: for checks, tests and timing.

The loop of `ltr_duel.simulation` counts pulls at checkpoints; this one keeps the path. It runs compiled, or wholly as
plain Python (helpers included), so that the two can be compared.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba.core.dispatcher import Dispatcher

from ltr_duel.bandits.policy import Policy, idle_until, loop_for, select, select_slate, update, update_slate
from ltr_duel.core import FloatMatrix, IntMatrix, IntVector, SignMatrix, kernel, stream


class Played(NamedTuple):
    """What a trial leaves behind."""

    path: IntMatrix  # duels: (steps, 2) first and second arm; slates: (steps, K) how often each arm was in the slate
    state: Any
    decisions: int  # steps in which the policy was asked; the others were jumped over


@kernel
def play_duels(
    state: Any,
    params: Any,
    p: FloatMatrix,
    start: int,
    stop: int,
    jump: bool,
    rng: np.random.Generator,
    coins: np.random.Generator,
    path: IntMatrix,
) -> int:
    """Play the steps start..stop; write as many of them as ``path`` has room for."""
    decisions, t = 0, start
    while t <= stop:
        decisions += 1
        first, second = select(state, params, t, rng)
        last, outcome = t, 0
        if first != second:
            outcome = 1 if coins.random() < p[first, second] else -1
        elif jump:
            last = min(idle_until(state, params, t), stop)
        update(state, params, t, first, second, outcome, rng)
        for row in range(t - start, min(last + 1 - start, path.shape[0])):
            path[row, 0] = first
            path[row, 1] = second
        t = last + 1
    return decisions


@kernel
def play_slates(
    state: Any,
    params: Any,
    p: FloatMatrix,
    start: int,
    stop: int,
    jump: bool,
    rng: np.random.Generator,
    coins: np.random.Generator,
    path: IntMatrix,
    slate: IntVector,
    won: SignMatrix,
) -> int:
    """Play the steps start..stop of a slate policy. ``slate`` (K,) and ``won`` (K, K) are scratch."""
    decisions, t = 0, start
    while t <= stop:
        decisions += 1
        size = select_slate(state, params, t, slate, rng)
        last = t
        if size > 1:
            for a in range(size):
                for b in range(a + 1, size):
                    won[a, b] = 1 if coins.random() < p[slate[a], slate[b]] else -1
        elif jump:
            last = min(idle_until(state, params, t), stop)
        update_slate(state, params, t, slate, size, won, rng)
        for row in range(t - start, min(last + 1 - start, path.shape[0])):
            for a in range(size):
                path[row, slate[a]] += 1
        t = last + 1
    return decisions


def play(
    policy: Policy,
    params: Any,
    p: FloatMatrix,
    steps: int,
    seed: int = 0,
    *,
    horizon: int | None = None,
    jump: bool = True,
    compiled: bool = True,
) -> Played:
    """Run a policy on a preference matrix and keep its path.

    Parameters
    ----------
    policy : Policy
        Registered or not; `bind` it first if it is not.
    params : NamedTuple
        Of the policy's class.
    p : ndarray of float64, shape (K, K)
        ``p[i, j]`` = Pr(arm i beats arm j).
    steps : int
        How many steps to play.
    seed : int
        Of the policy's stream and of the coins' stream.
    horizon : int, optional
        What a policy that needs a horizon is told; ``steps`` if not given.
    jump : bool
        Whether to skip steps in which nothing can change.
    compiled : bool
        False runs the same text, helpers included, as plain Python.
    """
    n_arms = p.shape[0]
    state = policy.init(n_arms, (horizon or steps) if policy.needs_horizon else 0, params)
    rng, coins = stream(seed, "policy"), stream(seed, "coins")
    duels = policy.feedback == "duel"
    path = np.zeros((steps, 2 if duels else n_arms), np.int64)
    loop: Callable[..., int] = play_duels if duels else play_slates
    loop = loop_for(policy, loop) if compiled else plain_loop(policy, loop)
    scratch = () if duels else (np.zeros(n_arms, np.int64), np.zeros((n_arms, n_arms), np.int8))
    decisions = loop(state, params, p, 1, steps, jump, rng, coins, path, *scratch)
    return Played(path, state, decisions)


@functools.cache
def plain_loop(policy: Policy, loop: Callable[..., int]) -> Callable[..., int]:
    """Return the loop with the policy's functions, all of it plain Python, whatever numba's settings are."""
    duels = policy.feedback == "duel"
    own = {
        "select" if duels else "select_slate": plain(policy.select),
        "update" if duels else "update_slate": plain(policy.update),
    }
    if policy.idle_until is not None:
        own["idle_until"] = plain(policy.idle_until)
    return plain(loop, own)


def plain(function: Callable[..., Any], instead: dict[str, Any] | None = None) -> Callable[..., Any]:
    """Return a function in which every compiled helper, at any depth, is replaced by its Python text."""
    text: Any = getattr(function, "py_func", function)
    names = dict(text.__globals__)
    for name in text.__code__.co_names:
        if isinstance(names.get(name), Dispatcher):
            names[name] = plain(names[name])
    names.update(instead or {})
    return types.FunctionType(text.__code__, names, text.__name__, text.__defaults__, text.__closure__)
