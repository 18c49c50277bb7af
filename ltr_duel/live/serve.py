"""Run the HTTP service of an experiment for the command ``ltr-duel serve``."""

from __future__ import annotations

import logging
import os
import secrets
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import uvicorn

from ltr_duel.core import InputError, files, schema
from ltr_duel.live.app import LOG, make_app
from ltr_duel.live.experiment import Experiment
from ltr_duel.live.settings import Settings, read_settings
from ltr_duel.live.signing import read_keys, write_secret

VARIABLE = "LTR_DUEL_API_KEY"
GRACE = 10  # seconds in which open requests can finish at shutdown
IDLE = 30  # seconds after which an idle connection is closed
_SHORTEST_KEY = 16
_LARGEST_HEAD = 16_384  # bytes


@dataclass(frozen=True)
class ServiceSettings:
    """The table ``[serve]`` of an experiment's file. docs/serving.md explains each key."""

    store: str = schema.value(schema.text, default="live.db")
    key_file: str = schema.value(schema.text, default="live.keys")
    api_key_file: str = schema.value(schema.text, default="api.key")
    host: str = schema.value(schema.text, default="127.0.0.1")
    port: int = schema.value(schema.whole(0, 65535), default=8080)
    connections: int = schema.value(schema.whole(1, 100_000), default=800)
    largest_body: int = schema.value(schema.whole(1000, 100_000_000), default=250_000)
    answer_seconds: float = schema.value(schema.number(0.05, 600), default=10.0)


def service_settings(table: Mapping[str, Any], place: str) -> ServiceSettings:
    """Check the table ``[serve]`` of the file ``place``."""
    settings: ServiceSettings = schema.read_table(ServiceSettings, dict(table), f"{place}: serve")
    return settings


def run_service(
    config: str | Path, *, host: str = "", port: int | None = None, ready: Callable[[str, Path | None], None]
) -> None:
    """Serve the experiment of a settings file until the process gets SIGTERM or SIGINT.

    When the service listens, ``ready`` is called with its address and the file of the API key. The file is None if the
    key is in the environment. After a clean shutdown, the signal is raised again.
    """
    config = Path(config)
    settings = read_settings(config)
    options = {**({"host": host} if host else {}), **({} if port is None else {"port": port})}
    service, folder = service_settings({**settings.serve, **options}, str(config)), config.parent
    api_key, key_file = _api_key(folder / service.api_key_file)
    keys = read_keys(folder / service.key_file, create=True)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    LOG.setLevel(logging.INFO)
    _compile(settings)
    with _listening(service) as listener, Experiment.open(folder / service.store, settings, keys=keys) as experiment:
        app = make_app(
            experiment, keys, api_key, largest_body=service.largest_body, answer_seconds=service.answer_seconds
        )
        address, number = listener.getsockname()[:2]
        url = f"http://{f'[{address}]' if ':' in address else address}:{number}"
        LOG.info("'%s' is served at %s", settings.name, url)
        ready(url, key_file)
        try:
            uvicorn.Server(_server(app, service)).run([listener])
        finally:
            LOG.info("the service of '%s' has ended", settings.name)


def _api_key(path: Path) -> tuple[str, Path | None]:
    place: Path | None = None if VARIABLE in os.environ else path
    if place is None:
        key = os.environ[VARIABLE].strip()
    else:
        if not place.exists():
            write_secret(place, f"{secrets.token_hex(16)}\n")
        try:
            key = place.read_text("ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            cause = files.cause(error) if isinstance(error, OSError) else "is not ASCII text"
            raise InputError(f"{place}: {cause}") from None
    if len(key) < _SHORTEST_KEY or not key.isascii() or not key.isprintable() or " " in key:
        raise InputError(f"{place or VARIABLE}: an API key has at least {_SHORTEST_KEY} printable characters, no space")
    return key, place


def _compile(settings: Settings) -> None:
    """Run a short experiment in a temporary store, so that all code is compiled before the first search."""
    lists = {name: [1, 2] for name in settings.rankers}
    with TemporaryDirectory() as folder, Experiment.open(Path(folder) / "trial.db", settings) as experiment:
        decision = experiment.decide("user", "query", lists)
        if decision.token:
            experiment.report(decision.token, [{"kind": "click", "document": decision.page[0]}])


def _server(app: Any, service: ServiceSettings) -> uvicorn.Config:
    local = service.host in ("localhost", "127.0.0.1", "::1")
    return uvicorn.Config(
        app,
        http="auto" if local else "h11",  # httptools is faster, h11 limits the size of a head
        h11_max_incomplete_event_size=_LARGEST_HEAD,
        limit_concurrency=service.connections,
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=GRACE,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
    )


def _listening(service: ServiceSettings) -> socket.socket:
    address = "127.0.0.1" if service.host == "localhost" else service.host
    listener = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, service.port))
        listener.listen(1024)
    except OSError as error:
        listener.close()
        raise InputError(f"cannot listen on {address}, port {service.port}: {files.cause(error)}") from None
    return listener
