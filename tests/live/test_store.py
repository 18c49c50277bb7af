"""The store: complete transactions, one writer, no lost acknowledged data, and one sentence for anything else."""

import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress

import pytest

from ltr_duel.core import InputError
from ltr_duel.live import (
    Decide,
    Experiment,
    Record,
    StoreError,
    Switch,
    UsedError,
    check_store,
    export_log,
    forget,
    switch_store,
)
from tests.live.shop import RANKINGS, opened, settings
from tests.live.test_experiment import use


def kept(folder):
    """Return the number of pages and events in a store."""
    with closing(sqlite3.connect(folder / "shop.db")) as db, db:
        return tuple(db.execute(f"SELECT count(*) FROM {one}").fetchone()[0] for one in ("pages", "events"))


def test_what_was_answered_is_in_the_file_at_once(tmp_path):
    with opened(tmp_path) as experiment:
        page = experiment.decide("q", RANKINGS)
        assert kept(tmp_path) == (1, 0)
        experiment.record(page.token, [])
        assert kept(tmp_path) == (1, 1)


def test_every_transaction_waits_for_the_disk(tmp_path):
    with opened(tmp_path) as experiment:
        db = experiment._store._db
        assert db.execute("PRAGMA synchronous").fetchone() == (2,)
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert db.execute("PRAGMA fullfsync").fetchone() == (1,)  # without it, macOS syncs only to the disk's cache
        assert db.execute("PRAGMA checkpoint_fullfsync").fetchone() == (1,)


def test_a_second_writer_is_refused_and_a_reader_is_not(tmp_path):
    with opened(tmp_path) as experiment:
        page = experiment.decide("q", RANKINGS)
        experiment.record(page.token, [])
        with pytest.raises(InputError, match=rf"shop.db: another process \({os.getpid()}\) is writing there"):
            opened(tmp_path)
        code = f"from ltr_duel.live import Experiment; Experiment.open({str(tmp_path / 'shop.db')!r})"
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert "is writing there" in other.stderr and other.returncode != 0
        assert export_log(tmp_path / "shop.db", tmp_path / "log.jsonl") == 1
        experiment.decide("q", RANKINGS)
    opened(tmp_path).close()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["log.jsonl", "shop.db"]


def test_a_link_to_a_store_is_the_store(tmp_path):
    with opened(tmp_path):
        (tmp_path / "link.db").symlink_to(tmp_path / "shop.db")
        with pytest.raises(InputError, match="is writing there"):
            Experiment.open(tmp_path / "link.db")
    with Experiment.open(tmp_path / "link.db") as experiment, pytest.raises(InputError, match="is writing there"):
        assert experiment.pages == 0
        opened(tmp_path)


def test_a_store_with_two_names_is_refused(tmp_path):
    opened(tmp_path).close()
    os.link(tmp_path / "shop.db", tmp_path / "other.db")
    with pytest.raises(InputError, match="second name"):
        opened(tmp_path)


def test_a_second_writer_without_the_lock_is_noticed_and_nothing_counts_twice(tmp_path, monkeypatch):
    """The lock file was removed, for example by a clean-up program."""
    monkeypatch.setattr("ltr_duel.live.running._PAUSE", 0.0)
    with opened(tmp_path) as one:
        pages = [one.decide("q", RANKINGS) for _ in range(4)]
        for lock in tmp_path.glob("*-lock*"):
            lock.unlink()
        with opened(tmp_path) as other:
            for first, second, page in ((one, other, pages[0]), (other, one, pages[1])):
                assert first.record(page.token, []).page == page.page
                with pytest.raises(StoreError, match="another program has written"):
                    second.decide("q", RANKINGS)
                with pytest.raises(UsedError):
                    second.record(page.token, [])
            state = other.state()
            assert (state.pages, state.unclicked, state.open) == (4, 2, 2) == (one.pages, 2, one.open_pages)
    with opened(tmp_path) as experiment:
        assert experiment.state().unclicked == 2


@pytest.mark.parametrize("name", ["shop.db", "shop.db-wal"])
def test_a_store_that_is_moved_away_is_written_no_more_until_it_is_back(tmp_path, monkeypatch, name):
    monkeypatch.setattr("ltr_duel.live.running._PAUSE", 0.0)
    with opened(tmp_path) as experiment:
        page = experiment.decide("q", RANKINGS)
        (tmp_path / name).rename(tmp_path / "elsewhere")
        for call in (lambda: experiment.decide("q", RANKINGS), experiment.expire, experiment.try_store):
            with pytest.raises(StoreError, match="moved away"):
                call()
        if name == "shop.db":
            (tmp_path / name).write_bytes((tmp_path / "elsewhere").read_bytes())
            with pytest.raises(StoreError, match="replaced by another file"):
                experiment.record(page.token, [])
        (tmp_path / "elsewhere").rename(tmp_path / name)
        assert experiment.record(page.token, []).page == 1
    with opened(tmp_path) as experiment:
        assert (experiment.pages, experiment.open_pages) == (1, 0)


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
def test_a_store_that_is_cut_short_is_written_no_more_and_is_refused_in_a_sentence(tmp_path, monkeypatch, part):
    monkeypatch.setattr("ltr_duel.live.running._PAUSE", 0.0)
    path = tmp_path / "shop.db"
    with opened(tmp_path) as experiment:
        use(experiment, 400)
    with opened(tmp_path) as experiment:
        experiment.decide("q", RANKINGS)
        with path.open("r+b") as file:
            file.truncate(int(path.stat().st_size * part))
        for _ in range(2):
            with pytest.raises(StoreError, match=r"truncated|cannot be read"):
                experiment.decide("q", RANKINGS)
            with suppress(StoreError):
                experiment.state()
    with pytest.raises(InputError, match=r"shop\.db: ") as found:
        opened(tmp_path)
    assert "\n" not in str(found.value)


def test_a_lock_of_another_program_holds_a_search_up_for_less_than_a_second(tmp_path):
    with opened(tmp_path) as experiment, closing(sqlite3.connect(tmp_path / "shop.db")) as other:
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        with pytest.raises(StoreError, match="locked"):
            experiment.decide("q", RANKINGS)
        assert time.monotonic() - began < 1


@pytest.mark.skipif(os.name != "posix", reason="files have no modes of that kind there")
def test_the_lock_is_for_its_owner_alone(tmp_path):
    with opened(tmp_path):
        modes = {one.name: one.stat().st_mode & 0o777 for one in tmp_path.glob("*-lock*")}
    assert modes == {"shop.db-lock": 0o600, "shop.db-lock.pid": 0o600}


def test_a_full_disk_loses_nothing_and_changes_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("ltr_duel.live.running._PAUSE", 0.0)
    lists = {name: [f"{one}{'x' * 2000}" for one in ids] for name, ids in RANKINGS.items()}
    with opened(tmp_path) as experiment:
        pages = [experiment.decide("q", lists) for _ in range(3)]
        experiment.record(pages[0].token, [])
        before, db = experiment.state().to_json(), experiment._store._db
        (size,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count = {size}")
        with pytest.raises(StoreError, match="full"):
            for _ in range(50):
                experiment.decide("q", lists)
        assert experiment.state().pages < 50
        full = experiment.state().to_json()
        for _ in range(2):
            with pytest.raises(StoreError, match="cannot be written now"):
                experiment.answer([*[record_call(page) for page in pages[1:]], *([decide_call(lists)] * 40)])
        assert experiment.state().to_json() == full
        db.execute("PRAGMA max_page_count = 1000000")
        assert experiment.record(pages[1].token, []).page == 2
        assert experiment.decide("q", lists).page == full["pages"] + 1
    assert full["steps"] == before["steps"]
    with opened(tmp_path) as experiment:
        assert experiment.state().unclicked == 2


def record_call(page):
    return Record(page.token, [])


def decide_call(lists):
    return Decide("q", lists)


def test_after_a_failure_the_store_is_left_alone_for_a_moment(tmp_path):
    with opened(tmp_path) as experiment:
        experiment._store._db.execute("PRAGMA query_only = 1")
        with pytest.raises(StoreError, match="cannot be written now"):
            experiment.decide("q", RANKINGS)
        with pytest.raises(StoreError, match="a moment ago"):
            experiment.decide("q", RANKINGS)
        experiment._store._db.execute("PRAGMA query_only = 0")
        experiment._retry = 0
        assert experiment.decide("q", RANKINGS).page == 1


def test_an_error_of_the_program_takes_the_whole_batch_back(tmp_path, monkeypatch):
    monkeypatch.setattr("ltr_duel.live.running._PAUSE", 0.0)
    with opened(tmp_path) as experiment:
        pages = [experiment.decide("q", RANKINGS) for _ in range(2)]
        before = experiment.state().to_json()
        monkeypatch.setattr("ltr_duel.live.memory.Tally.happen", lambda *given: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            experiment.answer([decide_call(RANKINGS), record_call(pages[0])])
        monkeypatch.undo()
        assert experiment.state().to_json() == before and kept(tmp_path) == (2, 0)


@pytest.mark.parametrize(
    "other", ["rankers", "policy", "method", "seed", "top", "order", "name", "horizon", "confidence"]
)
def test_an_experiment_goes_on_by_its_own_rules_only(tmp_path, other):
    opened(tmp_path).close()
    changed = {
        "rankers": ("a", "b"),
        "policy": "rucb:alpha=0.6",
        "method": "balanced",
        "seed": 1,
        "top": 9,
        "order": "shown",
        "name": "x",
        "horizon": 9,
        "confidence": 0.9,
    }
    with pytest.raises(InputError, match=f"shop.db: the experiment in this store began with {other} "):
        opened(tmp_path, settings(**{other: changed[other]}))


def in_place(path, content):
    with path.open("r+b") as file:
        file.write(content)
        file.truncate()


@pytest.mark.parametrize("spoil", ["another store", "zeros", "an earlier copy"])
def test_a_file_that_is_written_over_in_place_is_noticed_and_nothing_is_lost(tmp_path, monkeypatch, spoil):
    monkeypatch.setattr("ltr_duel.live.running._PAUSE", 0.0)
    monkeypatch.setattr("ltr_duel.live.transactions._ROWS", 10)
    (tmp_path / "other").mkdir()
    with opened(tmp_path / "other") as other:
        use(other, 100)
    path = tmp_path / "shop.db"
    with opened(tmp_path) as experiment:
        use(experiment, 20)
        early = path.read_bytes()
        use(experiment, 40)
        content, pages = path.read_bytes(), experiment.pages
        spoilt = {"another store": (tmp_path / "other" / "shop.db").read_bytes(), "zeros": bytes(len(content))}
        more = spoilt.get(spoil, early).ljust(len(content), b"\0")
        in_place(path, more)
        for _ in range(2):
            with pytest.raises(StoreError, match="written over"):
                experiment.decide("q", RANKINGS)
        in_place(path, content)
        assert experiment.decide("q", RANKINGS).page == pages + 1
    assert check_store(path) == []


def test_a_program_that_puts_the_log_into_the_file_does_not_stop_the_service(tmp_path):
    path = tmp_path / "shop.db"
    with opened(tmp_path) as experiment:
        use(experiment, 20)
        pages, before = experiment.pages, path.stat().st_mtime_ns
        with closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA wal_checkpoint").fetchall()
        assert path.stat().st_mtime_ns > before
        assert experiment.decide("q", RANKINGS).page == pages + 1


def test_what_may_change_changes(tmp_path):
    opened(tmp_path).close()
    opened(tmp_path, settings(margin=0.1, deadline=5.0)).close()
    with Experiment.open(tmp_path / "shop.db") as experiment:
        assert (experiment.settings.margin, experiment.settings.deadline) == (0.1, 5.0)


def foreign(path):
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE pages (page)")


def later(path):
    opened(path.parent).close()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA user_version = 99")


def truncated(path):
    with opened(path.parent) as experiment:
        for _ in range(200):
            experiment.decide("q", RANKINGS)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def snapshot_of_nothing(path):
    opened(path.parent).close()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("INSERT INTO snapshot VALUES (1, 0, 0, x'00', '[]')")


@pytest.mark.parametrize(
    "spoil, sentence",
    [
        (lambda path: path.write_bytes(b""), "is not a store of a live experiment"),
        (lambda path: path.write_bytes(b"hello" * 1000), "is not a store of a live experiment"),
        (foreign, "is not a store of a live experiment"),
        (later, r"written by a later version of ltr-duel \(its schema is 99"),
        (truncated, "malformed|cannot be"),
        (snapshot_of_nothing, "cannot be read"),
        (lambda path: path.mkdir(), "no store|not a file"),
    ],
)
def test_a_file_that_is_no_store_is_refused_and_left_as_it_is(tmp_path, spoil, sentence):
    path = tmp_path / "shop.db"
    spoil(path)
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(InputError, match=sentence) as found:
        opened(tmp_path)
    assert "shop.db: " in str(found.value)
    assert (path.read_bytes() if path.is_file() else b"") == before


def test_a_place_where_nothing_can_be_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        Experiment.open(tmp_path / "file" / "shop.db", settings())
    with pytest.raises(InputError, match="there is no store"):
        Experiment.open(tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize("version, commit", [(1, "7a9b58c"), (2, "98b9506"), (6, "98b9506")])
def test_a_store_of_a_development_version_is_refused_with_the_commit_that_exports_it(tmp_path, version, commit):
    with opened(tmp_path) as experiment:
        experiment.decide("q", RANKINGS)
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(f"PRAGMA user_version = {version}")
    before = path.read_bytes()
    for use_of in (
        lambda: opened(tmp_path),
        lambda: export_log(path, tmp_path / "log.jsonl"),
        lambda: switch_store(path, Switch("pause")),
        lambda: forget(path, user="ann"),
    ):
        with pytest.raises(InputError, match=f"development version of ltr-duel; commit {commit} exports it"):
            use_of()
    assert path.read_bytes() == before
