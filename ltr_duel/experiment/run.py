"""Run an experiment: the plan, less what the store holds, in whatever order and place; results go in as they come."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ltr_duel.core import InputError, Plugin, load_plugin, unknown_name
from ltr_duel.experiment.backends.backend import Backend, WorkersDiedError, check_backend, run_tasks
from ltr_duel.experiment.backends.dask import SchedulerGoneError
from ltr_duel.experiment.leases import Driver
from ltr_duel.experiment.plan import Plan, PlannedRun, Shard, Task
from ltr_duel.experiment.plan_file import write_plan
from ltr_duel.experiment.problems import build_problems
from ltr_duel.experiment.progress import Progress
from ltr_duel.experiment.run_manifest import failure, manifest
from ltr_duel.experiment.schema import located
from ltr_duel.experiment.spec import read_spec
from ltr_duel.experiment.store import Store, StoreFullError
from ltr_duel.experiment.worker import Outcome
from ltr_duel.preferences import save_preferences
from ltr_duel.simulation import check_fits

ON_EXISTING = ("reuse", "overwrite", "error")
_POLL = 0.5


class Report(NamedTuple):
    """What an experiment came to."""

    planned: int
    done: int  # now
    there: int  # before, or by another driver meanwhile
    failed: tuple[str, ...]  # digests, earlier failures that were not tried again included
    damaged: dict[str, str]  # files that are not trusted
    left: int  # still to do
    interrupted: bool = False


def make_plan(spec: str | Path, *, plugins: Sequence[str | Path] = (), jobs: int = -1) -> Plan:
    """Read a spec and build everything it names.

    Parameters
    ----------
    spec : str or Path
        The TOML file.
    plugins : sequence of path
        Files that define policies.
    jobs : int
        Threads for what has to be estimated first.

    Raises
    ------
    InputError
        For anything that is not legal, or does not exist.
    """
    loaded: tuple[Plugin, ...] = tuple(load_plugin(path) for path in plugins)
    file = read_spec(spec)
    plan = Plan(file, build_problems(file, jobs=jobs), loaded)
    for problem in plan.problems:
        for policy in plan.policies:
            with located(f"{file.path}: problem '{problem.name}'"):
                check_fits(policy, problem.oracle)
    return plan


def run_experiment(
    plan: Plan,
    folder: str | Path,
    *,
    backend: Backend | None = None,
    shard: Shard | None = None,
    on_existing: str = "reuse",
    retry: bool = False,
) -> Report:
    """Do the runs of a plan that are not in the store yet.

    Several of these may work on one store at once: each run is claimed before it is begun.

    Parameters
    ----------
    plan : Plan
    folder : str or Path
        The store.
    backend : Backend, optional
        Default: threads on all cores.
    shard : Shard, optional
        Only this part of the plan.
    on_existing : {"reuse", "overwrite", "error"}
        What to do about runs that are there.
    retry : bool
        Do again what failed before, and replace damaged files.

    Returns
    -------
    Report
        After Ctrl-C too.

    Raises
    ------
    InputError
        If the store cannot be used, is full, or the cluster is gone. What is done stays done.
    """
    backend = backend or Backend()
    check_backend(backend)
    if on_existing not in ON_EXISTING:
        raise unknown_name("way to treat existing runs", on_existing, ON_EXISTING)
    session = Session(plan, Store(folder), backend, shard, on_existing == "overwrite", retry)
    if on_existing == "error" and session.there:
        raise InputError(f"{folder}: {session.there} of the planned runs are there already (--on-existing error)")
    return session.run()


class Session:
    """One go at a plan. See `run_experiment`.

    What is known of a run is a byte (and, where runs are done again, two times): only failures are kept by name.
    """

    def __init__(
        self, plan: Plan, store: Store, backend: Backend, shard: Shard | None, overwrite: bool, retry: bool
    ) -> None:
        self.plan, self.store, self.backend, self.shard = plan, store, backend, shard
        self.planned = self.done = self.there = 0
        self.failed: set[str] = set()
        self.damaged: dict[str, str] = {}
        self._todo = bytearray(len(plan))  # 1 for each run that is to be done, by its place in the plan
        self._seen = np.zeros((len(plan), 2), np.int64)  # when the files of such a run were written, before
        self._underway: dict[str, PlannedRun] = {}
        self._stored: set[int] = set()
        store.prepare()
        self._look(overwrite, retry)

    def _look(self, overwrite: bool, retry: bool) -> None:
        """Find out what there is to do."""
        failed = {path.stem for path in self.store.failed.glob("*.json")}
        for run in self.plan.shard(self.shard):
            self.planned += 1
            wrong = self.store.look(run.digest)
            if wrong == "" and not overwrite:
                self.there += 1
                continue
            if not overwrite and not retry:
                if wrong:
                    self.damaged[run.digest] = wrong
                    continue
                if run.digest in failed:
                    self.failed.add(run.digest)
                    continue
            self._todo[run.number] = 1
            if wrong is not None or run.digest in failed:
                self._seen[run.number] = self._changed_at(run)

    def run(self) -> Report:
        """Do what is to do."""
        interrupted = False
        self._write_plan()
        progress = Progress(self.planned)
        progress.there(self.planned - self.left)
        about = {"jobs": self.backend.jobs, "backend": self.backend.name, "planned": self.planned}
        try:
            with Driver(self.store, about) as driver:
                while self.left:
                    self._pass(driver, progress)
                    if self.left:
                        time.sleep(_POLL)
                        progress.tick()
        except KeyboardInterrupt:
            interrupted = True
        except (SchedulerGoneError, StoreFullError, WorkersDiedError) as error:
            raise _stopped(error, self) from None
        finally:
            progress.close()
        failed = tuple(sorted(self.failed))
        return Report(self.planned, self.done, self.there, failed, self.damaged, self.left, interrupted)

    @property
    def left(self) -> int:
        """Runs that are to be done, still."""
        return self._todo.count(1)

    def _pass(self, driver: Driver, progress: Progress) -> None:
        """Go once through the plan, and do what nobody else is at."""
        tasks = self._claimed(driver, progress)
        first = next(tasks, None)
        if first is None:
            return
        for outcome in run_tasks(self.backend, chain([first], tasks)):
            if outcome is None:
                progress.tick()
                continue
            horizon = self._keep(outcome)
            driver.release(outcome.digest)
            progress.done(horizon)

    def _claimed(self, driver: Driver, progress: Progress) -> Iterator[Task]:
        """Yield tasks, each claimed at the moment it is asked for."""
        for run in self.plan.shard(self.shard):
            if not self._todo[run.number]:
                continue
            if not driver.claim(run.digest):
                continue  # another driver is at it; if that one dies, the next pass takes over
            if self._settled_meanwhile(run):
                driver.release(run.digest)
                progress.there(1)
            else:
                self._store_problem(run.problem)
                self._underway[run.digest] = run
                yield self.plan.task(run)

    def _changed_at(self, run: PlannedRun) -> tuple[int, int]:
        """Return when the run's file and its failure were written; 0 for what is not there."""
        times = [0, 0]
        for k, place in enumerate((("runs", f"{run.digest}.parquet"), ("failed", f"{run.digest}.json"))):
            with suppress(FileNotFoundError):
                times[k] = os.stat(self.store.place(*place)).st_mtime_ns  # noqa: PTH116 -- see `Store.place`
        return times[0], times[1]

    def _settled_meanwhile(self, run: PlannedRun) -> bool:
        """Whether another driver has done this run since the store was looked at: a file is new, or newer."""
        done, failed = (
            now not in (0, before) for now, before in zip(self._changed_at(run), self._seen[run.number], strict=True)
        )
        if done:
            self.there += 1
        elif failed:
            self.failed.add(run.digest)
        if done or failed:
            self._todo[run.number] = 0
        return done or failed

    def _keep(self, outcome: Outcome) -> int:
        """Put an outcome into the store; the manifest first, so that no run is without."""
        store, run = self.store, outcome.digest
        planned = self._underway.pop(run)
        failed = store.place("failed", f"{run}.json")
        if outcome.error:
            store.write(failed, json.dumps(failure(self.plan, planned, outcome), indent=1).encode())
            self.failed.add(run)
        else:
            about = json.dumps(manifest(self.plan, planned, outcome), indent=1)
            store.write(store.place("runs", f"{run}.json"), about.encode())
            store.write(store.place("runs", f"{run}.parquet"), outcome.data)
            with suppress(FileNotFoundError):
                os.unlink(failed)  # noqa: PTH108 -- see `Store.place`
            self.done += 1
        self._todo[planned.number] = 0
        return outcome.decisions

    def _write_plan(self) -> None:
        file = self.plan.file
        about = {
            "name": file.spec.name,
            "spec": file.content,
            "spec_path": str(file.path.resolve()),
            "regrets": list(file.spec.regrets),
            "problems": [
                {
                    "name": p.name,
                    "digest": p.digest,
                    "facts": p.facts,
                    "values": {k: list(v) for k, v in p.values(file.spec.regrets).items()},
                }
                for p in self.plan.problems
            ],
            "plugins": [plugin._asdict() for plugin in self.plan.plugins],
        }
        with self.store.writing(self.store.place("plans", f"{self.plan.digest}.parquet")) as target:
            write_plan(target, about, self.plan)

    def _store_problem(self, number: int) -> None:
        """Keep the matrix beside the results, so that they can be read where the sources are not."""
        problem = self.plan.problems[number]
        path = self.store.problems / f"{problem.digest}.parquet"
        if number not in self._stored and not path.exists():
            save_preferences(problem.matrix, path)
        self._stored.add(number)


def _stopped(error: InputError, session: Session) -> InputError:
    there = session.there + session.done
    return InputError(
        f"{error}; {there:,} of {session.planned:,} runs are in {session.store.folder}, and are kept:"
        " the same command goes on from there"
    )
