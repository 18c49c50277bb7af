"""Check that a policy keeps the rules for policies, for example that it only chooses arms that exist.

`check_policy` simulates short runs on small matrices. Call it for your own policy. A policy that passes all checks
keeps the rules, but its regret may still be high.
"""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ltr_duel.bandits.compiling import own_frames
from ltr_duel.bandits.loop import Run
from ltr_duel.bandits.oracle import MatrixOracle
from ltr_duel.bandits.policy import POLICIES, Policy, PolicyError
from ltr_duel.bandits.recorder import new_recorder
from ltr_duel.bandits.state import arrays_in
from ltr_duel.core import FloatMatrix, FloatVector, Streams, components, interpreted, stream

EASY_STEPS = 4000  # enough for every policy of this package to find the winner of an easy matrix
LAW_RUNS, LAW_STEPS = 300, 40  # for each of the two numberings of the arms in `_relabelling`
_CYCLE = np.array([[0.5, 0.7, 0.3], [0.3, 0.5, 0.7], [0.7, 0.3, 0.5]])
_CERTAIN = np.triu(np.ones((4, 4)), 1) + 0.5 * np.eye(4)


def check_policy(policy: Policy | str) -> None:
    """Raise `PolicyError` if a policy breaks one of the rules in the module `ltr_duel.bandits.hooks`.

    Parameters
    ----------
    policy : Policy or str
        A policy, or the name of a registered policy. The name may have parameters, as in ``"rucb:alpha=0.51"``.

    Raises
    ------
    PolicyError
        If a check fails. The message describes the first failure in one sentence.
    InputError
        If the policy does not exist, or a parameter is invalid.

    Examples
    --------
    >>> check_policy("random")
    >>> from dataclasses import replace
    >>> from ltr_duel.bandits import POLICIES
    >>> check_policy(replace(POLICIES["random"], assumes=""))
    Traceback (most recent call last):
    ltr_duel.bandits.policy.PolicyError: policy 'random' needs assumes= and a source, cite= or where=, in register(...)
    """
    _check(policy, _shape, _indexes, _repeatable, _jumps, _hard_matrices, _counts, _winner, _relabelling)


def check_compiled(policy: Policy | str) -> None:
    """Check that a policy's arms exist, and that its compiled functions do the same as their Python source.

    Compiling the policy takes one to two seconds. Raises `PolicyError` for the first fault.
    """
    _check(policy, _indexes, _repeatable)


Given = components.Configured[Policy]


def _check(policy: Policy | str, *checks: Callable[[Given], None]) -> None:
    given = POLICIES.configure(policy)
    for check in checks:
        try:
            check(given)
        except PolicyError:
            raise
        except Exception as error:
            last = (own_frames(given.component, error) or traceback.extract_tb(error.__traceback__))[-1]
            where = f"{last.filename}:{last.lineno}: {last.name}"
            fails = f"fails{''.join(getattr(error, '__notes__', []))}: {type(error).__name__}: {error}"
            raise PolicyError(f"{where} of policy '{given.label}' {fails}") from error


def _shape(given: Given) -> None:
    label, policy, params = given
    plain = not issubclass(policy.state, tuple)
    stated = policy.assumes and (policy.cite or policy.where)
    _demand(plain or bool(stated), label, "needs assumes= and a source, cite= or where=, in register(...)")
    _demand(not (plain and policy.compiled), label, "has a State that is not a NamedTuple; set compiled=False")
    for n_arms in (1, 2, 5):
        with _named(n_arms):
            state = policy.start(n_arms, 100, params, stream(0, "policy"))
        _demand(isinstance(state, policy.state), label, f"init returns {type(state).__name__}, not its State")
        for name, value in () if plain else arrays_in(state):
            is_array = isinstance(value, np.ndarray) and value.dtype != object
            _demand(is_array, label, f"has a state whose {name} is a {type(value).__name__}, not an array of numbers")
            _demand(value.dtype.kind != "f" or not np.isnan(value).any(), label, f"state.{name} starts with NaN")


def _indexes(given: Given) -> None:
    try:  # in plain Python, because compiled code does not check indexes
        path = play(given, easy_matrix(5), 60, plain=True).path
    except IndexError as error:
        raise PolicyError(f"policy '{given.label}' uses an arm or an index that does not exist: {error}") from error
    exist = given.component.feedback == "slate" or (path.min() >= 0 and path.max() < 5)  # the loop checks sets
    _demand(bool(exist), given.label, "chooses an arm that does not exist")


def _repeatable(given: Given) -> None:
    label, policy, _ = given
    p, steps, before = easy_matrix(4), 150, _global_states()
    first, again, plain = (play(given, p, steps, seed=5, plain=plain) for plain in (False, False, True))
    _demand(_first_difference(first, again) is None, label, "makes other choices when run again with the same seed")
    where = _first_difference(first, plain)
    _demand(where is None, label, f"chooses differently as plain Python and as compiled code, in step {where}")
    _demand(
        _same_state(first.state, plain.state),
        label,
        "ends in different states as plain Python and compiled (does it write to a name unpacked from the state?)",
    )
    _demand(before == _global_states(), label, "draws from global randomness; draw from the argument rng")
    if not policy.deterministic:
        other = play(given, p, steps, seed=6)
        complaint = "makes the same choices whatever the seed; if this is intended, register it with deterministic=True"
        _demand(_first_difference(first, other) is not None, label, complaint)


def _global_states() -> tuple[Any, bytes]:
    return random.getstate(), np.random.get_state()[1].tobytes()  # type: ignore[index]  # noqa: NPY002 -- only read


def _jumps(given: Given) -> None:
    for steps in (1, 7, 600):
        slow, fast = (play(given, easy_matrix(5), steps, jump=jump) for jump in (False, True))
        where = _first_difference(slow, fast)
        _demand(where is None, given.label, f"jumps too far: without jumps its choice in step {where} is different")
        _demand(_same_state(slow.state, fast.state), given.label, "ends in a different state when the loop jumps")


def _hard_matrices(given: Given) -> None:
    for p in (easy_matrix(1), easy_matrix(2), _CYCLE, np.full((6, 6), 0.5), _CERTAIN):
        play(given, p, 2000)


def _counts(given: Given) -> None:
    label, policy, params = given
    p, steps = easy_matrix(4), 100
    counts, coins = new_recorder(4, np.arange(1, steps + 1)), stream(7, "coins")
    streams = Streams(stream(7, "policy"), coins, coins, coins, coins)
    Run(policy, params, 4, MatrixOracle(p), streams, counts, horizon=steps).advance(steps)
    chosen = _pulls(policy, play(given, p, steps, seed=7))
    _demand(np.array_equal(counts.pulls[-1], chosen), label, "makes other choices when `recommend` is called")


def _winner(given: Given) -> None:
    label, policy, params = given
    successes = 0
    for seed in range(9):
        order = np.roll(np.arange(4), seed)
        played = play(given, easy_matrix(4)[np.ix_(order, order)], EASY_STEPS, seed)
        arm = int(interpreted(policy.recommend)(played.state, params))
        _demand(0 <= arm < 4, label, f"recommends arm {arm} of 4")
        successes += order[arm] == 0
    _demand(successes >= 7, label, f"finds the winner of an easy matrix in {successes} of 9 runs")


def _relabelling(given: Given) -> None:
    label, policy, _ = given
    if policy.deterministic:
        return  # a deterministic policy can break ties only by the arms' numbers
    p, order = easy_matrix(3), np.array([2, 0, 1])

    def short_runs(p: FloatMatrix, first_seed: int) -> FloatMatrix:
        seeds = range(first_seed, first_seed + LAW_RUNS)
        runs = (play(given, p, LAW_STEPS, seed, horizon=10 * LAW_STEPS) for seed in seeds)
        return np.array([_pulls(policy, run) for run in runs])

    here, there = short_runs(p, 0), short_runs(p[np.ix_(order, order)], LAW_RUNS)[:, np.argsort(order)]
    error = np.sqrt((here.var(axis=0) + there.var(axis=0)) / LAW_RUNS) + 0.02  # + 0.02 for pulls that hardly vary
    z = np.abs(here.mean(axis=0) - there.mean(axis=0)) / error
    _demand(bool(z.max() < 5), label, f"prefers arms by their number (arm {z.argmax()}: {z.max():.1f} standard errors)")


def easy_matrix(n_arms: int) -> FloatMatrix:
    """Return a matrix that meets every policy's assumptions. Arm 0 is the best arm, and the last arm is the worst."""
    utility = np.linspace(1.0, 0.0, n_arms)
    return 0.5 * (1.0 + utility[:, None] - utility)


def play(
    given: Given, p: FloatMatrix, steps: int, seed: int = 0, *, horizon: int = 0, jump: bool = True, plain: bool = False
) -> Run:
    """Run a policy for ``steps`` steps, with outcomes from a matrix, and store all choices."""
    _, policy, params = given
    with _named(len(p)):
        run = Run.on_matrix(policy, p, params, seed=seed, horizon=horizon or steps, keep=steps, plain=plain)
        run.advance(steps, jump=jump)
    return run


@contextmanager
def _named(n_arms: int) -> Iterator[None]:
    """Add the number of arms to errors, because many policies fail with one arm only."""
    try:
        yield
    except Exception as error:
        error.add_note(f" with n_arms={n_arms}")
        raise


def _pulls(policy: Policy, run: Run) -> FloatVector:
    if policy.feedback == "slate":
        return np.asarray(run.path.sum(axis=0), float)
    return np.bincount(run.path.ravel(), minlength=run.n_arms).astype(float)


def _first_difference(run: Run, other: Run) -> int | None:
    """Return the first step in which two runs chose different arms, or None if there is no such step."""
    rows = np.flatnonzero((run.path != other.path).any(axis=1))
    return int(rows[0]) + 1 if rows.size else None


def _same_state(state: Any, other: Any) -> bool:
    if not isinstance(state, tuple):
        return True  # states that are objects are not compared, only the choices
    return all(np.array_equal(a, b) for (_, a), (_, b) in zip(arrays_in(state), arrays_in(other), strict=True))


def _demand(holds: bool, label: str, complaint: str) -> None:
    if not holds:
        raise PolicyError(f"policy '{label}' {complaint}")
