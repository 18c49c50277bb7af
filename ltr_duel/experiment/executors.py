"""Execute runs on threads, in processes of this machine (loky), or on a cluster (dask)."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import NamedTuple

from ltr_duel.core import InputError, errors, parallel
from ltr_duel.experiment.store import StoppedError

BACKENDS = ("threads", "loky", "dask")
_PARENT_CHECK = 2.0  # seconds between two checks by a process of loky that its parent is alive
_FIRST_WORKER = 120.0  # seconds to wait for the first worker of a cluster
_LINK_TIMEOUT = "300s"  # the connection to the scheduler may be interrupted for this time


class Backend(NamedTuple):
    """Where and how runs are executed.

    Examples
    --------
    >>> Backend("loky", jobs=2)
    Backend(name='loky', jobs=2, scheduler=None)
    """

    name: str = "threads"  # "threads" of this process, "loky" (processes of this machine), "dask" (a cluster)
    jobs: int = -1  # number of workers; -1 means one for each core
    scheduler: str | None = None  # address of a dask scheduler; by default, a cluster is started on this machine


def check_backend(backend: Backend) -> None:
    """Raise `InputError` if a setting of the backend is invalid."""
    errors.require_one_of("backend", backend.name, BACKENDS)
    if backend.scheduler and backend.name != "dask":
        raise InputError(f"--scheduler is for --backend dask, not for '{backend.name}'")
    parallel.checked_jobs(backend.jobs)


class Workers(NamedTuple):
    """What executes the tasks, and how many tasks it executes at once."""

    executor: Executor
    size: int
    lost: str = "a worker process died in the middle of a run"  # what the user reads if workers are lost


@contextmanager
def open_workers(backend: Backend) -> Iterator[Workers]:
    """Start the workers of a backend, and stop them at the end. Raise `StoppedError` if workers are lost."""
    jobs = parallel.checked_jobs(backend.jobs)
    opened = {"threads": _threads, "loky": _processes}.get(backend.name, partial(_dask, backend.scheduler))
    with opened(jobs) as workers:
        try:
            yield workers
        except (BrokenExecutor, CancelledError) as error:
            raise StoppedError(workers.lost) from error
        except Exception as error:
            if type(error).__name__ != "KilledWorker":  # dask may not be installed, so the error is known by its name
                raise
            raise StoppedError("a run killed several workers") from error


@contextmanager
def _threads(jobs: int) -> Iterator[Workers]:
    started: list[threading.Thread] = []
    executor = ThreadPoolExecutor(jobs, initializer=lambda: started.append(threading.current_thread()))
    try:
        yield Workers(executor, jobs)
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        for thread in started:
            parallel.abandon(thread)


@contextmanager
def _processes(jobs: int) -> Iterator[Workers]:
    from joblib.externals.loky import ProcessPoolExecutor

    executor = ProcessPoolExecutor(jobs, initializer=_start_process, initargs=(os.getpid(),))
    try:
        yield Workers(executor, jobs)
    finally:
        # After Ctrl-C, a thread of loky may look for a task that was removed; its KeyError is not printed.
        usual = threading.excepthook
        threading.excepthook = lambda ended: None if ended.exc_type is KeyError else usual(ended)
        try:
            executor.shutdown(wait=True, kill_workers=True)
        finally:
            threading.excepthook = usual


def _start_process(parent: int) -> None:
    """Ignore Ctrl-C, which the parent process handles, and end this process soon after the parent."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_PARENT_CHECK)
        os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _dask(scheduler: str | None, jobs: int) -> Iterator[Workers]:
    """Connect to the scheduler at an address. Without an address, start ``jobs`` workers on this machine."""
    try:
        import dask
        import distributed
    except ImportError:
        raise InputError(
            "--backend dask needs dask: pip install 'ltr-duel[cluster]', or '.[cluster]' in the folder of the source"
        ) from None
    for name in ("distributed", "distributed.client"):  # after the import, because it sets the levels
        logging.getLogger(name).setLevel(logging.CRITICAL)
    settings = {"distributed.comm.timeouts.tcp": _LINK_TIMEOUT, "distributed.scheduler.worker-ttl": _LINK_TIMEOUT}
    with dask.config.set(settings), ExitStack() as stack:
        address = scheduler or ""
        if not address:
            options = {"n_workers": jobs, "threads_per_worker": 1, "silence_logs": logging.CRITICAL}
            # Port 0 means any free port. None would mean port 8787, which may be in use.
            cluster = distributed.LocalCluster(**options, dashboard_address="127.0.0.1:0")
            stack.callback(cluster.close, timeout=5)
            address = cluster.scheduler_address
        try:
            client = distributed.Client(address, timeout="15s", set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            why = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise InputError(f"the scheduler at {address} does not answer ({why})") from None
        stack.callback(client.close, timeout=2)
        try:
            client.wait_for_workers(1, timeout=_FIRST_WORKER)
        except TimeoutError:
            raise InputError(f"no worker has joined the scheduler at {address} within {_FIRST_WORKER:g} s") from None
        size = max(1, sum(client.ncores().values()))
        yield Workers(client.get_executor(pure=False), size, f"the scheduler at {address} is gone")
