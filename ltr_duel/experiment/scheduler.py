"""Execute the runs of a plan that are not in the store, on any machine and in any order, and store their outcomes."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import InputError
from ltr_duel.experiment.backends.backend import Backend, WorkersDiedError, run_tasks
from ltr_duel.experiment.backends.dask import SchedulerGoneError
from ltr_duel.experiment.leases import Driver
from ltr_duel.experiment.pace import Pace
from ltr_duel.experiment.plan import Plan, PlannedRun, Shard, Task
from ltr_duel.experiment.plan_file import read_plan, write_plan
from ltr_duel.experiment.progress import Progress
from ltr_duel.experiment.runs_file import SUFFIX, Row, encode_rows
from ltr_duel.experiment.store import Store, StoreFullError
from ltr_duel.experiment.stored_runs import StoredRuns, wrong_with_problem
from ltr_duel.experiment.worker import Outcome, failure, origin
from ltr_duel.preferences import write_preferences

_POLL = 0.5
_TOGETHER, _LATEST = 64, 0.5  # store this many runs at once, or fewer after this many seconds


class Report(NamedTuple):
    """The result of `run_experiment`: numbers of runs, failed runs and damaged files.

    Parameters
    ----------
    planned : int
        Number of runs in the plan or the shard.
    done : int
        Number of runs finished by this call.
    already_done : int
        Number of runs that existed before, or that other processes finished during this call.
    failed : tuple of str
        Digests of failed runs, including runs that failed earlier and were not repeated.
    damaged : dict of str to str
        Names of files that are damaged or unreadable, and a message about each.
    left : int
        Number of runs that are still to do.
    interrupted : bool
        Whether Ctrl-C or a signal to terminate ended the call.
    replaced : mapping of str to str
        Digests of damaged runs that this call had to repeat, and the error of each.

    Examples
    --------
    >>> Report(planned=4, done=1, already_done=3, failed=(), damaged={}, left=0).interrupted
    False
    """

    planned: int
    done: int
    already_done: int
    failed: tuple[str, ...]
    damaged: dict[str, str]
    left: int
    interrupted: bool = False
    replaced: Mapping[str, str] = MappingProxyType({})


class Scheduler:
    """One call of `run_experiment`.

    The status of each run is one byte and two numbers, which are 0 unless the run exists or has failed before. Failed
    runs, and runs that other processes finish during the call, are identified by their digests.
    """

    def __init__(
        self,
        plan: Plan,
        store: Store,
        backend: Backend,
        shard: Shard | None = None,
        *,
        retry: bool = False,
        only: Collection[str] | None = None,
    ) -> None:
        self.plan, self.store, self.backend, self.shard = plan, store, backend, shard
        self.planned = self.done = self.already_done = 0
        self.failed: set[str] = set()
        self.damaged: dict[str, str] = {}
        self.replaced: dict[str, str] = {}
        self._todo = bytearray(len(plan))  # 1 for each run to do, by its number in the plan
        self._before = np.zeros((len(plan), 2), np.int64)  # generation of a run's new row; time of its last failure
        self._underway: dict[str, PlannedRun] = {}
        self._problems: set[int] = set()  # numbers of problems with runs to do
        self._only = only
        self._origins: list[tuple[dict[str, Any], str]] = []
        self._pace = Pace() if backend.time_limit is None else Pace(most=1)
        store.prepare()
        runs = StoredRuns(store, [read_plan(self._write_plan())] if retry else ())
        self._index = runs.index
        if only is None:
            mine = (run.digest for run in plan.shard(shard) if run.digest in runs.index.done)
            wrong = runs.wrong_with(mine) if retry else {}
            self._find_work(retry, {digest: why for digest, why in wrong.items() if why})
        else:
            self._find_again(only)
        self._index.forget()

    @property
    def left(self) -> int:
        """Number of runs that are still to do."""
        return self._todo.count(1)

    def _find_work(self, retry: bool, wrong: Mapping[str, str]) -> None:
        """Mark the runs that have to be executed."""
        failed = {path.stem for path in self.store.failed.glob("*.json")}
        self.damaged |= self._index.broken
        for run in self.plan.shard(self.shard):
            self.planned += 1
            there = run.digest in self._index.done
            if run.digest in wrong:
                self.replaced[run.digest] = wrong[run.digest]
            if retry:
                self._problems.add(run.problem)
            if there and run.digest not in wrong:
                self.already_done += 1
            elif run.digest in failed and not retry:
                self.failed.add(run.digest)
            else:
                self._mark(run, exists=there or run.digest in failed)

    def _find_again(self, only: Collection[str]) -> None:
        """Mark only these runs, even if they exist, and all problems, so that all matrices are checked."""
        self._problems.update(range(len(self.plan.problems)))
        for run in self.plan:
            if run.digest in only:
                self.planned += 1
                self._mark(run, exists=True)

    def _mark(self, run: PlannedRun, *, exists: bool) -> None:
        self._todo[run.number] = 1
        self._problems.add(run.problem)
        if exists:
            self._before[run.number] = self._index.generation(run.digest), self.store.changed_at(self._failure(run))

    def run(self) -> Report:
        """Execute the marked runs."""
        interrupted = False
        progress = Progress(self.planned, self.planned - self.left)
        about = {"jobs": self.backend.jobs, "backend": self.backend.name, "planned": self.planned}
        try:
            with Driver(self.store, about) as driver:
                if self._only is None:
                    self._write_plan()
                self._write_problems()
                while self.left:
                    self._pass(driver, progress)
                    if self.left:
                        time.sleep(_POLL)
                        progress.tick()
        except KeyboardInterrupt:
            interrupted = True
        except (SchedulerGoneError, StoreFullError, WorkersDiedError) as error:
            finished = self.already_done + self.done
            self.store.drop_if_empty()
            kept = f"{finished:,} of {self.planned:,} runs are stored in {self.store.folder}:"
            what = f"{kept} the same command resumes from there" if finished else "no run was finished"
            raise InputError(f"{error}; {what}") from None
        finally:
            progress.close()
        failed = tuple(sorted(self.failed))
        return Report(
            self.planned, self.done, self.already_done, failed, self.damaged, self.left, interrupted, self.replaced
        )

    def _pass(self, driver: Driver, progress: Progress) -> None:
        """Go through the plan once and run the unclaimed tasks."""
        tasks = self._claimed(driver, progress)
        first = next(tasks, None)
        if first is None:
            return
        waiting: list[Outcome] = []
        kept = time.monotonic()
        try:
            for outcomes in run_tasks(self.backend, chain([first], tasks)):
                if outcomes is None:
                    progress.tick()
                waiting += outcomes or ()
                for outcome in outcomes or ():
                    self._pace.learn(self._underway[outcome.digest], outcome.seconds)
                    progress.done(outcome.decisions)
                if len(waiting) >= _TOGETHER or time.monotonic() - kept > _LATEST:
                    self._keep(waiting, driver)
                    kept = time.monotonic()
        finally:  # also after an interrupt
            self._keep(waiting, driver)

    def _claimed(self, driver: Driver, progress: Progress) -> Iterator[list[Task]]:
        """Yield lists of tasks, each for one worker; runs are claimed when a list is requested."""
        todo = (run for run in self.plan.shard(self.shard) if self._todo[run.number])
        for runs in self._pace.together(todo):
            # Runs claimed by another process are left out. If that process dies, the next pass claims them.
            digests = set(driver.claim(run.digest for run in runs))
            claimed = [run for run in runs if run.digest in digests]
            tasks = []
            for run, gone in zip(claimed, self._done_elsewhere(claimed, driver.id + SUFFIX), strict=True):
                if gone:
                    driver.release(run.digest)
                    progress.already_done(1)
                else:
                    self._underway[run.digest] = run
                    tasks.append(self.plan.task(run))
            if tasks:
                yield tasks

    def _failure(self, run: PlannedRun) -> str:
        return self.store.place("failed", f"{run.digest}.json")

    def _origin(self, outcome: Outcome) -> str:
        """Return the name of a run's origin, which is written once for each environment that executes runs."""
        for environment, known in self._origins:
            if environment == outcome.environment:
                return known
        self._origins.append((outcome.environment, self.store.keep_origin(origin(self.plan, outcome.environment))))
        return self._origins[-1][1]

    def _done_elsewhere(self, runs: Sequence[PlannedRun], mine: str) -> Iterator[bool]:
        """Yield for each run whether another process has finished it since this process last read the store."""
        if runs:
            self._index.update(but=mine)
        failures = self.store.has_failures()
        for run in runs:
            generation, failed_before = self._before[run.number]
            place = self._index.done.get(run.digest)
            done = place is not None and place.generation >= generation
            failed = failures and self.store.changed_at(self._failure(run)) not in (0, failed_before)
            if done:
                self.already_done += 1
            elif failed:
                self.failed.add(run.digest)
            if done or failed:
                self._todo[run.number] = 0
            yield done or failed

    def _keep(self, outcomes: list[Outcome], driver: Driver) -> None:
        """Store runs in the driver's file and each failure in a separate file, then release the claims.

        Stored outcomes are removed from the list, so that after an interrupt the others can still be stored.
        """
        runs = [self._underway[outcome.digest] for outcome in outcomes]
        rows, now = [], time.time()
        for run, outcome in zip(runs, outcomes, strict=True):
            if outcome.counts is None:
                content = json.dumps(failure(self.plan, run, outcome), indent=1).encode()
                self.store.write(self._failure(run), content)
            else:
                about = run.repetition, int(self._before[run.number, 0]), outcome.seconds, now, self._origin(outcome)
                rows.append(Row(run.digest, *about, *outcome.counts))
        if rows:
            self.store.append(driver.id + SUFFIX, encode_rows(rows))
        for run, outcome in zip(runs, tuple(outcomes), strict=True):
            del outcomes[0], self._underway[run.digest]
            if outcome.counts is None:
                self.failed.add(run.digest)
            else:
                self.done += 1
                if self._before[run.number, 1]:
                    self.store.remove(self._failure(run))
            self._todo[run.number] = 0
            driver.release(run.digest)

    def _write_plan(self) -> Path:
        path = self.store.plans / f"{self.plan.digest}.parquet"
        with self.store.writing(path) as target:
            write_plan(target, self.plan.about(), self.plan)
        return path

    def _write_problems(self) -> None:
        """Store the matrices beside the results, so that results can be read without the sources of the matrices."""
        for problem in (self.plan.problems[number] for number in sorted(self._problems)):
            path = self.store.problem_path(problem.digest)
            if wrong_with_problem(path, problem.matrix.digest):
                with self.store.writing(path) as file:
                    write_preferences(problem.matrix, file)
