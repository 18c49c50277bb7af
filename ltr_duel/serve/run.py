"""Run the service as a process: open the experiment, listen, and shut down cleanly."""

from __future__ import annotations

import errno
import socket
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import uvicorn

from ltr_duel.core import InputError, alone, places, schema
from ltr_duel.live import Experiment, Settings, read_settings, signing_keys
from ltr_duel.serve.app import make_app
from ltr_duel.serve.gate import Gate
from ltr_duel.serve.keys import ApiKeys, place_of_keys, read_api_keys
from ltr_duel.serve.lines import logging_to, write
from ltr_duel.serve.settings import ServiceSettings, service_settings

_GRACE = 10  # maximum number of seconds to wait for open requests at shutdown
_LOOK = 0.05  # seconds between two attempts to open the store
_TRIALS = 3  # number of pages that are shown, so that the code is compiled
_LARGEST_HEAD = 16_384  # bytes


def run_service(
    path: str | Path,
    *,
    host: str = "",
    port: int | None = None,
    accept_new_code: bool = False,
    wait: float = 0.0,
    ready: Callable[[str, Path | None], None] = print,
) -> None:
    """Serve the experiment of a settings file until SIGTERM or SIGINT, which is raised again after a clean shutdown.

    ``wait`` is the time in seconds to wait for another process to release the store. ``ready`` receives, when the
    service listens, its URL, and the file of its API key unless the key is in the environment.
    """
    path = Path(path)
    given = {**({"host": host} if host else {}), **({} if port is None else {"port": port})}
    settings = read_settings(path)
    service = service_settings({**settings.serve, **given}, str(path))
    with schema.located(f"{path}: serve"):
        signing = signing_keys(path.parent / service.key_file if service.key_file else None)
        users = signing_keys(path.parent / service.user_key_file) if service.user_key_file else {}
        key_file = place_of_keys(path.parent, service.api_key_file)
        keys = ApiKeys(read_api_keys(key_file))
    _compile(settings)
    user_key = next(iter(users.values())) if users else b""  # with another key, each user would count again
    how = {"keys": signing, "accept_new_code": accept_new_code, "user_key": user_key}
    store = (path.parent / service.store).resolve()
    with logging_to(), _opened(store, settings, wait, **how) as experiment:
        if experiment.accepted:
            write("new code", **experiment.accepted)
        _run(make_app(experiment, service, keys), experiment, service, lambda url: ready(url, key_file))


def _run(app: Gate, experiment: Experiment, service: ServiceSettings, ready: Callable[[str], None]) -> None:
    """Listen until a signal arrives."""
    with _listening(service) as listener:
        address, name = listener.getsockname(), experiment.settings.name
        write("start", experiment=name, host=address[0], port=address[1], pages=experiment.pages)
        url = f"http://{f'[{address[0]}]' if ':' in address[0] else address[0]}:{address[1]}"
        server = _Server(_config(app, service), ready=lambda: ready(url))
        try:
            server.run([listener])
        finally:
            write("stop", experiment=name, pages=experiment.counts.pages)  # the counts need no open store


def _opened(path: Path, settings: Settings, wait: float, **how: Any) -> Experiment:
    """Open the store, waiting up to ``wait`` seconds while another process uses it."""
    ends = time.monotonic() + wait
    while True:
        try:
            return Experiment.open(path, settings, **how)
        except alone.InUseError:
            if time.monotonic() >= ends:
                raise
            time.sleep(_LOOK)


def _compile(settings: Settings) -> None:
    """Show and credit a few pages of a temporary store, so that the first user does not wait for compilation."""
    lists = {name: [1, 2] for name in settings.rankers}
    with TemporaryDirectory() as folder, Experiment.open(Path(folder) / "trial.db", settings) as experiment:
        for _ in range(_TRIALS):
            page = experiment.decide("trial", lists)
            experiment.record(page.token, page.shown[:1])


class _Server(uvicorn.Server):
    """A server that calls ``ready`` when it listens."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()


def _config(app: Gate, settings: ServiceSettings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http="auto" if settings.loopback else "h11",  # httptools is faster, but does not limit the size of a head
        h11_max_incomplete_event_size=_LARGEST_HEAD,
        limit_concurrency=settings.connections,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=settings.idle_seconds,  # type: ignore[arg-type]  # any number of seconds
        timeout_graceful_shutdown=_GRACE,
    )


def _listening(settings: ServiceSettings) -> socket.socket:
    """Return a bound socket."""
    host = "127.0.0.1" if settings.host == "localhost" else settings.host
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, settings.port))
    except OSError as error:
        listener.close()
        what = "another program is listening there" if error.errno == errno.EADDRINUSE else places.cause(error)
        raise InputError(f"cannot listen on {host}, port {settings.port}: {what}") from None
    return listener
