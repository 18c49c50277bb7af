"""Estimate how long an experiment takes, from a short trial of each policy on each problem."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tqdm import tqdm

from ltr_duel.bandits import POLICIES
from ltr_duel.core import parallel, several
from ltr_duel.experiment.executors import Backend
from ltr_duel.experiment.problems import TO_ESTIMATE
from ltr_duel.experiment.progress import duration
from ltr_duel.experiment.runs import Index
from ltr_duel.experiment.schedule import Schedule, Shard
from ltr_duel.experiment.store import Group, Store
from ltr_duel.simulation import RunKey, arm_ranks, checkpoints, run_once

_LONG_ENOUGH = 0.1  # shortest trial that gives a usable measurement, in seconds
_FIRST = 2_000  # steps of the first trial


def print_estimate(schedule: Schedule, shard: Shard | None, folder: Path | None, backend: Backend) -> Iterator[str]:
    """Yield lines on how many runs a schedule has, how many are done, and how long the other runs take."""
    done = Index(Store(folder)).done if folder is not None else {}
    spec, runs, steps, seconds, ready = schedule.file.spec, 0, 0, 0.0, 0
    costs: dict[tuple[str, int], float] = {}  # seconds per step of each policy on each problem
    for group, repetitions in schedule.shard(shard):
        there = sum(repetition in repetitions for repetition in done.get(group.digest, ()))
        runs, ready, left = runs + len(repetitions), ready + there, len(repetitions) - there
        if not left:
            continue
        kind = (group.label, group.problem)
        if kind not in costs:
            costs[kind] = _try(schedule, group)
        steps += left * group.horizon
        seconds += left * costs[kind] * group.horizon
    yield f"{several(len(schedule.problems), 'problem')}: {_listed([problem.name for problem in schedule.problems])}"
    yield f"{several(len(spec.labels), 'policy')}: {_listed(list(spec.labels))}"
    horizons = f"horizon{'s' * (len(spec.horizon) > 1)} {', '.join(f'{horizon:,}' for horizon in spec.horizon)}"
    yield f"{horizons}; {several(spec.repetitions, 'repetition')}; seed {spec.seed}"
    yield f"{several(runs, 'run')}{f', {ready:,} of them done' * bool(ready)}; {tqdm.format_sizeof(steps)} duels to do"
    missing: dict[str, int] = {}
    for problem in schedule.problems:
        missing |= problem.matrix.provenance.get(TO_ESTIMATE, {})
    if missing:
        yield f"to estimate first: {len(missing):,} preference matrices, {sum(missing.values()):,} comparisons in all"
    jobs = parallel.checked_jobs(backend.jobs)
    wait = f"about {duration(seconds / jobs)}" if seconds / jobs >= 1 else "less than a second"
    yield f"{wait} on {several(jobs, 'core')} (from short trials; long horizons may need less time per step)"


def _try(schedule: Schedule, group: Group) -> float:
    """Return the seconds per step. The trial is repeated with more steps until it is long enough."""
    problem, policy = schedule.problems[group.problem], POLICIES.configure(group.label)
    key, ranks = RunKey(**schedule.study.key(group), repetition=0), arm_ranks(problem.matrix)
    horizon = min(_FIRST, group.horizon)
    run_once(policy, key, problem.oracle, checkpoints(1), ranks)
    while True:
        times = checkpoints(horizon, schedule.file.spec.checkpoints_per_decade)
        began = time.perf_counter()
        run_once(policy, replace(key, horizon=horizon), problem.oracle, times, ranks)
        seconds = time.perf_counter() - began
        if seconds > _LONG_ENOUGH or horizon == group.horizon:
            return seconds / horizon
        horizon = min(group.horizon, horizon * 8)


def _listed(names: list[str], most: int = 6) -> str:
    rest = f", and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest
