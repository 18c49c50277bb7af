"""Execute the runs of an experiment whose results are missing.

Several processes can share the runs: each process claims some runs, executes them, and stores the results.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ltr_duel.core import InputError, arguments
from ltr_duel.experiment.claims import Claims
from ltr_duel.experiment.executors import Backend, Workers, check_backend, open_workers
from ltr_duel.experiment.progress import Progress
from ltr_duel.experiment.runs import Index, write_runs
from ltr_duel.experiment.schedule import Block, Schedule, Shard
from ltr_duel.experiment.store import StoppedError, Store
from ltr_duel.experiment.worker import Outcome, execute
from ltr_duel.preferences import load_preferences, save_preferences

_TICK = 0.25  # seconds to wait for a task before claims are renewed
_POLL = 0.5  # seconds after which blocks that other processes had claimed are tried again
# Results are written after half a second, or after a thousandth of the time since the start if this is longer.
_FILE_SECONDS, _FILE_SHARE = 0.5, 0.001
_TASK_SECONDS = 0.05  # work in one task; little is lost if a short task is interrupted


class Report(NamedTuple):
    """The result of `run_experiment`: how many runs were executed, and how many are left.

    Examples
    --------
    >>> Report(planned=4, done=1, already_done=3, failed=0, left=0).interrupted
    False
    """

    planned: int  # all runs of the schedule or, with a shard, of the shard
    done: int  # finished by this call
    already_done: int  # finished before this call, or by other processes during it
    failed: int  # failed runs, including those that failed earlier and were not repeated
    left: int  # runs that are still to do
    damaged: tuple[str, ...] = ()  # paths of damaged files; their runs counted as missing
    interrupted: bool = False  # whether Ctrl-C or a signal ended the call


def run_experiment(
    schedule: Schedule,
    folder: str | Path,
    *,
    backend: Backend | None = None,
    shard: Shard | None = None,
    retry: bool = False,
) -> Report:
    r"""Execute the runs of a schedule whose results are missing.

    Several processes can call this function with the same folder, and then share the runs.

    Parameters
    ----------
    schedule : Schedule
        The runs of an experiment, which `make_schedule` lists.
    folder : str or Path
        The folder for the results (the store). A missing folder is created.
    backend : Backend, optional
        The workers that execute the runs; by default, one thread for each core.
    shard : Shard, optional
        The part of the schedule to execute; by default, the whole schedule.
    retry : bool
        Whether to repeat runs that failed earlier; by default, they are not repeated.

    Returns
    -------
    Report
        How many runs were executed, and how many are left. You get the report even if you press Ctrl-C.

    Raises
    ------
    InputError
        If the store cannot be used or its disk is full, or if workers crash. Finished runs are kept.

    Examples
    --------
    >>> import tempfile
    >>> from ltr_duel.experiment import make_schedule, read_spec
    >>> content = "policies = 'rucb'\nhorizon = 10\nrepetitions = 2\nutilities = [{ set = '1good5poor' }]"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = run_experiment(make_schedule(read_spec("one.toml", content)), folder)
    >>> report.done, report.left
    (2, 0)
    """
    arguments.require_type("a schedule, the result of make_schedule,", schedule, Schedule)
    backend, interrupted = backend or Backend(), False
    check_backend(backend)
    execution = _Execution(schedule, Store(folder), shard, retry)
    try:
        execution.run(backend)
    except KeyboardInterrupt:
        interrupted = True
    except StoppedError as error:
        count = execution.planned - execution.left - execution.failed
        stored = f"{count:,} of {execution.planned:,} runs are stored in {folder}: the same command resumes from there"
        raise InputError(f"{error}; {stored if count else 'no run was finished'}") from None
    counts = execution.planned, execution.done, execution.already_done, execution.failed, execution.left
    return Report(*counts, tuple(execution.index.damaged), interrupted)


@dataclass(eq=False)
class _Execution:
    schedule: Schedule
    store: Store
    shard: Shard | None
    retry: bool
    planned: int = 0
    done: int = 0
    already_done: int = 0
    failed: int = 0
    _waiting: list[tuple[Block, Outcome, str]] = field(default_factory=list)  # outcomes that are not stored yet
    _files: set[str] = field(default_factory=set)  # names of the files that this process has written
    _began: float = field(default_factory=time.monotonic)
    _written: float = field(default_factory=time.monotonic)
    _pace: tuple[str, float] = ("", 1.0)  # group of the last finished task, and its seconds per run

    def __post_init__(self) -> None:
        self.index = Index(self.store)
        self._blocks: list[Block] = []  # without the runs that are done or have failed
        for block in self.schedule.blocks(self.shard):
            self.planned += len(block.repetitions)
            if left := self._left(block):
                self._blocks.append(block._replace(repetitions=left))

    @property
    def left(self) -> int:
        return self.planned - self.done - self.already_done - self.failed

    def run(self, backend: Backend) -> None:
        if not self._blocks:
            self._keep_study()
            return
        progress = Progress(self.planned, self.planned - self.left)
        try:
            with open_workers(backend) as workers:  # if they cannot start, nothing is written
                self._keep_study()
                with Claims(self.store, {"jobs": backend.jobs, "backend": backend.name}) as claims:
                    while self._blocks:
                        self._blocks = self._pass(workers, claims, progress)
                        if self._blocks:
                            time.sleep(_POLL)
        finally:
            progress.close()

    def _pass(self, workers: Workers, claims: Claims, progress: Progress) -> list[Block]:
        others: list[Block] = []  # blocks that other processes have claimed
        parts = self._parts(claims, others)
        pending: dict[Future[Any], Block] = {}
        try:
            while True:
                while len(pending) < 2 * workers.size and (part := next(parts, None)):
                    task = self.schedule.task(part.group, part.repetitions)
                    pending[workers.executor.submit(execute, task)] = part
                if not pending:
                    return others
                for future in wait(pending, _TICK, FIRST_COMPLETED).done:
                    self._collect(pending.pop(future), *future.result())
                now = time.monotonic()
                if now - self._written > max(_FILE_SECONDS, _FILE_SHARE * (now - self._began)):
                    self._keep(claims)
                claims.renew()
                progress.show(self.planned - self.left)
        finally:  # also after an interrupt
            self._keep(claims)

    def _parts(self, claims: Claims, others: list[Block]) -> Iterator[Block]:
        for block in self._blocks:
            if not claims.take(block.name, len(block.repetitions)):
                others.append(block)
                continue
            self.index.update(self._files)
            left = self._left(block)
            claims.finish(block.name, len(block.repetitions) - len(left))
            while left:
                group, seconds = self._pace
                size = max(1, int(_TASK_SECONDS / seconds)) if group == block.group.digest else 1
                yield block._replace(repetitions=left[:size])
                left = left[size:]

    def _left(self, block: Block) -> list[int]:
        done = self.index.done.get(block.group.digest, {})
        failed = {} if self.retry else self.index.failed.get(block.group.digest, {})
        missing = [repetition for repetition in block.repetitions if repetition not in done]
        left = [repetition for repetition in missing if repetition not in failed]
        self.already_done += len(block.repetitions) - len(missing)
        self.failed += len(missing) - len(left)
        return left

    def _collect(self, part: Block, outcomes: list[Outcome], environment: dict[str, Any]) -> None:
        text = json.dumps(environment, sort_keys=True)
        self._waiting += [(part, outcome, text) for outcome in outcomes]
        seconds = sum(outcome.seconds for outcome in outcomes) / len(outcomes)
        self._pace = (part.group.digest, max(seconds, 1e-6))

    def _keep(self, claims: Claims) -> None:
        rows, now = [], time.time()
        for (_, group, _), outcome, environment in self._waiting:
            problem = self.schedule.problems[group.problem].name
            names = group.digest, outcome.repetition, problem, group.label, group.horizon
            facts = outcome.seconds, now, environment, outcome.error, outcome.traceback
            rows.append((*names, *facts, *(outcome.counts or (None,) * 4)))
        if rows:
            self._files.add(write_runs(self.store, rows))
        waiting, self._written = self._waiting, time.monotonic()
        failed = sum(bool(outcome.error) for _, outcome, _ in waiting)  # counted before Ctrl-C may end the loop
        self._waiting, self.done, self.failed = [], self.done + len(waiting) - failed, self.failed + failed
        for part, *_ in waiting:
            claims.finish(part.name, 1)

    def _keep_study(self) -> None:
        self.store.prepare()
        self.store.keep_study(self.schedule.study)
        for problem in self.schedule.problems:  # results can then be read without the original data
            path = self.store.problems / f"{problem.digest}.parquet"
            with suppress(InputError):  # a missing or damaged file is written again
                if load_preferences(path).digest == problem.matrix.digest:
                    continue
            save_preferences(problem.matrix, path)
