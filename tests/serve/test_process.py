"""The service as a process: killed under load, restarted, stopped. On 127.0.0.1 only."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from contextlib import closing, contextmanager

import numpy as np
import psutil
import pytest

from benchmarks.visitors import visit
from ltr_duel import serve
from ltr_duel.cli.main import main
from ltr_duel.client import Client
from ltr_duel.live import Experiment
from ltr_duel.live2 import SimulatedUsers
from tests.conftest import hear_interrupts, random_rankings
from tests.serve.asgi import KEY

CONFIG = """
[experiment]
name = "killed"
rankers = ["ranker 0", "ranker 1", "ranker 2"]
policy = "rucb"

[serve]
key_file = "live.keys"
port = 0
"""


@contextmanager
def process(folder, *options, ends_with):
    """Serve the experiment in the folder; yield the address and the process."""
    words = [sys.executable, "-m", "ltr_duel.cli.main", "serve", str(folder / "live.toml"), *options]
    env = os.environ | {"LTR_DUEL_API_KEY": KEY}
    with (folder / "log").open("ab") as log:
        running = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=log, text=True, env=env, preexec_fn=hear_interrupts
        )
    try:
        said = running.stdout.readline()
        assert said.startswith("listening on "), (folder / "log").read_text()
        yield said.split()[-1], running
        assert running.wait(60) == ends_with
    finally:
        running.kill()
        running.wait()
        running.stdout.close()


def users(seed):
    return SimulatedUsers(random_rankings(3, n_queries=20, n_docs=8, grades=3), seed=seed)


def state_of(url):
    time.sleep(1.2)  # a state is computed at most once a second
    asked = urllib.request.Request(f"{url}/state", headers={"authorization": f"Bearer {KEY}"})
    with urllib.request.urlopen(asked, timeout=60) as answer:
        return json.load(answer)


def killed_under_load(folder, seconds):
    """Kill a service at a given time after its first request; check that all acknowledged calls are in the store."""
    with process(folder, ends_with=-signal.SIGKILL) as (url, running):
        before = state_of(url)
        threading.Timer(seconds, running.kill).start()
        acknowledged = visit(users(1), url, 10**6, several=8, key=KEY).counted
    began = time.monotonic()
    with Experiment.open(folder / "live.db") as experiment:
        state = experiment.state()
    decided = state.pages - before["pages"]
    reported = state.clicked + state.unclicked - before["clicked"] - before["unclicked"]
    assert acknowledged["/decide"] <= decided <= acknowledged["/decide"] + 8  # requests in flight
    assert acknowledged["/clicks"] <= reported <= acknowledged["/clicks"] + 8
    return time.monotonic() - began


def test_a_service_that_is_killed_under_load_forgets_nothing_and_goes_on(tmp_path):
    (tmp_path / "live.toml").write_text(CONFIG)
    killed_under_load(tmp_path, 0.7)
    with process(tmp_path, ends_with=128 + signal.SIGTERM) as (url, running):
        before = state_of(url)
        found = visit(users(2), url, 40, several=4, key=KEY)
        state = state_of(url)
        assert (found.error, found.counted["/decide"], state["pages"] - before["pages"]) == ("", 40, 40)
        running.send_signal(signal.SIGTERM)
    log = (tmp_path / "log").read_text()
    events = [json.loads(line)["event"] for line in log.splitlines()]  # all lines are JSON
    assert events == ["start", "start", "stop"]


def test_a_service_whose_store_is_away_ends_tidily(tmp_path):
    (tmp_path / "live.toml").write_text(CONFIG)
    with process(tmp_path, ends_with=128 + signal.SIGTERM) as (url, running):
        assert visit(users(2), url, 3, key=KEY).counted["/decide"] == 3
        (tmp_path / "live.db").rename(tmp_path / "away.db")
        with Client(url, "ranker 0", key=KEY, deadline=5) as client:
            assert client.decide("q", {f"ranker {k}": ["a", "b"] for k in range(3)}).served == "away"
        running.send_signal(signal.SIGTERM)
    last = json.loads((tmp_path / "log").read_text().splitlines()[-1])
    assert (last["event"], last["pages"]) == ("stop", 3)


@pytest.mark.long
def test_on_a_full_disk_the_incumbents_list_is_served_and_nothing_acknowledged_is_lost(tmp_path):
    (tmp_path / "live.toml").write_text(CONFIG)
    with process(tmp_path, ends_with=128 + signal.SIGTERM) as (url, running):
        limited, limit = psutil.Process(running.pid), psutil.RLIMIT_FSIZE
        before = limited.rlimit(limit)
        limited.rlimit(limit, (2_000_000, psutil.RLIM_INFINITY))
        acknowledged = visit(users(1), url, 10**6, several=4, key=KEY).counted  # until a call is rejected
        assert visit(users(1), url, 3, key=KEY).counted == Counter(away=3)
        limited.rlimit(limit, before)
        time.sleep(2.2)  # the store is tried again each second
        assert visit(users(4), url, 20, key=KEY).counted["/decide"] == 20
        state = state_of(url)
        running.send_signal(signal.SIGTERM)
    assert acknowledged["/decide"] > 20
    assert state["pages"] == acknowledged["/decide"] + 20
    assert state["clicked"] + state["unclicked"] == acknowledged["/clicks"] + 20
    assert "Traceback" not in (tmp_path / "log").read_text()


@pytest.mark.long
def test_a_service_that_is_killed_fifty_times_forgets_nothing(tmp_path):
    (tmp_path / "live.toml").write_text(CONFIG)
    rng = np.random.default_rng(5)
    assert max(killed_under_load(tmp_path, float(rng.uniform(0.05, 1.5))) for _ in range(50)) < 10


@pytest.mark.long
def test_the_next_process_takes_over_when_the_first_ends(tmp_path):
    (tmp_path / "live.toml").write_text(CONFIG)
    words = [sys.executable, "-m", "ltr_duel.cli.main", "serve", str(tmp_path / "live.toml"), "--wait", "300"]
    lists = {f"ranker {k}": ["a", "b", "c"][k:] + ["a", "b", "c"][:k] for k in range(3)}
    with process(tmp_path, ends_with=128 + signal.SIGTERM) as (url, running):
        with Client(url, "ranker 0", key=KEY, deadline=60) as client:
            page = client.decide("q", lists)
        env = os.environ | {"LTR_DUEL_API_KEY": KEY}
        following = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=env, preexec_fn=hear_interrupts)
        time.sleep(3)
        assert following.poll() is None
        running.terminate()
    try:
        with Client(following.stdout.readline().split()[-1], "ranker 0", key=KEY, deadline=60) as client:
            assert client.clicks(page.token, [], deadline=60)
    finally:
        following.kill()
        following.wait()
        following.stdout.close()
    assert page.served == "experiment"


def test_another_law_is_served_only_if_it_is_accepted(tmp_path, capfd):
    (tmp_path / "live.toml").write_text(CONFIG)
    with process(tmp_path, ends_with=128 + signal.SIGTERM) as (_, running):
        running.terminate()
    with closing(sqlite3.connect(tmp_path / "live.db")) as db, db:
        db.execute("UPDATE about SET value = replace(value, '\"numbers\": 1', '\"numbers\": 2') WHERE key = 'code'")
    with pytest.raises(SystemExit) as ended:
        main("serve", str(tmp_path / "live.toml"))
    assert ended.value.code == 2
    wrong = "another version of 'rucb' (numbers version 2, now 1); continue with --accept-new-code"
    assert wrong in capfd.readouterr().err
    with process(tmp_path, "--accept-new-code", ends_with=128 + signal.SIGTERM) as (_, running):
        running.terminate()
    (line,) = [line for line in (tmp_path / "log").read_text().splitlines() if '"new code"' in line]
    event = json.loads(line)
    assert (event["before"]["numbers"], event["now"]["numbers"]) == (2, 1)


def test_serving_without_its_packages_is_one_sentence(tmp_path, monkeypatch, capfd):
    for name in [name for name in sys.modules if re.match(r"ltr_duel\.serve\.(run|app)$", name)]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("run_service", "run", "make_app", "app"):  # exports that are loaded already
        monkeypatch.delitem(serve.__dict__, name, raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(SystemExit) as ended:
        main("serve", str(tmp_path / "live.toml"))
    assert ended.value.code == 2
    assert "pip install 'ltr-duel[serve]'" in capfd.readouterr().err
