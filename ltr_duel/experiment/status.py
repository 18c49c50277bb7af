"""The progress of a store: runs done, running, failed and to do; time left. Kernels are not imported, to save time."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, NamedTuple

from ltr_duel.core import InputError, parallel
from ltr_duel.experiment.index import Index
from ltr_duel.experiment.leases import claimed, live_drivers
from ltr_duel.experiment.plan_file import read_plans
from ltr_duel.experiment.store import Store

_SAMPLE = 200  # number of runs from which the mean time of a run is computed
_LONGEST = 1e10  # seconds; no run takes longer


class Status(NamedTuple):
    """The progress of a store, in numbers of runs."""

    names: list[str]  # names of the experiments
    planned: int
    done: int
    running: int
    failures: list[dict[str, Any]]
    damaged: dict[str, str]  # file name -> message about its damaged bytes
    foreign: list[str]  # names of files that do not belong to a store
    unplanned: int  # number of runs that no plan of the store contains
    drivers: list[dict[str, Any]]
    seconds_left: float | None  # None if no run has finished yet

    @property
    def left(self) -> int:
        """Number of runs that are still to do, including running ones."""
        return self.planned - self.done - len(self.failures)


def read_status(folder: str | Path) -> Status:
    """Return the progress of the experiments of a store.

    Raises `InputError` if the folder contains no results.
    """
    store = Store(folder)
    store.require()
    plans, index = read_plans(store), store.scan()
    planned: set[str] = set()
    for plan in plans:
        planned.update(plan.runs["digest"].to_pylist())
    done = index.done.keys() & planned
    failures = [one for digest, one in store.failures().items() if digest in planned - done]
    drivers = live_drivers(store)
    left = len(planned) - len(done) - len(failures)
    return Status(
        [str(plan.about["name"] or Path(plan.about["spec_path"]).name) for plan in plans],
        len(planned),
        len(done),
        len(claimed(store) & planned - done),
        failures,
        index.broken,
        index.foreign,
        len(index.done.keys() - planned),
        drivers,
        _seconds_left(index, sorted(done), left, drivers),
    )


def _seconds_left(index: Index, done: list[str], left: int, drivers: list[dict[str, Any]]) -> float | None:
    """Return runs left x mean time of a run / workers: the workers of live drivers, or all cores if there is none."""
    if left == 0:
        return 0.0
    every = max(1, len(done) // _SAMPLE)
    seconds: list[float] = []
    for _, rows in index.batches(done[::every][:_SAMPLE]):
        if not isinstance(rows, InputError):
            seconds += (one for one in rows["seconds"].to_pylist() if 0 <= one < _LONGEST)
    if not seconds:
        return None
    workers = sum(parallel.checked_jobs(int(driver["jobs"])) for driver in drivers) or parallel.checked_jobs(-1)
    return sum(seconds) / len(seconds) * left / workers


def age(driver: dict[str, Any]) -> float:
    """Return the number of seconds for which a driver has been running."""
    return time.time() - float(driver["began"])
