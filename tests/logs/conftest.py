"""A Postgres server, if Postgres is installed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def postgres(tmp_path_factory):
    """Start a server, as a separate user if the tests run as root."""
    programs = next((p for p in Path("/usr/lib/postgresql").glob("*/bin") if (p / "initdb").exists()), None)
    if programs is None and shutil.which("initdb"):
        programs = Path(shutil.which("initdb")).parent
    if programs is None:
        pytest.skip("no Postgres on this machine")
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    pytest.importorskip("ibis.backends.postgres", reason="ibis lacks its Postgres backend")
    folder = Path("/tmp") / f"ltr_duel-postgres-{os.getpid()}"
    user = {}
    if os.getuid() == 0:
        user = {"user": "nobody"}
    folder.mkdir()
    shutil.chown(folder, **user) if user else None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": True, "cwd": "/", **user}
    try:
        subprocess.run([programs / "initdb", "-D", folder / "data", "-U", "tester", "-A", "trust"], **quiet)
        subprocess.run([programs / "pg_ctl", "-D", folder / "data", "-o", settings, "-w", "start"], **quiet)
        url = f"postgres://tester@127.0.0.1:{port}/postgres"
        yield url, psycopg
        subprocess.run([programs / "pg_ctl", "-D", folder / "data", "-m", "immediate", "stop"], **quiet)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
