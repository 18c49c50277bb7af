"""Killed at any moment, an experiment has each acknowledged page and click exactly once, and nothing else."""

import os
import random
import signal
import sqlite3
import struct
import time
from contextlib import closing

import pytest

from ltr_duel.live import Decide, Experiment, Record
from ltr_duel.live.memory import Memory
from tests.live.shop import RANKINGS, opened, settings

_ACK = struct.Struct("<QH")  # page, and 0 for shown or 1 + the place that was clicked (1000: none)
_BATCH = 6


def work(folder, seed, pipe):
    """Use an experiment without end, and print each acknowledged call."""
    rng = random.Random(seed)
    with opened(folder, settings(policy=POLICY), clock=time.time) as experiment:
        shown = []
        while True:
            calls = [Decide("q", RANKINGS, f"u{rng.randrange(9)}") for _ in range(_BATCH)]
            late = [shown.pop(rng.randrange(len(shown))) for _ in range(min(len(shown), rng.randrange(2 * _BATCH)))]
            places = [rng.randrange(len(page.shown)) if rng.random() < 0.5 else 999 for page in late]
            calls += [Record(page.token, page.shown[k : k + 1]) for page, k in zip(late, places, strict=True)]
            answers = experiment.answer(calls)
            shown += answers[:_BATCH]
            acks = [(page.page, 0) for page in answers[:_BATCH]]
            acks += [(page.page, 1 + k) for page, k in zip(late, places, strict=True)]
            os.write(pipe, b"".join(_ACK.pack(*ack) for ack in acks))


POLICY = "rucb"


def killed(folder, seed):
    """Start a process, kill it, and return the acknowledged calls."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            work(folder, seed, writing)
        finally:
            os._exit(1)
    os.close(writing)
    rng, found = random.Random(-seed), b""
    enough = rng.randrange(1, 60) * _BATCH * _ACK.size
    while len(found) < enough:
        part = os.read(reading, enough - len(found))
        assert part, "the process ended by itself"
        found += part
    time.sleep(rng.random() * 0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while part := os.read(reading, 1 << 16):
        found += part
    os.close(reading)
    whole = len(found) - len(found) % _ACK.size
    return list(_ACK.iter_unpack(found[:whole]))


def survive(folder, times, monkeypatch):
    shown, clicks = set(), {}
    for seed in range(1, times + 1):
        for page, said in killed(folder, seed):
            if said == 0:
                assert page not in shown
                shown.add(page)
            else:
                assert page not in clicks
                clicks[page] = b"" if said == 1000 else struct.pack("<H", said - 1)
        start = time.perf_counter()
        with Experiment.open(folder / "shop.db") as experiment:
            assert time.perf_counter() - start < 5
            state = experiment.state().to_json()
            with monkeypatch.context() as patch:  # read the whole file instead of the snapshot
                patch.setattr("ltr_duel.live.store.LiveStore.snapshot", lambda self: None)
                afresh = Memory(experiment.settings, experiment._store, experiment._steps)
            known = experiment._actions.memory
            assert afresh.turns.waiting() == known.turns.waiting() and afresh.turns.asked == known.turns.asked
            assert afresh.turns.policy.steps == state["steps"] and afresh.turns.pulls.tolist() == state["pulls"]
            assert afresh.tally.fresh.tolist() == known.tally.fresh.tolist()
            assert afresh.waiting == known.waiting
        with closing(sqlite3.connect(folder / "shop.db")) as db, db:
            pages = [page for (page,) in db.execute("SELECT page FROM pages")]
            events = db.execute("SELECT page, clicks FROM events WHERE kind > 0").fetchall()
        kept = dict(events)
        assert len(kept) == len(events) and pages == list(range(1, len(pages) + 1))
        assert shown <= set(pages) and len(pages) - len(shown) <= seed * _BATCH
        assert {page: kept.get(page) for page in clicks} == clicks
        assert len(kept) - len(clicks) <= seed * 2 * _BATCH
        closed = state["clicked"] + state["unclicked"] + state["expired"]  # on a busy machine deadlines pass
        assert state["pages"] == len(pages) and closed == len(kept)
        assert set(known.waiting) == set(pages) - set(kept)


def test_it_survives_being_killed(tmp_path, monkeypatch):
    monkeypatch.setattr("ltr_duel.live.actions._SNAPSHOT_EVERY", 40)
    survive(tmp_path, 5, monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("policy", ["rucb", "multi_self_sparring:size=3"])
def test_it_survives_being_killed_fifty_times(tmp_path, monkeypatch, policy):
    monkeypatch.setattr("tests.live.test_kill.POLICY", policy)
    monkeypatch.setattr("ltr_duel.live.actions._SNAPSHOT_EVERY", 100)
    survive(tmp_path, 50, monkeypatch)
