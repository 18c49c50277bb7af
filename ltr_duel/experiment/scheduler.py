"""Do the runs of a plan that the store does not hold, anywhere and in any order, and store what becomes of them."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ltr_duel.core import InputError
from ltr_duel.experiment.backends.backend import Backend, WorkersDiedError, run_tasks
from ltr_duel.experiment.backends.dask import SchedulerGoneError
from ltr_duel.experiment.joining import join, join_if_many
from ltr_duel.experiment.leases import Driver
from ltr_duel.experiment.ledger import Ledger
from ltr_duel.experiment.pace import Pace
from ltr_duel.experiment.plan import Plan, PlannedRun, Shard, Task
from ltr_duel.experiment.plan_file import read_plan, write_plan
from ltr_duel.experiment.progress import Progress
from ltr_duel.experiment.store import Store, StoreFullError
from ltr_duel.experiment.stored_runs import StoredRuns, wrong_with_problem
from ltr_duel.experiment.worker import Outcome
from ltr_duel.preferences import write_preferences

_POLL = 0.5


class Report(NamedTuple):
    """What an experiment came to: numbers of runs, and the runs that are missing.

    Parameters
    ----------
    planned : int
        Runs of the plan, or of the shard.
    done : int
        Runs done by this call.
    already_done : int
        Runs that existed before, or were done by another process meanwhile.
    failed : tuple of str
        Digests of failed runs, those included that failed earlier and were not tried again.
    damaged : dict of str to str
        Names of files in which bytes are no runs, and sentences that say so.
    left : int
        Runs that are still to do.
    interrupted : bool
        Whether Ctrl-C, or a signal to end, ended it.
    replaced : mapping of str to str
        Digest -> what was wrong, of damaged runs that this call was to do again.

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

    Each run's status is one byte (plus two numbers for runs that may be done again). Failures are kept by name, and so
    are runs that other processes do meanwhile.
    """

    def __init__(
        self,
        plan: Plan,
        store: Store,
        backend: Backend,
        shard: Shard | None = None,
        *,
        overwrite: bool = False,
        retry: bool = False,
        only: Collection[str] | None = None,
    ) -> None:
        self.plan, self.store, self.backend, self.shard = plan, store, backend, shard
        self.planned = self.done = self.already_done = 0
        self.failed: set[str] = set()
        self.damaged: dict[str, str] = {}
        self.replaced: dict[str, str] = {}
        self._todo = bytearray(len(plan))  # 1 for each run that is to be done, by its place in the plan
        self._before = np.zeros((len(plan), 2), np.int64)  # of such a run: its generation now, when it failed before
        self._underway: dict[str, PlannedRun] = {}
        self._problems: set[int] = set()  # numbers of those with runs to do
        self._only = only
        self._pace = Pace() if backend.time_limit is None else Pace(most=1)
        store.prepare()
        join_if_many(store)
        runs = StoredRuns(store, [read_plan(self._write_plan())] if retry else ())
        self._index = runs.index
        self._join = set(self._index.broken) if retry else set()
        if only is None:
            mine = (run.digest for run in plan.shard(shard) if run.digest in runs.index.done)
            wrong = runs.wrong_with(mine) if retry else {}
            self._find_work(overwrite, retry, {digest: why for digest, why in wrong.items() if why})
        else:
            self._find_again(only)
        self._index.forget()

    @property
    def left(self) -> int:
        """Runs that are still to do."""
        return self._todo.count(1)

    def _find_work(self, overwrite: bool, retry: bool, wrong: Mapping[str, str]) -> None:
        """Mark the runs that are to be done."""
        failed = {path.stem for path in self.store.failed.glob("*.json")}
        if not retry:
            self.damaged |= self._index.broken
        for run in self.plan.shard(self.shard):
            self.planned += 1
            there = run.digest in self._index.done
            if run.digest in wrong:
                self.replaced[run.digest] = wrong[run.digest]
            if retry:
                self._problems.add(run.problem)
            if there and run.digest not in wrong and not overwrite:
                self.already_done += 1
            elif run.digest in failed and not overwrite and not retry:
                self.failed.add(run.digest)
            else:
                self._mark(run, exists=there or run.digest in failed)

    def _find_again(self, only: Collection[str]) -> None:
        """Mark these runs, and no others, whatever is there of them; look at all matrices."""
        self._problems.update(range(len(self.plan.problems)))
        for run in self.plan:
            if run.digest in only:
                self.planned += 1
                self._mark(run, exists=True)

    def _mark(self, run: PlannedRun, *, exists: bool) -> None:
        self._todo[run.number] = 1
        self._problems.add(run.problem)
        if exists:
            self._before[run.number] = self._index.generation(run.digest), self._failed_at(run)

    def run(self) -> Report:
        """Do what is to do."""
        interrupted = False
        progress = Progress(self.planned, self.planned - self.left)
        about = {"jobs": self.backend.jobs, "backend": self.backend.name, "planned": self.planned}
        try:
            with Driver(self.store, about) as driver:
                if self._only is None:
                    self._write_plan()
                self._write_problems()
                ledger = Ledger(self.plan, self.store, driver.id)
                while self.left:
                    self._pass(driver, ledger, progress)
                    if self.left:
                        time.sleep(_POLL)
                        progress.tick()
            join(self.store, self._join)
        except KeyboardInterrupt:
            interrupted = True
        except (SchedulerGoneError, StoreFullError, WorkersDiedError) as error:
            finished = self.already_done + self.done
            self.store.drop_if_empty()
            kept = f"{finished:,} of {self.planned:,} runs are in {self.store.folder}, and are kept:"
            what = f"{kept} the same command resumes from there" if finished else "no run was finished"
            raise InputError(f"{error}; {what}") from None
        finally:
            progress.close()
        failed = tuple(sorted(self.failed))
        return Report(
            self.planned, self.done, self.already_done, failed, self.damaged, self.left, interrupted, self.replaced
        )

    def _pass(self, driver: Driver, ledger: Ledger, progress: Progress) -> None:
        """Go once through the plan, and run unclaimed tasks."""
        tasks = self._claimed(driver, ledger.file, progress)
        first = next(tasks, None)
        if first is None:
            return
        for outcomes in run_tasks(self.backend, chain([first], tasks)):
            if outcomes is None:
                progress.tick()
                continue
            self._keep(outcomes, ledger)
            for outcome in outcomes:
                driver.release(outcome.digest)
                progress.done(outcome.decisions)

    def _claimed(self, driver: Driver, mine: str, progress: Progress) -> Iterator[list[Task]]:
        """Yield tasks for one worker, claimed at the moment they are asked for."""
        todo = (run for run in self.plan.shard(self.shard) if self._todo[run.number])
        for runs in self._pace.together(todo):
            # What another process has claimed: if that one dies, the next pass takes over.
            digests = set(driver.claim(run.digest for run in runs))
            claimed = [run for run in runs if run.digest in digests]
            tasks = []
            for run, gone in zip(claimed, self._done_elsewhere(claimed, mine), strict=True):
                if gone:
                    driver.release(run.digest)
                    progress.already_done(1)
                else:
                    self._underway[run.digest] = run
                    tasks.append(self.plan.task(run))
            if tasks:
                yield tasks

    def _failed_at(self, run: PlannedRun) -> int:
        """Return when the run's failure was written; 0 if there is none."""
        return self.store.changed_at(self.store.place("failed", f"{run.digest}.json"))

    def _done_elsewhere(self, runs: Sequence[PlannedRun], mine: str) -> Iterator[bool]:
        """Say of runs whether another process has done them since the store was looked at: by records that are new."""
        if runs:
            self._index.update(but=mine)
        failures = self.store.has_failures()
        for run in runs:
            generation, failed_before = self._before[run.number]
            place = self._index.done.get(run.digest)
            done = place is not None and place.generation >= generation
            failed = failures and self._failed_at(run) not in (0, failed_before)
            if done:
                self.already_done += 1
            elif failed:
                self.failed.add(run.digest)
            if done or failed:
                self._todo[run.number] = 0
            yield done or failed

    def _keep(self, outcomes: Sequence[Outcome], ledger: Ledger) -> None:
        """Put outcomes into the store."""
        runs = [self._underway.pop(outcome.digest) for outcome in outcomes]
        generations = (int(self._before[run.number, 0]) for run in runs)
        ledger.keep(zip(runs, outcomes, generations, strict=True))
        for run, outcome in zip(runs, outcomes, strict=True):
            if outcome.error:
                self.failed.add(run.digest)
            else:
                self.done += 1
                if self._before[run.number, 1]:
                    self.store.remove(self.store.place("failed", f"{run.digest}.json"))
            self._todo[run.number] = 0
            self._pace.learn(run, outcome.seconds)

    def _write_plan(self) -> Path:
        path = self.store.plans / f"{self.plan.digest}.parquet"
        with self.store.writing(path) as target:
            write_plan(target, self.plan.about(), self.plan)
        return path

    def _write_problems(self) -> None:
        """Keep the matrices beside the results, so that they can be read without their sources."""
        for problem in (self.plan.problems[number] for number in sorted(self._problems)):
            path = self.store.problem_path(problem.digest)
            if wrong_with_problem(path, problem.matrix.digest):
                with self.store.writing(path) as file:
                    write_preferences(problem.matrix, file)
