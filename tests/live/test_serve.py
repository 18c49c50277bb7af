"""The service as a process: its files, its errors at the start, its end, and a client at work."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager

import pytest

from ltr_duel.client import Client
from ltr_duel.core import InputError
from ltr_duel.live.serve import VARIABLE, run_service
from tests.conftest import hear_interrupts
from tests.live.asgi import LISTS

CONFIG = """
[experiment]
name = "shop"
rankers = ["bm25", "dense", "mixed"]
policy = "random"
window = 0.5

[serve]
port = 0
"""


@contextmanager
def process(folder, text=CONFIG, ends_with=128 + signal.SIGTERM, **environment):
    """Serve an experiment in a folder; yield the address, the process and a client."""
    (folder / "live.toml").write_text(text)
    words = [sys.executable, "-m", "ltr_duel.cli.main", "serve", str(folder / "live.toml")]
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE} | environment
    with (folder / "log").open("ab") as log:
        running = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=log, text=True, env=environment, preexec_fn=hear_interrupts
        )
    try:
        line = running.stdout.readline()
        assert line.startswith("listening on "), (folder / "log").read_text()
        key = environment.get(VARIABLE) or (folder / "api.key").read_text().strip()
        with Client(line.split()[-1], "bm25", key=key, deadline=30) as client:
            yield line.split()[-1], key, client
        running.send_signal(signal.SIGTERM)
        assert running.wait(60) == ends_with
    finally:
        running.kill()
        running.wait()
        running.stdout.close()


def state_of(url, key):
    """Return the state, which is computed at most once a second."""
    time.sleep(2.5)
    asked = urllib.request.Request(f"{url}/state", headers={"authorization": f"Bearer {key}"})
    with urllib.request.urlopen(asked, timeout=60) as answer:
        return json.load(answer)


def test_a_service_keeps_everything_over_a_restart_and_its_secrets_are_for_its_owner(tmp_path):
    with process(tmp_path) as (_, key, client):
        page = client.decide("u1", "shoes", LISTS)
        assert client.report(page.token, [{"kind": "view"}]) and page.served == "experiment"
    with process(tmp_path) as (url, again, client):
        assert again == key and len(key) == 32
        assert client.decide("u1", "shoes", LISTS) == page  # the token of the first process, too
        assert client.report(page.token, [{"kind": "view"}])
        state = state_of(url, key)
    assert (state["pages"], state["unseen"], state["compared"]) == (1, 0, 1)
    for name in ("api.key", "live.keys", "live.db"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    log = (tmp_path / "log").read_text()
    assert "'shop' is served at http://127.0.0.1:" in log and "the service of 'shop' has ended" in log
    assert "shoes" not in log and "u1" not in log and page.token not in log


@pytest.mark.long
def test_searches_whose_answer_comes_too_late_say_nothing_and_their_users_count_when_they_return(tmp_path):
    """The service commits these pages after the client has shown the incumbent's list."""
    with process(tmp_path, CONFIG.replace("0.5", "3"), **{VARIABLE: "k" * 16}) as (url, key, client):
        client.decide("warm", "shoes", LISTS)
        with Client(url, "bm25", key=key, deadline=0.05, pause=0) as hasty:
            other = sqlite3.connect(tmp_path / "live.db", isolation_level=None)
            other.execute("BEGIN IMMEDIATE")  # a slow disk
            shown = [hasty.decide(f"u{k}", "shoes", LISTS) for k in range(8)]
            other.execute("ROLLBACK")
        assert {page.served for page in shown} == {"fallback"}
        for k in range(8):
            page = client.decide(f"u{k}", "shoes", LISTS)
            assert client.report(page.token, [{"kind": "click", "document": page.page[0]}])
        time.sleep(3)
        state = state_of(url, key)
    assert state["unseen"] == 1 and state["compared"] == state["clicked"] == 8  # unseen: the page of "warm"
    assert sum(map(sum, state["first_wins"])) == 8 and sum(map(sum, state["first_ties"])) == 0


@pytest.mark.parametrize(
    "before, after, sentence",
    [
        ("port = 0", "port = 99999", "serve.port: the value must be between 0 and 65535"),
        ("port = 0", 'host = "no such host"', "cannot listen on no such host, port 8080"),
        ("port = 0", 'user_key_file = "x"', "user_key_file"),
        ("port = 0", 'api_key_file = "live.toml"', "an API key has at least 16 printable characters"),
        ('policy = "random"', 'policy = "rando"', "no policy 'rando'"),
    ],
)
def test_a_start_that_cannot_work_is_refused_in_a_sentence(tmp_path, monkeypatch, before, after, sentence):
    monkeypatch.delenv(VARIABLE, raising=False)
    (tmp_path / "live.toml").write_text(CONFIG.replace(before, after))
    with pytest.raises(InputError) as refused:
        run_service(tmp_path / "live.toml", ready=lambda url, key_file: pytest.fail("it serves"))
    assert sentence in str(refused.value)
    assert not (tmp_path / "live.db").exists()


def test_an_address_in_use_is_refused_in_a_sentence(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        (tmp_path / "live.toml").write_text(CONFIG)
        with pytest.raises(InputError, match=f"cannot listen on 127.0.0.1, port {port}"):
            run_service(tmp_path / "live.toml", port=port, ready=lambda url, key_file: pytest.fail("it serves"))


def test_a_key_in_the_environment_needs_no_file(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, "short")
    (tmp_path / "live.toml").write_text(CONFIG)
    with pytest.raises(InputError, match=f"{VARIABLE}: an API key has at least 16"):
        run_service(tmp_path / "live.toml", ready=lambda url, key_file: None)
    assert not (tmp_path / "api.key").exists()
