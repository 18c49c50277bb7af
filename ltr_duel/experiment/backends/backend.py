"""Where tasks run: threads, processes (loky) or a cluster (dask), all through joblib.

joblib runs in a thread of its own and hands outcomes over as they come. So the main thread can always listen: to
Ctrl-C, to the clock, and to whether the cluster is still there.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import joblib

from ltr_duel.core import InputError, checked_jobs, unknown_name
from ltr_duel.experiment.backends.dask import SchedulerGoneError, connected, is_gone, joblib_backend
from ltr_duel.experiment.backends.guard import execute_within
from ltr_duel.experiment.plan import Task
from ltr_duel.experiment.worker import Outcome, execute

BACKENDS = ("threads", "loky", "dask")
_TICK = 0.25
_left_behind: list[threading.Thread] = []
_DEAD = ("TerminatedWorkerError", "BrokenProcessPool", "KilledWorker")  # of loky, and of dask


class Backend(NamedTuple):
    """Where and how tasks run."""

    name: str = "threads"
    jobs: int = -1
    scheduler: str | None = None
    time_limit: float | None = None


def check_backend(backend: Backend) -> None:
    """Refuse what cannot work, before anything runs."""
    if backend.name not in BACKENDS:
        raise unknown_name("backend", backend.name, BACKENDS)
    if backend.scheduler and backend.name != "dask":
        raise InputError(f"--scheduler is for --backend dask, not for '{backend.name}'")
    if backend.time_limit is not None and not backend.time_limit > 0:
        raise InputError(f"the time limit must be above 0 seconds, not {backend.time_limit:g}")
    checked_jobs(backend.jobs)


def run_tasks(backend: Backend, tasks: Iterable[Task]) -> Iterator[Outcome | None]:
    """Yield outcomes as they come, and None now and then while nothing does.

    Tasks are taken from the iterable a few at a time. When the caller stops listening no further task is begun.

    Raises
    ------
    SchedulerGoneError
        If the cluster's scheduler is not to be reached any more.
    """
    stop, box = threading.Event(), queue.SimpleQueue[Any]()

    def until_stopped() -> Iterator[Callable[[], Outcome]]:
        # joblib asks for tasks in threads of its own; an error raised there would be lost, and block its pool.
        try:
            for task in tasks:
                if stop.is_set():
                    return
                yield joblib.delayed(_execute)(task, backend.time_limit)
        except Exception as error:
            box.put(_End(error))

    def work() -> None:
        try:
            with joblib.parallel_config(**parallel):
                for outcome in joblib.Parallel(return_as="generator_unordered", **options)(until_stopped()):
                    box.put(outcome)
            box.put(_End(None))
        except BaseException as error:  # handed over to the main thread, which raises it
            box.put(_End(error))

    with contextlib.ExitStack() as stack:
        client = stack.enter_context(connected(backend)) if backend.name == "dask" else None
        jobs = sum(client.ncores().values()) if client is not None else checked_jobs(backend.jobs)
        options: dict[str, Any] = {"n_jobs": jobs, "batch_size": 1, "pre_dispatch": max(2, 2 * jobs)}
        parallel: dict[str, Any] = {"backend": {"threads": "threading"}.get(backend.name, backend.name)}
        if client is not None:
            parallel = {"backend": joblib_backend(client)}
        stack.callback(_end_processes, backend, stop)
        stack.callback(stop.set)
        worker = threading.Thread(target=work, daemon=True)
        stack.callback(_left_behind.append, worker)
        worker.start()
        silent_since: float | None = None
        while True:
            try:
                answer = box.get(timeout=_TICK)
            except queue.Empty:
                if client is not None:
                    silent_since = is_gone(client, silent_since, time.monotonic())
                yield None
                continue
            if isinstance(answer, _End):
                if answer.error is None:
                    return
                if client is not None and client.status != "running":
                    raise SchedulerGoneError(client) from answer.error
                if type(answer.error).__name__ in _DEAD:
                    raise WorkersDiedError from answer.error
                raise answer.error
            yield answer


def still_running() -> bool:
    """Whether runs go on that nobody waits for any more: threads cannot be ended."""
    return any(worker.is_alive() for worker in _left_behind)


class WorkersDiedError(InputError):
    """Worker processes died, and not because anybody here wanted it."""

    def __init__(self) -> None:
        super().__init__("a worker process died in the middle of a run (with --time-limit, such a run fails alone)")


class _End(NamedTuple):
    error: BaseException | None


def _execute(task: Task, time_limit: float | None) -> Outcome:
    return execute(task) if time_limit is None else execute_within(task, time_limit)


def _end_processes(backend: Backend, stop: threading.Event) -> None:
    """Kill the worker processes that are in the middle of runs nobody waits for."""
    if backend.name == "loky" and stop.is_set():
        from joblib.externals.loky import reusable_executor

        executor = reusable_executor._executor
        if executor is not None:
            workers = list(executor._processes.values())
            executor.shutdown(wait=False, kill_workers=True)
            for worker in workers:  # the executor would kill them in a thread that may not live to do it
                with contextlib.suppress(ProcessLookupError):
                    os.kill(worker.pid, signal.SIGKILL)
