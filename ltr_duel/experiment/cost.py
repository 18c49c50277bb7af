"""Estimate the cost of an experiment from a short trial of each policy on each problem."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from tqdm import tqdm

from ltr_duel.bandits import POLICIES
from ltr_duel.core import parallel, several
from ltr_duel.experiment.backends.backend import Backend
from ltr_duel.experiment.counts import encode_run
from ltr_duel.experiment.plan import Plan, PlannedRun, Shard
from ltr_duel.experiment.problems import TO_ESTIMATE
from ltr_duel.experiment.progress import duration
from ltr_duel.experiment.store import Store
from ltr_duel.simulation import checkpoints, places, run_once

_LONG_ENOUGH = 0.1  # smallest duration of a trial, in seconds
_FIRST = 2_000  # steps of the first trial
_BESIDE = 200  # bytes of a run in addition to its counts


class Cost(NamedTuple):
    """The time of one step in seconds, and the size of one stored checkpoint in bytes."""

    seconds: float
    bytes: float


def print_estimate(plan: Plan, shard: Shard | None, folder: Path | None, backend: Backend) -> Iterator[str]:
    """Yield the lines that describe a plan: the runs and their estimated cost."""
    existing = Store(folder).scan().done if folder is not None and Store(folder).exists() else set()
    spec, runs, steps, seconds, disk, done = plan.file.spec, 0, 0, 0.0, 0.0, 0
    costs: dict[tuple[str, int], Cost] = {}
    for group in plan.groups():
        mine = (shard or Shard()).runs_before
        planned = mine(group.start + spec.repetitions) - mine(group.start)
        here = [plan.run(group, repetition) for repetition in range(spec.repetitions)] if existing else []
        ready = sum(run.digest in existing for run in here if mine(run.number + 1) > mine(run.number))
        runs, done, left = runs + planned, done + ready, planned - ready
        if not left:
            continue
        key = (group.policy.label, group.problem)
        if key not in costs:
            costs[key] = _try(plan, plan.run(group, 0))
        steps += left * group.horizon
        seconds += left * costs[key].seconds * group.horizon
        disk += left * (costs[key].bytes * len(checkpoints(group.horizon, spec.checkpoints_per_decade)) + _BESIDE)
    yield f"{several(len(plan.problems), 'problem')}: {_listed([problem.name for problem in plan.problems])}"
    yield f"{several(len(plan.policies), 'policy')}: {_listed(list(spec.labels))}"
    horizons = ", ".join(f"{horizon:,}" for horizon in spec.horizon)
    plural = "s" * (len(spec.horizon) > 1)
    yield f"horizon{plural} {horizons}; {several(spec.repetitions, 'repetition')}; seed {spec.seed}"
    yield (
        several(runs, "run")
        + (f", {done:,} of them done" if done else "")
        + f"; {tqdm.format_sizeof(steps)} duels to do"
    )
    waiting = {
        digest: cost
        for problem in plan.problems
        for digest, cost in problem.matrix.provenance.get(TO_ESTIMATE, {}).items()
    }
    if waiting:
        yield f"to estimate first: {len(waiting):,} preference matrices, {sum(waiting.values()):,} comparisons in all"
    jobs = parallel.checked_jobs(backend.jobs)
    time = f"about {duration(seconds / jobs)}" if seconds / jobs >= 1 else "less than a second"
    yield (
        f"{time} on {several(jobs, 'core')} (from short trials; long horizons may need less time per step),"
        f" {tqdm.format_sizeof(disk)}B of disk"
    )


def _try(plan: Plan, run: PlannedRun) -> Cost:
    """Measure the cost in a trial that is long enough for a measurement, but not longer than the planned run."""
    problem, policy = plan.problems[run.problem], POLICIES.configure(run.label)
    place, horizon = places(problem.matrix), min(_FIRST, run.horizon)
    run_once(policy, run.key, problem.oracle, checkpoints(1), place)
    while True:
        times = checkpoints(horizon, plan.file.spec.checkpoints_per_decade)
        began = time.perf_counter()
        result = run_once(policy, replace(run.key, horizon=horizon), problem.oracle, times, place)
        seconds = time.perf_counter() - began
        if seconds > _LONG_ENOUGH or horizon == run.horizon:
            return Cost(seconds / horizon, len(pa.compress(encode_run(result).steps.tobytes(), "zstd")) / len(times))
        horizon = min(run.horizon, horizon * 8)


def _listed(names: list[str], most: int = 6) -> str:
    rest = f", and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest
