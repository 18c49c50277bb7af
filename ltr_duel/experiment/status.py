"""How far a store is: done, running, failed, to do, time left. Imports no kernels, so that it answers at once."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, NamedTuple

from ltr_duel.core import InputError, parallel
from ltr_duel.experiment.about import seconds_of
from ltr_duel.experiment.found import Found
from ltr_duel.experiment.leases import claimed, live_drivers
from ltr_duel.experiment.plan_file import read_plans
from ltr_duel.experiment.store import Store

_SAMPLE = 200  # runs that the mean time of a run is taken from


class Status(NamedTuple):
    """What is known of a store."""

    names: list[str]  # of the experiments
    planned: int
    done: int
    running: int
    failures: list[dict[str, Any]]
    damaged: dict[str, str]  # name of a file -> a sentence: which bytes of it are no runs
    foreign: list[str]  # files that do not belong here
    unplanned: int  # runs that no plan here asks for
    drivers: list[dict[str, Any]]
    seconds_left: float | None  # None if no run has finished yet

    @property
    def left(self) -> int:
        """Runs that are still to do, those running included."""
        return self.planned - self.done - len(self.failures)


def read_status(folder: str | Path) -> Status:
    """Say how far the experiments of a store are.

    Raises `InputError` if the folder holds no results.
    """
    store = Store(folder)
    store.require()
    plans, found = read_plans(store), store.scan()
    planned: set[str] = set()
    for plan in plans:
        planned.update(plan.runs["digest"].to_pylist())
    done = found.done.keys() & planned
    failures = [one for digest, one in store.failures().items() if digest in planned - done]
    drivers = live_drivers(store)
    left = len(planned) - len(done) - len(failures)
    return Status(
        [str(plan.about["name"] or Path(plan.about["spec_path"]).name) for plan in plans],
        len(planned),
        len(done),
        len(claimed(store) & planned - done),
        failures,
        found.broken,
        found.foreign,
        len(found.done.keys() - planned),
        drivers,
        _seconds_left(store, found, sorted(done), left, drivers),
    )


def _seconds_left(
    store: Store, found: Found, done: list[str], left: int, drivers: list[dict[str, Any]]
) -> float | None:
    """Extrapolate from finished runs and the workers of the live drivers (or all cores here, if there is none)."""
    if left == 0:
        return 0.0
    every = max(1, len(done) // _SAMPLE)
    places = sorted(found.done[digest] for digest in done[::every][:_SAMPLE])
    try:
        seconds = seconds_of(store.read(places))
    except InputError:  # joined with others at this moment
        seconds = []
    if not seconds:
        return None
    workers = sum(parallel.checked_jobs(int(driver["jobs"])) for driver in drivers) or parallel.checked_jobs(-1)
    return sum(seconds) / len(seconds) * left / workers


def age(driver: dict[str, Any]) -> float:
    """Return for how many seconds a driver has been running."""
    return time.time() - float(driver["began"])
