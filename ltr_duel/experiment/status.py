"""Report the progress of the experiments in a folder. No compiled code is imported, so ``ltr-duel status`` is quick."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet

from ltr_duel.core import parallel
from ltr_duel.experiment.claims import live_claims
from ltr_duel.experiment.runs import Index
from ltr_duel.experiment.store import Store


class Status(NamedTuple):
    """How many runs of the experiments are done, running, failed and left."""

    names: list[str]  # names of the experiments
    planned: int  # all runs of the experiments
    done: int
    running: int  # runs that live processes have claimed
    failures: list[dict[str, Any]]  # for each failed run: policy, problem, horizon, repetition, error, traceback
    damaged: list[str]  # paths of damaged files; their runs count as missing
    lost: list[str]  # paths of matrices that are damaged or missing
    processes: list[dict[str, Any]]  # one claim of each live process: process, began, jobs, backend
    left: int  # runs that are still to do, including running ones
    seconds_left: float | None  # None if no run has finished yet


def read_status(folder: str | Path) -> Status:
    """Return the progress of the experiments in a folder. Raise `InputError` if the folder contains no results."""
    store = Store(folder)
    store.require()
    studies, index, claims = store.read_studies(), Index(store), live_claims(store)
    scheduled: dict[str, range] = {}  # repetitions of each group; studies may share groups
    for study in sorted(studies, key=lambda study: int(study.record["repetitions"])):
        scheduled |= {group.digest: range(study.record["repetitions"]) for group in study.groups}
    done = sum(repetition in runs for group, runs in scheduled.items() for repetition in index.done.get(group, ()))
    columns = ("repetition", "problem", "policy", "horizon", "error", "traceback")
    failures = [
        row
        for group, rows in index.read(index.failed, columns)
        for row in rows.to_pylist()
        if row["repetition"] not in index.done.get(group, ())
    ]
    planned = sum(map(len, scheduled.values()))
    left = planned - done - len(failures)
    processes = list({json.dumps(claim["process"]): claim for claim in claims}.values())
    workers = sum(parallel.checked_jobs(claim["jobs"]) for claim in processes) or parallel.checked_jobs(-1)
    names, running = [str(study.record["name"]) for study in studies], sum(claim["runs"] for claim in claims)
    seconds = sum(index.seconds) / len(index.seconds) * left / workers if index.seconds else None
    digests = dict.fromkeys(str(problem["digest"]) for study in studies for problem in study.record["problems"])
    lost = [str(path) for name in digests if not _readable(path := store.problems / f"{name}.parquet")]
    return Status(names, planned, done, min(left, running), failures, index.damaged, lost, processes, left, seconds)


def _readable(path: Path) -> bool:
    try:
        return bool(pyarrow.parquet.read_table(path.absolute()))
    except (OSError, pyarrow.ArrowException):
        return False
