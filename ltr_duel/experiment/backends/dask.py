"""Connect to a cluster of dask workers, execute calls there, and detect the loss of the connection."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

from ltr_duel.core import InputError, parallel

Answer = TypeVar("Answer")

_PATIENCE = 60.0  # seconds without a connection after which the scheduler counts as gone
_FIRST_WORKER = 120.0  # seconds to wait for the first worker
_LINK_TIMEOUT = "300s"  # shorter interruptions of the connection are tolerated


class SchedulerGoneError(InputError):
    """The scheduler of the cluster can no longer be reached."""

    def __init__(self, client: Any) -> None:
        super().__init__(f"the scheduler at {client._ltr_duel_address} is gone")


@contextmanager
def connected(scheduler: str | None, jobs: int) -> Iterator[Any]:
    """Yield a client of the scheduler at an address; if none is given, start ``jobs`` workers on this machine.

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
                n_workers=parallel.checked_jobs(jobs),
                threads_per_worker=1,
                dashboard_address="127.0.0.1:0",  # None means port 8787, which may be in use
                silence_logs=50,
            )
        address = scheduler or cluster.scheduler_address
        try:
            client: Any = distributed.Client(address, timeout="15s", set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise InputError(f"the scheduler at {address} does not answer ({_first_line(error)})") from None
        client._ltr_duel_address = address
        try:
            client.wait_for_workers(1, timeout=_FIRST_WORKER)
        except TimeoutError:
            client.close()
            raise InputError(f"no worker has joined the scheduler at {address} within {_FIRST_WORKER:g} s") from None
        try:
            yield client
        finally:
            client.close(timeout=2)
            if cluster is not None:
                cluster.close(timeout=5)


def done_by_cluster(client: Any, calls: Iterator[Callable[[], Answer]], ahead: int) -> Iterator[Answer]:
    """Yield the results of calls in any order; at most ``ahead`` calls are submitted at any time."""
    from distributed import as_completed

    def submitted(calls: Iterable[Callable[[], Answer]]) -> list[Any]:
        return [client.submit(call, pure=False) for call in calls]

    under_way = as_completed(submitted(islice(calls, ahead)), loop=client.loop, with_results=True)
    for _, answer in under_way:
        if isinstance(answer, BaseException):  # for example, because the scheduler is gone
            raise answer
        yield answer
        under_way.update(submitted(islice(calls, 1)))


def lost_since(client: Any, since: float | None, now: float) -> float | None:
    """Return the time when the client lost its scheduler, or None if it is connected.

    Raises `SchedulerGoneError` if the loss was more than a minute ago or the client is closed.
    """
    if client.status == "running":
        return None
    if client.status == "closed" or (since is not None and now - since > _PATIENCE):
        raise SchedulerGoneError(client)
    return now if since is None else since


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
