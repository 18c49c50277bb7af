"""The workers that execute tasks: threads, processes of this machine (loky), or a cluster (dask).

All three are executors of `concurrent.futures`; `Workers` adds how the loss of workers is noticed and reported.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple

from ltr_duel.core import InputError, errors, parallel, threads
from ltr_duel.experiment.store import StoppedError
from ltr_duel.experiment.worker import Outcome, Task, execute

BACKENDS = ("threads", "loky", "dask")
_PARENT_CHECK = 2.0  # seconds between two checks by a process of loky that its parent is alive
_FIRST_WORKER = 120.0  # seconds to wait for the first worker of a cluster
_LINK_TIMEOUT = "300s"  # shorter interruptions of the connection to the scheduler are tolerated

Answer = tuple[list[Outcome], dict[str, Any]]  # of `execute`


class Backend(NamedTuple):
    """Where and how runs are executed.

    Examples
    --------
    >>> Backend("loky", jobs=2)
    Backend(name='loky', jobs=2, scheduler=None)
    """

    name: str = "threads"  # of this process; "loky": processes of this machine; "dask": workers of a cluster
    jobs: int = -1  # number of workers; -1 for all cores
    scheduler: str | None = None  # address of a dask scheduler; by default a cluster is started on this machine


def check_backend(backend: Backend) -> None:
    """Check a backend before anything runs.

    Raises `InputError` if the backend does not exist, a scheduler is given for a backend other than dask, or a number
    is out of range.
    """
    errors.require_one_of("backend", backend.name, BACKENDS)
    if backend.scheduler and backend.name != "dask":
        raise InputError(f"--scheduler is for --backend dask, not for '{backend.name}'")
    parallel.checked_jobs(backend.jobs)


class Workers:
    """The workers of a backend.

    count: number of tasks that are executed at the same time.
    lost: the sentence if workers are lost.
    """

    def __init__(self, executor: Executor, count: int, lost: str = "a worker process died in the middle of a run"):
        self.count, self._executor, self._lost = count, executor, lost

    def submit(self, task: Task) -> Future[Answer]:
        """Submit a task. Raises `StoppedError` if workers are lost."""
        with self._translated():
            return self._executor.submit(execute, task)

    def answer(self, future: Future[Answer]) -> Answer:
        """Return the outcomes of a finished task. Raises its error, or `StoppedError` if workers are lost."""
        with self._translated():
            return future.result()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (BrokenExecutor, CancelledError) as error:
            raise StoppedError(self._lost) from error
        except Exception as error:
            if type(error).__name__ == "KilledWorker":  # of dask, which need not be installed
                raise StoppedError("a run killed several workers") from error
            raise


def open_workers(backend: Backend) -> AbstractContextManager[Workers]:
    """Return the workers of a backend, for a ``with`` statement; its end stops them, even in the middle of a run."""
    jobs = parallel.checked_jobs(backend.jobs)
    if backend.name == "dask":
        return _dask(backend.scheduler, jobs)
    return _processes(jobs) if backend.name == "loky" else _threads(jobs)


@contextmanager
def _threads(jobs: int) -> Iterator[Workers]:
    started: list[threading.Thread] = []
    executor = ThreadPoolExecutor(jobs, initializer=lambda: started.append(threading.current_thread()))
    try:
        yield Workers(executor, jobs)
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        for thread in started:
            threads.abandon(thread)


@contextmanager
def _processes(jobs: int) -> Iterator[Workers]:
    from joblib.externals.loky import ProcessPoolExecutor

    executor = ProcessPoolExecutor(jobs, initializer=_start_process, initargs=(os.getpid(),))
    try:
        yield Workers(executor, jobs)
    finally:
        executor.shutdown(wait=True, kill_workers=True)


def _start_process(parent: int) -> None:
    """Ignore Ctrl-C, which the parent handles, and end this process soon after its parent has ended or been killed."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_PARENT_CHECK)
        os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _dask(scheduler: str | None, jobs: int) -> Iterator[Workers]:
    """Connect to the scheduler at an address; if none is given, start ``jobs`` workers on this machine.

    Raises `InputError` if dask is not installed, the scheduler does not answer, or no worker joins.
    """
    try:
        import dask
        import distributed
    except ImportError:
        raise InputError(
            "--backend dask needs dask: pip install 'ltr-duel[cluster]', or '.[cluster]' in the folder of the source"
        ) from None
    for name in ("distributed", "distributed.client"):  # after the import, which sets other levels
        logging.getLogger(name).setLevel(logging.CRITICAL)
    settings = {"distributed.comm.timeouts.tcp": _LINK_TIMEOUT, "distributed.scheduler.worker-ttl": _LINK_TIMEOUT}
    with dask.config.set(settings):
        cluster: Any = None
        if scheduler is None:
            cluster = distributed.LocalCluster(
                n_workers=jobs,
                threads_per_worker=1,
                dashboard_address="127.0.0.1:0",  # None means port 8787, which may be in use
                silence_logs=50,
            )
        address = scheduler or cluster.scheduler_address
        try:
            client = _client(distributed, address)
            try:
                count = max(1, sum(client.ncores().values()))
                yield Workers(client.get_executor(pure=False), count, f"the scheduler at {address} is gone")
            finally:
                client.close(timeout=2)
        finally:
            if cluster is not None:
                cluster.close(timeout=5)


def _client(distributed: Any, address: str) -> Any:
    try:
        client = distributed.Client(address, timeout="15s", set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        why = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(f"the scheduler at {address} does not answer ({why})") from None
    try:
        client.wait_for_workers(1, timeout=_FIRST_WORKER)
    except TimeoutError:
        client.close()
        raise InputError(f"no worker has joined the scheduler at {address} within {_FIRST_WORKER:g} s") from None
    return client
