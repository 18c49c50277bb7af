"""The function `simulate`, which runs policies several times against a source of outcomes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ltr_duel.bandits import POLICIES, Policy, compile_ahead, require_room
from ltr_duel.core import InputError, IntVector, checked_seed, components, errors, parallel
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.simulation.oracle import INDEPENDENT_COINS, FromMatrix, OracleSource
from ltr_duel.simulation.regret import arm_ranks
from ltr_duel.simulation.results import Results
from ltr_duel.simulation.run_result import RunKey, RunResult, source_of
from ltr_duel.simulation.single_run import open_run, run_once

_LONGEST = 10**15  # so that the pulls of T steps, at most 2 T, fit easily in 64 bits
_DENSEST = 10_000  # checkpoints per decade
_MOST_REPETITIONS = 10**6  # all runs are kept in memory; an experiment (`ltr_duel.experiment`) writes them to disk
_Task = tuple[components.Configured[Policy], RunKey]


def simulate(
    source: PreferenceMatrix | OracleSource,
    policies: str | Policy | Sequence[str | Policy],
    *,
    horizon: int = 1_000_000,
    repetitions: int = 20,
    seed: int = 0,
    jobs: int = -1,
    preferences: PreferenceMatrix | None = None,
    checkpoints_per_decade: int = 20,
    batch: int = 1,
    delay: int = 0,
    compiled: bool = True,
) -> Results:
    """Run each policy for ``horizon`` steps, ``repetitions`` times.

    Parameters
    ----------
    source : PreferenceMatrix or OracleSource
        The matrix or the simulated users (`ltr_duel.SimulatedUsers`) that decide the comparisons. For policies that
        compare sets, pass simulated users or ``FromMatrix(matrix, sets="independent_coins")``.
    policies : str, Policy, or sequence of them
        The policies to run, for example ``["rucb", "mdb:alpha=0.5,beta=1.5"]``.
    horizon : int
        The number of steps of a run, up to 10^15. Long runs are possible, because the program skips steps in which the
        policy cannot change its choice.
    repetitions : int
        The number of runs of each policy, up to 10^6.
    seed : int
        The seed of all random numbers. In one repetition, outcomes come from the same random numbers for all policies.
    jobs : int
        The number of threads; -1 for all cores. The results do not depend on it.
    preferences : PreferenceMatrix, optional
        The matrix that measures regret. It is required unless ``source`` is a matrix or a `FromMatrix`.
    checkpoints_per_decade : int
        How often a run records its counts while the number of steps grows tenfold, for example from 10 to 100.
    batch : int
        The number of comparisons that a policy chooses before it gets the outcome of any of them; by default 1.
    delay : int
        The number of steps between the end of a batch and the arrival of its outcomes; by default 0.
    compiled : bool
        Whether to compile the code. Without compilation, results are equal, but runs take some 500 times as long.

    Returns
    -------
    Results

    Raises
    ------
    InputError
        If a policy or a parameter is unknown, if a number is out of range, if a policy cannot run with the source, if
        the preference matrix has other rankers, or if memory is insufficient. The error is raised before the first run.
    PolicyError
        If a policy cannot be compiled.

    Examples
    --------
    >>> from ltr_duel.preferences import PreferenceMatrix
    >>> results = simulate(PreferenceMatrix([[0.5, 0.9], [0.1, 0.5]]), "rucb", horizon=1000, repetitions=2)
    >>> run = results.runs[0]
    >>> run.checkpoints[-1], run.recommended[-1], run.exposure[-1].sum()
    (np.int64(1000), np.int64(0), np.float64(1000.0))
    """
    oracle, matrix, measured_by = _problem(source, preferences)
    chosen = _configured(policies)
    for policy in chosen:
        check_fits(policy, oracle)
    times = checkpoints(horizon, checkpoints_per_decade)
    horizon, repetitions = (
        int(horizon),
        errors.require_whole("the number of repetitions", repetitions, 1, _MOST_REPETITIONS),
    )
    batch = errors.require_whole("the batch", batch, 1, horizon)
    delay = errors.require_whole("the delay", delay, 0, horizon)
    seed, jobs, late = checked_seed(seed), parallel.checked_jobs(jobs), (batch, delay) != (1, 0)
    tasks: list[_Task] = []
    for policy in chosen:
        component, params = policy.component, policy.params
        in_turn, runs = late and not component.any_order, min(jobs, repetitions * len(chosen))
        require_room(component, params, len(matrix), horizon=horizon, in_turn=in_turn, runs=runs)
        fixed = (horizon, 0, seed, int(checkpoints_per_decade), measured_by, source_of(component, late=late))
        key = RunKey(oracle.provenance, component.name, params._asdict(), *fixed, batch, delay)
        tasks += [(policy, replace(key, repetition=repetition)) for repetition in range(repetitions)]
    ranks = arm_ranks(matrix)
    _compile(tasks[::repetitions], oracle, ranks, jobs, compiled=compiled)

    def run(task: _Task) -> RunResult:
        return run_once(*task, oracle, times, ranks, compiled=compiled)

    results = parallel.run_tasks(
        run, tasks, total=len(tasks), jobs=jobs, label="simulate", unit="run", first_alone=False
    )
    return Results(list(results), matrix)


def _compile(tasks: list[_Task], oracle: OracleSource, ranks: IntVector, jobs: int, *, compiled: bool) -> None:
    # All policies are compiled before the runs, because two threads must not compile the same code.
    if len(tasks) > 1 or not isinstance(oracle, FromMatrix):  # one loop is compiled here, not in another process
        opened = (open_run(*task, oracle, checkpoints(1), ranks, compiled=compiled) for task in tasks)
        compile_ahead((code for run, _, _ in opened for code in run.compilations), jobs)
    for task in tasks:
        run_once(*task, oracle, checkpoints(1), ranks, compiled=compiled)


def _problem(
    source: PreferenceMatrix | OracleSource, preferences: PreferenceMatrix | None
) -> tuple[OracleSource, PreferenceMatrix, str]:
    if not isinstance(source, PreferenceMatrix | OracleSource):
        raise InputError(
            f"the source of outcomes must be a PreferenceMatrix or an oracle, not {errors.shown(source)};"
            " pass PreferenceMatrix(p) for an array p of win probabilities; a custom oracle inherits from OracleSource"
        )
    if isinstance(source, PreferenceMatrix):
        return FromMatrix(source), source, ""
    if preferences is None and isinstance(source, FromMatrix):
        return source, source.matrix, ""
    if not isinstance(preferences, PreferenceMatrix):
        raise InputError("regret is measured by a preference matrix: pass preferences=, a PreferenceMatrix")
    if tuple(source.names) != preferences.names:
        raise InputError(
            "the preference matrix has other rankers than the oracle, or in another order; see --keep-constant"
        )
    return source, preferences, preferences.digest


def _configured(policies: str | Policy | Sequence[str | Policy]) -> list[components.Configured[Policy]]:
    policies = [policies] if isinstance(policies, str | Policy) else policies
    chosen = [POLICIES.configure(policy) for policy in policies]
    if not chosen:
        raise InputError("there is no policy to simulate")
    if len({policy.label for policy in chosen}) < len(chosen):
        raise InputError("a policy is named twice")
    return chosen


def check_fits(configured: components.Configured[Policy], oracle: OracleSource) -> None:
    """Raise `InputError` if a policy cannot run with this source."""
    policy, label = configured.component, configured.label
    if oracle.refuses_sets and policy.feedback == "slate":
        raise InputError(
            f"policy '{label}' compares sets of arms: add --users CORPUS (Python: SimulatedUsers; study: answers ="
            ' "users"). On a matrix, each pair of a set would be an independent coin, which gives more information than'
            f" one list; to accept this, add --sets {INDEPENDENT_COINS.replace('_', '-')} (Python: FromMatrix(matrix,"
            f' sets="{INDEPENDENT_COINS}"); study: answers = "{INDEPENDENT_COINS}")'
        )
    if oracle.leaves_ties and policy.feedback == "slate" and not policy.counts_ties:
        raise InputError(f"policy '{label}' cannot count ties as half a win: use an oracle with ties='coin'")


def checkpoints(horizon: int, per_decade: int = 20) -> IntVector:
    """Return the steps at which a run records its counts. They are evenly spaced on a logarithmic scale.

    Parameters
    ----------
    horizon : int
        The last checkpoint, up to 10^15.
    per_decade : int
        The number of checkpoints while the number of steps grows tenfold, for example from 10 to 100; at most 10,000.

    Returns
    -------
    ndarray of int64, shape (C,)
        The steps, from 1 to the horizon.

    Raises
    ------
    InputError
        If a number is out of range.

    Examples
    --------
    >>> checkpoints(100, per_decade=2)
    array([  1,   3,  10,  32, 100])
    """
    horizon = errors.require_whole("the horizon", horizon, 1, _LONGEST)
    per_decade = errors.require_whole("the number of checkpoints per decade", per_decade, 1, _DENSEST)
    count = math.ceil(math.log10(horizon) * per_decade) + 1
    spaced = np.rint(10 ** np.linspace(0, math.log10(horizon), count)).astype(np.int64)
    return np.unique(np.concatenate([spaced[spaced < horizon], [horizon]]))
