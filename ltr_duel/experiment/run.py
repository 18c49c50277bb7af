"""Run an experiment: the plan, less what the store holds, in whatever order and place; results go in as they come."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from ltr_duel.core.errors import InputError, unknown_name
from ltr_duel.experiment.backends import Backend, WorkersDiedError, check_backend, run_tasks
from ltr_duel.experiment.cluster import SchedulerGoneError
from ltr_duel.experiment.drivers import Driver
from ltr_duel.experiment.execute import Outcome
from ltr_duel.experiment.plan import Plan, PlannedRun, Shard, Task
from ltr_duel.experiment.plan_file import encode_plan
from ltr_duel.experiment.plugins import Plugin, load_plugin
from ltr_duel.experiment.progress import Progress
from ltr_duel.experiment.record import failure, manifest
from ltr_duel.experiment.sources import build_problems
from ltr_duel.experiment.spec import read_spec
from ltr_duel.experiment.store import Store, StoreFullError
from ltr_duel.preferences.files import save_preferences

ON_EXISTING = ("reuse", "overwrite", "error")
_POLL = 0.5


class Report(NamedTuple):
    """What an experiment came to."""

    planned: int
    done: int  # now
    there: int  # before, or by another driver meanwhile
    failed: tuple[str, ...]  # digests, earlier failures that were not tried again included
    damaged: dict[str, str]  # files that are not trusted
    interrupted: bool = False

    @property
    def left(self) -> int:
        """Runs still to do."""
        return self.planned - self.done - self.there - len(self.failed) - len(self.damaged)


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
    return Plan(file, build_problems(file, jobs=jobs), loaded)


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
        raise InputError(f"{folder}: {len(session.there)} of the planned runs are there already (--on-existing error)")
    return session.run()


class Session:
    """One go at a plan. See `run_experiment`."""

    def __init__(
        self, plan: Plan, store: Store, backend: Backend, shard: Shard | None, overwrite: bool, retry: bool
    ) -> None:
        self.plan, self.store, self.backend, self.shard = plan, store, backend, shard
        store.prepare()
        planned = {run.digest for run in plan.shard(shard)}
        self.planned, found = len(planned), store.scan()
        self.there = found.done & planned
        self.damaged = {} if retry or overwrite else {d: why for d, why in found.damaged.items() if d in planned}
        failed = {path.stem for path in store.failed.glob("*.json")} & planned - self.there
        self.failed = set() if retry or overwrite else failed - self.damaged.keys()
        self.done = 0
        self._todo = planned - self.failed - self.damaged.keys() - (set() if overwrite else self.there)
        self._seen = self._changed_at(self._todo) if overwrite or retry else {}
        if overwrite:
            self.there = set()
        self._underway: dict[str, PlannedRun] = {}
        self._stored: set[int] = set()

    def run(self) -> Report:
        """Do what is to do."""
        interrupted = False
        self._write_plan()
        progress = Progress(self.planned)
        for _ in range(self.planned - len(self._todo)):
            progress.there()
        about = {"jobs": self.backend.jobs, "backend": self.backend.name, "planned": self.planned}
        try:
            with Driver(self.store, about) as driver:
                while self._todo:
                    self._pass(driver, progress)
                    if self._todo:
                        time.sleep(_POLL)
                        progress.tick()
        except KeyboardInterrupt:
            interrupted = True
        except (SchedulerGoneError, StoreFullError, WorkersDiedError) as error:
            raise _stopped(error, self) from None
        finally:
            progress.close()
        return Report(self.planned, self.done, len(self.there), tuple(sorted(self.failed)), self.damaged, interrupted)

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
            if run.digest not in self._todo:
                continue
            if not driver.claim(run.digest):
                continue  # another driver is at it; if that one dies, the next pass takes over
            if self._settled_meanwhile(run):
                driver.release(run.digest)
                progress.there()
            else:
                self._store_problem(run.problem)
                self._underway[run.digest] = run
                yield self.plan.task(run)

    def _changed_at(self, digests: set[str]) -> dict[Path, int]:
        """Return when the files of runs that are to be done again were written: a later time means somebody did."""
        paths = [path for digest in digests for path in self._files(digest)]
        return {path: path.stat().st_mtime_ns for path in paths if path.exists()}

    def _files(self, digest: str) -> tuple[Path, Path]:
        return self.store.run_path(digest), self.store.failed / f"{digest}.json"

    def _settled_meanwhile(self, run: PlannedRun) -> bool:
        """Whether another driver has done this run since the store was looked at."""
        for path, known in zip(self._files(run.digest), (self.there, self.failed), strict=True):
            if path.exists() and path.stat().st_mtime_ns != self._seen.get(path):
                known.add(run.digest)
                self._todo.discard(run.digest)
                return True
        return False

    def _keep(self, outcome: Outcome) -> int:
        """Put an outcome into the store; the manifest first, so that no run is without."""
        store, run = self.store, outcome.digest
        planned = self._underway.pop(run)
        failed = store.failed / f"{run}.json"
        if outcome.error:
            store.write(failed, json.dumps(failure(self.plan, planned, outcome), indent=1).encode())
            self.failed.add(run)
        else:
            store.write(store.manifest_path(run), json.dumps(manifest(self.plan, planned, outcome), indent=1).encode())
            store.write(store.run_path(run), outcome.data)
            failed.unlink(missing_ok=True)
            self.done += 1
        self._todo.discard(run)
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
                    "values": {k: list(v) for k, v in p.values.items()},
                }
                for p in self.plan.problems
            ],
            "plugins": [plugin._asdict() for plugin in self.plan.plugins],
        }
        path = self.store.plans / f"{self.plan.digest}.parquet"
        self.store.write(path, encode_plan(about, self.plan))

    def _store_problem(self, number: int) -> None:
        """Keep the matrix beside the results, so that they can be read where the sources are not."""
        problem = self.plan.problems[number]
        path = self.store.problems / f"{problem.digest}.parquet"
        if number not in self._stored and not path.exists():
            save_preferences(problem.matrix, path)
        self._stored.add(number)


def _stopped(error: InputError, session: Session) -> InputError:
    there = len(session.there) + session.done
    return InputError(
        f"{error}; {there:,} of {session.planned:,} runs are in {session.store.folder}, and are kept:"
        " the same command goes on from there"
    )
