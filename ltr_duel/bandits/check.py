"""The contract that every policy keeps, as one call: `check_policy`.

It is run on every policy of this package, and is meant for yours. It plays short trials on small matrices; a policy
that passes behaves, which is not to say that it is good.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from ltr_duel.bandits.parameters import Configured, configure
from ltr_duel.bandits.policy import Policy
from ltr_duel.bandits.state import arrays_in
from ltr_duel.bandits.trial import Played, play
from ltr_duel.core import FloatMatrix, FloatVector, interpreted

EASY_STEPS = 4000  # enough for every policy here to find the winner of an easy matrix
LAW_RUNS = 300  # runs on each side of the relabelling test
LAW_STEPS = 40


class PolicyError(AssertionError):
    """A policy breaks the contract. The message names the policy and what it did."""


def check_policy(policy: Policy | str) -> None:
    """Check that a policy keeps the contract.

    Parameters
    ----------
    policy : Policy or str
        A policy, registered or not, or text such as ``"rucb:alpha=0.51"``.

    Raises
    ------
    PolicyError
        With the first thing that failed.
    """
    given = configure(policy)
    check_shape(given)
    check_range(given)
    check_repeatable(given)
    check_steps(given)
    check_small(given)
    check_winner(given)
    check_hard_matrices(given)
    check_relabelling(given)


def check_shape(given: Configured) -> None:
    """The state is a NamedTuple of arrays, made by ``init``, and every parameter has a default within its limits."""
    label, policy, params = given
    _demand(bool(policy.assumes and policy.reference), label, "says neither what it assumes nor where it comes from")
    for n_arms in (1, 2, 5):
        state = policy.init(n_arms, 100 if policy.needs_horizon else 0, params)
        _demand(isinstance(state, policy.state), label, f"init returns {type(state).__name__}, not its State")
        for name, value in arrays_in(state):
            _demand(isinstance(value, np.ndarray), label, f"state.{name} is {type(value).__name__}, not an array")
            _demand(value.dtype != object, label, f"state.{name} holds Python objects")
            if value.dtype.kind == "f":
                _demand(not np.isnan(value).any(), label, f"state.{name} starts with NaN")


def check_range(given: Configured) -> None:
    """Arms are in range. As plain Python, where a wrong index is an error and not a wrong read."""
    label, policy, params = given
    try:
        played = play(policy, params, easy_matrix(5), 60, compiled=False)
    except IndexError as error:
        raise PolicyError(f"policy '{label}' uses an arm or an index that does not exist: {error}") from error
    _check_range(label, policy, played, 5)


def check_steps(given: Configured) -> None:
    """The horizon is kept to the step, and jumping changes nothing."""
    label, policy, params = given
    p = easy_matrix(5)
    for steps in (1, 7, 600):
        slow, fast = (play(policy, params, p, steps, jump=jump) for jump in (False, True))
        _demand(slow.decisions == steps, label, f"was asked {slow.decisions} times in {steps} steps")
        _check_range(label, policy, slow, 5)
        where = _first_difference(slow, fast)
        _demand(where is None, label, f"jumps too far: without jumping it chooses otherwise in step {where}")
        _demand(_same_state(slow.state, fast.state), label, "ends in another state when the loop jumps")


def check_repeatable(given: Configured) -> None:
    """The same seed gives the same pulls, compiled or not, and global randomness is left alone."""
    label, policy, params = given
    p, steps = easy_matrix(4), 150
    before = (random.getstate(), np.random.get_state()[1].tobytes())  # type: ignore[index]  # noqa: NPY002 -- is to be left alone
    first, again = (play(policy, params, p, steps, seed=5) for _ in range(2))
    _demand(_first_difference(first, again) is None, label, "takes another path when run again with the same seed")
    plain = play(policy, params, p, steps, seed=5, compiled=False)
    where = _first_difference(first, plain)
    _demand(where is None, label, f"chooses otherwise as plain Python than compiled, in step {where}")
    _demand(_same_state(first.state, plain.state), label, "ends in another state as plain Python than compiled")
    after = (random.getstate(), np.random.get_state()[1].tobytes())  # type: ignore[index]  # noqa: NPY002 -- is to be left alone
    _demand(before == after, label, "draws from global randomness; draw from the rng it is given")
    other = play(policy, params, p, steps, seed=6)
    _demand(_first_difference(first, other) is not None, label, "takes the same path whatever the seed")


def check_small(given: Configured) -> None:
    """One arm, and two, are legal problems."""
    label, policy, params = given
    alone = play(policy, params, np.full((1, 1), 0.5), 50)
    _check_range(label, policy, alone, 1)
    pair = play(policy, params, easy_matrix(2), 200)
    _check_range(label, policy, pair, 2)


def check_winner(given: Configured) -> None:
    """On an easy matrix the recommendation is the winner, in most of nine runs, wherever the winner stands."""
    label, policy, params = given
    found = 0
    for seed in range(9):
        order = np.roll(np.arange(4), seed)
        played = play(policy, params, easy_matrix(4)[np.ix_(order, order)], EASY_STEPS, seed)
        arm = interpreted(policy.recommend)(played.state, params)
        _demand(0 <= arm < 4, label, f"recommends arm {arm} of 4")
        found += order[arm] == 0
    _demand(found >= 7, label, f"finds the winner of an easy matrix in {found} of 9 runs")


def check_hard_matrices(given: Configured) -> None:
    """Without a Condorcet winner, with ties everywhere or with certain outcomes it still chooses arms to the end."""
    label, policy, params = given
    cycle = np.array([[0.5, 0.7, 0.3], [0.3, 0.5, 0.7], [0.7, 0.3, 0.5]])
    certain = np.where(np.arange(4)[:, None] < np.arange(4), 1.0, 0.0) + 0.5 * np.eye(4)
    for p in (cycle, np.full((6, 6), 0.5), certain):
        played = play(policy, params, p, 2000)
        _check_range(label, policy, played, p.shape[0])


def check_relabelling(given: Configured) -> None:
    """Naming the arms otherwise permutes the law of the pulls: no arm is preferred for its number."""
    label, policy, params = given
    p, order = easy_matrix(3), np.array([2, 0, 1])
    here = np.array([_pulls(policy, params, p, seed) for seed in range(LAW_RUNS)])
    there = np.array([_pulls(policy, params, p[np.ix_(order, order)], LAW_RUNS + seed) for seed in range(LAW_RUNS)])
    there = there[:, np.argsort(order)]
    error = np.sqrt((here.var(axis=0) + there.var(axis=0)) / LAW_RUNS) + 0.02  # the 0.02: a law that hardly varies
    z = np.abs(here.mean(axis=0) - there.mean(axis=0)) / error
    _demand(bool(z.max() < 5), label, f"prefers arms by their number (arm {z.argmax()}: {z.max():.1f} standard errors)")


def easy_matrix(n_arms: int) -> FloatMatrix:
    """Make a matrix that every policy's assumptions hold on: arm i beats arm j > i, more surely the farther apart.

    Utilities fall evenly from 1 to 0 and the link is linear, ``p = (1 + u - v) / 2``.
    """
    utility = np.linspace(1.0, 0.0, n_arms)
    return 0.5 * (1.0 + utility[:, None] - utility)


def _pulls(policy: Policy, params: Any, p: FloatMatrix, seed: int) -> FloatVector:
    """Count how often each arm was chosen in a short run."""
    path = play(policy, params, p, LAW_STEPS, seed, horizon=10 * LAW_STEPS).path
    if policy.feedback == "slate":
        return np.asarray(path.sum(axis=0), float)
    return np.bincount(path.ravel(), minlength=p.shape[0]).astype(float)


def _check_range(label: str, policy: Policy, played: Played, n_arms: int) -> None:
    if policy.feedback == "duel":
        low, high = played.path.min(), played.path.max()
        _demand(low >= 0 and high < n_arms, label, f"chooses arm {low if low < 0 else high} of {n_arms}")
        return
    sizes = played.path.sum(axis=1)
    _demand(sizes.min() >= 1, label, "chooses a slate without arms")
    _demand(sizes.max() <= n_arms, label, f"chooses a slate of {sizes.max()} among {n_arms} arms")


def _first_difference(one: Played, other: Played) -> int | None:
    """Return the first step t in which two paths differ."""
    rows = np.flatnonzero((one.path != other.path).any(axis=1))
    return int(rows[0]) + 1 if rows.size else None


def _same_state(one: Any, other: Any) -> bool:
    return all(np.array_equal(a, b) for (_, a), (_, b) in zip(arrays_in(one), arrays_in(other), strict=True))


def _demand(holds: bool, label: str, complaint: str) -> None:
    if not holds:
        raise PolicyError(f"policy '{label}' {complaint}")
