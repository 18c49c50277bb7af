"""A long experiment opens as fast as a short one, and needs no more memory."""

import sqlite3
import time
from contextlib import closing

import pytest

from ltr_duel.live import Experiment
from tests.live.shop import opened, settings
from tests.live.test_experiment import use

ROWS = 1_000_000


@pytest.mark.long
def test_a_store_of_a_million_events_opens_in_less_than_a_second(tmp_path, monkeypatch):
    monkeypatch.setattr("ltr_duel.live.actions._SNAPSHOT_EVERY", 10**9)
    with opened(tmp_path, settings(policy="random")) as experiment:
        use(experiment, 2100)
        experiment._store.save(experiment._actions.memory.snapshot())
        pages, events = experiment._actions.memory.pages, experiment._actions.memory.events
    with closing(sqlite3.connect(tmp_path / "shop.db")) as db, db:  # the same pages again and again
        old = f"WITH RECURSIVE n(k) AS (SELECT {{last}} + 1 UNION ALL SELECT k + 1 FROM n WHERE k < {ROWS})"
        db.execute(
            f"{old.format(last=pages)} INSERT INTO pages"
            " SELECT k, at, query, user, arms, shown, sheet, chance, NULL, NULL"
            f" FROM n JOIN pages ON page = 1 + k % {pages}"
        )
        db.execute(
            f"{old.format(last=events)} INSERT INTO events SELECT k, k, e.at, kind, clicks, credit, signs, seen"
            f" FROM n JOIN events e ON event = 1 + k % {events}"
        )
        db.execute("UPDATE snapshot SET events = ?, pages = ?", (ROWS - 2000, ROWS - 2000))
    start = time.process_time()
    with Experiment.open(tmp_path / "shop.db") as experiment:
        took = time.process_time() - start
        assert experiment.pages == experiment._actions.memory.events == ROWS
    assert took < 1


def resident():
    with open("/proc/self/statm") as file:  # noqa: PTH123 -- a file of the system
        return int(file.read().split()[1]) * 4096


@pytest.mark.long
def test_memory_does_not_grow_with_the_pages(tmp_path):
    with opened(tmp_path) as experiment:
        use(experiment, 30_000, batch=100)  # pages without clicks reach the limit of open pages
        experiment._clock.now += 60
        experiment.expire()
        before = resident()
        for part in range(9):
            use(experiment, 30_000, part, batch=100)
            experiment._clock.now += 60
            experiment.expire()
        assert resident() - before < 20e6
