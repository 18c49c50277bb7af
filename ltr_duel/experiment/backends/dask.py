"""A cluster of dask workers: the connection, and knowing when it is gone."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ltr_duel.core import InputError, checked_jobs

if TYPE_CHECKING:
    from ltr_duel.experiment.backends.backend import Backend

_PATIENCE = 60.0  # seconds without the scheduler after which it counts as gone
_FIRST_WORKER = 120.0
# A broken link shorter than this is only a pause.
_LINK_TIMEOUT = "300s"


class SchedulerGoneError(InputError):
    """The scheduler of the cluster is not to be reached any more."""

    def __init__(self, client: Any) -> None:
        super().__init__(f"the scheduler at {client._ltr_duel_address} is gone")


@contextmanager
def connected(backend: Backend) -> Iterator[Any]:
    """Give a client of the scheduler, or of workers started here if there is none.

    Raises
    ------
    InputError
        If dask is not installed, the scheduler does not answer, or no worker comes.
    """
    try:
        dask: Any = importlib.import_module("dask")
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise InputError("--backend dask needs dask: pip install 'ltr-duel[cluster]'") from None
    for name in ("distributed", "distributed.client"):  # what matters is said in a sentence; importing sets levels anew
        logging.getLogger(name).setLevel(logging.CRITICAL)
    settings = {"distributed.comm.timeouts.tcp": _LINK_TIMEOUT, "distributed.scheduler.worker-ttl": _LINK_TIMEOUT}
    with dask.config.set(settings):
        cluster: Any = None
        if backend.scheduler is None:
            cluster = distributed.LocalCluster(
                n_workers=checked_jobs(backend.jobs),
                threads_per_worker=1,
                dashboard_address="127.0.0.1:0",  # None means port 8787, which may be taken
                silence_logs=50,
            )
        address = backend.scheduler or cluster.scheduler_address
        try:
            client: Any = distributed.Client(address, timeout="15s", set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise InputError(f"the scheduler at {address} does not answer ({_first_line(error)})") from None
        client._ltr_duel_address = address
        try:
            client.wait_for_workers(1, timeout=_FIRST_WORKER)
        except TimeoutError:
            client.close()
            raise InputError(f"no worker has come to the scheduler at {address} in {_FIRST_WORKER:g} s") from None
        try:
            yield client
        finally:
            client.close(timeout=2)
            if cluster is not None:
                cluster.close(timeout=5)


def joblib_backend(client: Any) -> Any:
    """Return joblib's own dask backend, made not to run things here while the cluster has but one worker."""
    dask_of_joblib: Any = importlib.import_module("joblib._dask")

    class ClusterBackend(dask_of_joblib.DaskDistributedBackend):  # type: ignore[misc]  # joblib has no types
        def effective_n_jobs(self, n_jobs: int) -> int:
            return max(2, int(super().effective_n_jobs(n_jobs)))

    return ClusterBackend(client=client, pure=False)


def is_gone(client: Any, since: float | None, now: float) -> float | None:
    """Look whether the client still has its scheduler; return since when not.

    Raises
    ------
    SchedulerGoneError
        If it has been without for a minute, or has given up.
    """
    if client.status == "running":
        return None
    if client.status == "closed" or (since is not None and now - since > _PATIENCE):
        raise SchedulerGoneError(client)
    return now if since is None else since


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
