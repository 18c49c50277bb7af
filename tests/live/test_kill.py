"""Killed at any moment, a store has each acknowledged page and event once, and leads to the same plan."""

import json
import os
import random
import signal
import sqlite3
import threading
import time
from contextlib import closing

import pytest

from ltr_duel.live import check_store
from tests.live.shop import LISTS, click, learn, opened, settings

CLIENTS = 8
GIVEN = settings(policy="double_thompson", window=0.05, batch=10)


def work(folder, seed, pipe):
    """Use an experiment by eight threads without end, and print each acknowledged call and each plan."""

    def say(*what):
        os.write(pipe, (json.dumps(what) + "\n").encode())  # one short write is not interleaved with others

    def client(number):
        rng = random.Random(f"{seed} {number}")
        while True:
            page = experiment.decide(f"user {rng.randrange(10**6)}", "q", LISTS)
            say("shown", page.impression, list(page.page))
            for _ in range(rng.randrange(3)):
                position = rng.randrange(1, 11)
                experiment.report(*click(page, position))
                say("click", page.impression, position)

    with opened(folder, GIVEN, clock=time.time, durable=True) as experiment:
        for number in range(CLIENTS):
            threading.Thread(target=client, args=(number,), daemon=True).start()
        while True:
            learn(experiment)
            say("plan", experiment.plan.version, experiment.plan.sets)
            time.sleep(0.01)


def killed(folder, seed):
    """Start a process, kill it after some of its calls, and return what it printed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            work(folder, seed, writing)
        finally:
            os._exit(1)
    os.close(writing)
    rng, text = random.Random(seed), b""
    enough = rng.randrange(1, 40_000)
    while len(text) < enough:
        part = os.read(reading, 1 << 16)
        assert part, "the process ended by itself"
        text += part
    time.sleep(rng.random() * 0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while part := os.read(reading, 1 << 16):
        text += part
    os.close(reading)
    return [json.loads(line) for line in text.decode().split("\n")[:-1]]


@pytest.mark.parametrize("times", [3, pytest.param(30, marks=pytest.mark.long)])
def test_what_was_acknowledged_survives_being_killed(tmp_path, times):
    shown, clicks, plans = {}, set(), {}
    for seed in range(times):
        for what, name, value in killed(tmp_path, seed):
            if what == "shown":
                assert shown.setdefault(name, value) == value
            elif what == "click":
                clicks.add((name, value))
            else:
                plans[name] = [(tuple(rankers), draws) for rankers, draws in value]
        with opened(tmp_path, GIVEN) as experiment:
            plan, state = experiment.plan, experiment.state()
        assert list(plan.sets) == plans.get(plan.version, list(plan.sets)) and plan.version >= max(plans, default=1)
        assert check_store(tmp_path / "shop.db") == []
        with closing(sqlite3.connect(tmp_path / "shop.db")) as db:
            pages = {
                name: json.loads(record)["shown"]
                for name, record in db.execute("SELECT impression, record FROM exposures")
            }
            events = set(db.execute("SELECT impression, position FROM events"))
            ((outcomes,),) = db.execute("SELECT count(*) FROM outcomes")
            ((counted,),) = db.execute("SELECT count(*) FROM exposures WHERE learned AND seen")
            ((second,),) = db.execute("SELECT sum(n) FROM counts")
        assert {name: pages.get(name) for name in shown} == shown and clicks <= events
        assert len(pages) - len(shown) <= (seed + 1) * CLIENTS and len(events) - len(clicks) <= (seed + 1) * CLIENTS
        assert outcomes == counted == state.compared + state.alone and second == state.compared
        assert plan.version == 1 + outcomes // GIVEN.batch
    assert plan.version > times
