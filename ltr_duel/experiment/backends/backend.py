"""Execute tasks in threads or processes (loky) through joblib, or on a cluster (dask).

A separate thread starts the tasks and passes their outcomes to the main thread as they arrive. The main thread can
therefore always react to Ctrl-C and to the loss of the cluster, and report progress.
"""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from typing import Any, NamedTuple

import joblib
from joblib.externals.loky import get_reusable_executor

from ltr_duel.core import InputError, errors, threads
from ltr_duel.core import parallel as core_parallel
from ltr_duel.experiment.backends.dask import SchedulerGoneError, connected, done_by_cluster, lost_since
from ltr_duel.experiment.backends.killable import KillableWorker, close_all, execute_within
from ltr_duel.experiment.plan import Task
from ltr_duel.experiment.worker import Outcome, execute

BACKENDS = ("threads", "loky", "dask")
_TICK = 0.25  # seconds without an outcome after which `run_tasks` yields None
_LONGEST_END = 5.0  # seconds to wait for the thread that starts tasks
_MISSED = 10.0  # seconds without an outcome after which the work ends if a process died, even if loky did not notice
_LOOK = 2.0  # seconds between two checks by a process of loky that its parent is alive
_DEAD = ("TerminatedWorkerError", "BrokenProcessPool", "KilledWorker")  # exceptions of loky and dask


class Backend(NamedTuple):
    """Where and how runs are executed.

    Parameters
    ----------
    name : {"threads", "loky", "dask"}
        Threads of this process, processes of this machine, or the workers of a dask cluster.
    jobs : int
        Number of workers; -1 for all cores.
    scheduler : str, optional
        Address of a dask scheduler, ``tcp://host:port``; by default a cluster is started on this machine.
    time_limit : float, optional
        Seconds after which a run is killed and counts as failed; if a limit is given, runs are executed in separate
        processes.

    Examples
    --------
    >>> Backend("loky", jobs=2)
    Backend(name='loky', jobs=2, scheduler=None, time_limit=None)
    """

    name: str = "threads"
    jobs: int = -1
    scheduler: str | None = None
    time_limit: float | None = None


def check_backend(backend: Backend) -> None:
    """Check a backend before anything runs.

    Raises `InputError` if the backend does not exist, a scheduler is given for a backend other than dask, or a number
    is out of range.
    """
    errors.require_one_of("backend", backend.name, BACKENDS)
    if backend.scheduler and backend.name != "dask":
        raise InputError(f"--scheduler is for --backend dask, not for '{backend.name}'")
    if backend.time_limit is not None and not backend.time_limit > 0:
        raise InputError(f"the time limit must be above 0 seconds, not {backend.time_limit:g}")
    core_parallel.checked_jobs(backend.jobs)


def run_tasks(backend: Backend, tasks: Iterable[Sequence[Task]]) -> Iterator[list[Outcome] | None]:
    """Yield the outcomes of each list of tasks as they arrive, and None at short intervals while nothing arrives.

    Tasks are taken from the iterable a few at a time. After the caller has closed the generator, no task is started.

    Raises `SchedulerGoneError` if the cluster's scheduler cannot be reached any more, and `WorkersDiedError` if worker
    processes died.
    """
    stop, box = threading.Event(), queue.SimpleQueue[Any]()
    driver = os.getpid() if backend.name == "loky" else 0
    run: Callable[[Task], Outcome] = execute
    started: list[KillableWorker] = []
    if backend.time_limit is not None:
        run = functools.partial(execute_within, limit=backend.time_limit)
        if backend.name == "threads":
            run = functools.partial(run, started=started)

    def until_stopped() -> Iterator[Callable[[], list[Outcome]]]:
        # joblib requests tasks in its own threads. An exception there would be lost, and the pool would wait forever.
        try:
            for together in tasks:
                if stop.is_set():
                    return
                yield functools.partial(_run_all, run, together, driver)
        except Exception as error:
            box.put(_End(error))

    def work() -> None:
        try:
            calls = until_stopped()
            done = done_by_cluster(client, calls, 2 * jobs) if client else _done_here(backend.name, calls, jobs)
            for outcomes in done:
                box.put(outcomes)
            box.put(_End(None))
        except BaseException as error:  # passed to the main thread, which raises it
            box.put(_End(error))

    with contextlib.ExitStack() as stack:
        client, jobs = None, core_parallel.checked_jobs(backend.jobs)
        if backend.name == "dask":
            client = stack.enter_context(connected(backend.scheduler, jobs))
            jobs = max(1, sum(client.ncores().values()))
        worker = threading.Thread(target=work, daemon=True)
        if backend.name == "loky":
            stack.callback(_kill_processes, worker)
        stack.callback(close_all, started)
        stack.callback(stop.set)
        stack.callback(threads.abandon, worker)
        worker.start()
        lost: float | None = None
        others, processes = set(_workers()), set[Any]()  # others may still be ending after an earlier call
        arrived = time.monotonic()
        while True:
            try:
                answer = box.get(timeout=_TICK)
                arrived = time.monotonic()
            except queue.Empty:
                if client is not None:
                    lost = lost_since(client, lost, time.monotonic())
                processes.update(set(_workers()) - others)
                if any(one.exitcode for one in processes) and time.monotonic() > arrived + _MISSED:
                    raise WorkersDiedError from None
                answer = None
            if not isinstance(answer, _End):
                yield answer
            elif answer.error is None:
                return
            elif client is not None and (client.status != "running" or isinstance(answer.error, CancelledError)):
                raise SchedulerGoneError(client) from answer.error
            elif type(answer.error).__name__ in _DEAD:
                raise WorkersDiedError from answer.error
            else:
                raise answer.error


class WorkersDiedError(InputError):
    """Worker processes died unexpectedly."""

    def __init__(self) -> None:
        super().__init__("a worker process died in the middle of a run (with --time-limit, only that run would fail)")


class _End(NamedTuple):
    error: BaseException | None


def _run_all(run: Callable[[Task], Outcome], tasks: Sequence[Task], driver: int) -> list[Outcome]:
    """Execute tasks. In a process of loky, first make it end with the process ``driver``; 0: there is no driver."""
    if driver and os.getpid() != driver:
        _end_with(driver)
    return [run(task) for task in tasks]


@functools.cache
def _end_with(driver: int) -> None:
    """End this process of loky soon after its parent has ended or been killed; loky would wait for another task."""

    def watch() -> None:
        while os.getppid() == driver:
            time.sleep(_LOOK)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _done_here(name: str, calls: Iterator[Callable[[], list[Outcome]]], jobs: int) -> Iterator[list[Outcome]]:
    """Yield the results of calls in any order, executed in joblib's threads or processes."""
    with joblib.parallel_config({"threads": "threading"}.get(name, name)):
        parallel = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1, pre_dispatch=2 * jobs)
        yield from parallel(joblib.delayed(call)() for call in calls)


def _kill_processes(starter: threading.Thread) -> None:
    """Kill the processes of loky, which may still be executing runs whose results are no longer needed.

    The thread ``starter``, which starts tasks, ends when it finds that the processes are dead. If the executor were
    shut down before that, joblib would submit another task to the executor and print a traceback.
    """
    if starter.is_alive():
        _terminate_workers()
        starter.join(_LONGEST_END)
    get_reusable_executor(reuse=True).shutdown(wait=False, kill_workers=True)
    _terminate_workers()  # the executor's thread may end before it has killed the processes


def _terminate_workers() -> None:
    for process in _workers():
        process.terminate()


def _workers() -> list[Any]:
    return [process for process in multiprocessing.active_children() if process.name.startswith("Loky")]
