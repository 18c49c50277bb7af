"""A backup contains all acknowledged data; a copy without some of them is detected."""

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from ltr_duel.core import InputError
from ltr_duel.live import Experiment, backup_store, check_store, export_log, read_switches
from tests.live.shop import KEYS, RANKINGS, Clock, opened


def use(experiment, pages):
    """Show pages and report their clicks."""
    for _ in range(pages):
        experiment.record(experiment.decide("q", RANKINGS).token, [])


def reopened(path):
    return Experiment.open(path, keys=KEYS, clock=Clock())


def test_a_backup_while_a_service_writes_has_all_that_was_acknowledged(tmp_path):
    with opened(tmp_path) as experiment:
        use(experiment, 5)
        waits = experiment.decide("q", RANKINGS)
        assert backup_store(tmp_path / "shop.db", tmp_path / "copy.db") == 6
        before = experiment.state().to_json()
        use(experiment, 3)
    with reopened(tmp_path / "copy.db") as copy:
        assert copy.state().to_json() == before
        assert copy.record(waits.token, []).page == 6
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    assert sorted(one.name for one in tmp_path.iterdir()) == ["copy.db", "shop.db"]


def test_a_restored_backup_goes_on_as_the_store_did(tmp_path):
    with opened(tmp_path) as experiment:
        use(experiment, 5)
        backup_store(tmp_path / "shop.db", tmp_path / "copy.db")
        asked, before = experiment.asked, experiment.state().to_json()
        use(experiment, 3)
    for one in tmp_path.glob("shop.db*"):
        one.unlink()
    backup_store(tmp_path / "copy.db", tmp_path / "shop.db")
    with opened(tmp_path) as experiment:
        assert experiment.asked == asked and experiment.state().to_json() == before


def test_a_backup_replaces_nothing(tmp_path):
    opened(tmp_path).close()
    for name in ("shop.db", "copy.db"):
        (tmp_path / "copy.db-wal").touch()
        with pytest.raises(InputError, match="this file exists already"):
            backup_store(tmp_path / "shop.db", tmp_path / name)
    with pytest.raises(InputError, match="is not a store of a live experiment"):
        backup_store(tmp_path / "copy.db-wal", tmp_path / "other.db")
    assert not (tmp_path / "other.db").exists()


@pytest.mark.parametrize("pages", [0, 1, 5, 600])
def test_a_file_that_was_copied_without_its_log_is_refused(tmp_path, pages):
    """After 500 pages and their events, SQLite moves the log into the file; later pages are in the log again."""
    with opened(tmp_path) as experiment:
        use(experiment, pages)
        shutil.copy(tmp_path / "shop.db", tmp_path / "copy.db")
        for read in 2 * (reopened, lambda path: export_log(path, tmp_path / "log.jsonl")):
            with pytest.raises(InputError, match=r"copy.db: is a copy of a store in use, without the log"):
                read(tmp_path / "copy.db")
    assert not (tmp_path / "log.jsonl").exists()
    found = backup_store(tmp_path / "copy.db", tmp_path / "accepted.db", without_log=True)
    assert found <= pages
    with reopened(tmp_path / "accepted.db") as copy:
        assert copy.pages == found


@pytest.mark.parametrize("pages", [1, 600])
def test_a_copy_of_a_store_that_is_closed_is_the_store(tmp_path, pages):
    for _ in range(2):
        with opened(tmp_path) as experiment:
            use(experiment, pages)
    shutil.copy(tmp_path / "shop.db", tmp_path / "copy.db")
    with reopened(tmp_path / "copy.db") as copy:
        assert copy.pages == 2 * pages


def test_a_check_notices_a_copy_that_another_program_helped_to_pass_for_the_store(tmp_path):
    """A foreign checkpoint moves the log into the file; later acknowledged calls are only in the log again."""
    with opened(tmp_path) as experiment:
        use(experiment, 3)
        with closing(sqlite3.connect(tmp_path / "shop.db")) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        assert check_store(tmp_path / "shop.db") == []  # the lock shows that the store is in use
        use(experiment, 2)
        shutil.copy(tmp_path / "shop.db", tmp_path / "copy.db")
        assert check_store(tmp_path / "shop.db") == []
        (complaint,) = check_store(tmp_path / "copy.db")
        assert "the latest pages are missing" in complaint
        backup_store(tmp_path / "shop.db", tmp_path / "backup.db")
        assert check_store(tmp_path / "backup.db") == []
    shutil.copy(tmp_path / "shop.db", tmp_path / "closed.db")
    assert check_store(tmp_path / "closed.db") == check_store(tmp_path / "shop.db") == []
    with reopened(tmp_path / "copy.db") as copy:
        assert copy.pages == 3


@pytest.mark.parametrize("pages", [1, 499, 500, 501])
def test_a_killed_process_leaves_a_store_that_opens(tmp_path, pages):
    """The store opens whether or not another program has moved the log into the file."""
    words = (
        "from tests.live.shop import *; from pathlib import Path; import os; from tests.live.test_backup import use; "
    )
    words += f"e = opened(Path({str(tmp_path)!r})); use(e, {pages}); os._exit(9)"
    assert subprocess.run([sys.executable, "-c", words], cwd=Path.cwd()).returncode == 9
    assert (tmp_path / "shop.db-wal").exists()
    if pages % 2:
        with closing(sqlite3.connect(tmp_path / "shop.db")) as db:
            db.execute("SELECT count(*) FROM pages").fetchone()
        assert not (tmp_path / "shop.db-wal").exists()
    with opened(tmp_path) as experiment:
        assert experiment.pages == pages


@pytest.mark.parametrize(
    "spoil, complaint",
    [
        ("UPDATE pages SET sheet = x'00' WHERE page = 3", "page 3 is damaged"),
        ("UPDATE pages SET shown = '[1' WHERE page = 6", "page 6 is damaged"),
        ("UPDATE pages SET arms = x'ffff' WHERE page = 2", "page 2 is damaged"),
        ("DELETE FROM pages WHERE page = 2", "1 pages are missing"),
        ("DELETE FROM pages WHERE page = 6", "1 open pages have no row"),
        ("DELETE FROM events WHERE event = 2", "1 events are missing"),
        ("INSERT INTO waiting (page, expires) VALUES (1, 5)", "1 pages are both open and closed"),
    ],
)
def test_a_check_finds_what_is_wrong(tmp_path, spoil, complaint):
    with opened(tmp_path) as experiment:
        use(experiment, 5)
        experiment.decide("q", RANKINGS)
        assert check_store(tmp_path / "shop.db") == []
    with closing(sqlite3.connect(tmp_path / "shop.db")) as db, db:
        db.execute(spoil)
    assert complaint in check_store(tmp_path / "shop.db")


def test_a_check_of_a_file_that_is_cut_is_one_sentence_or_a_complaint(tmp_path):
    with opened(tmp_path) as experiment:
        use(experiment, 200)
    size = (tmp_path / "shop.db").stat().st_size
    with (tmp_path / "shop.db").open("r+b") as file:
        file.seek(size // 2)
        file.write(b"\xff" * 4096)
    try:
        assert check_store(tmp_path / "shop.db")
    except InputError as error:
        assert "shop.db: " in str(error)


def test_who_reads_a_store_that_is_not_in_use_leaves_nothing_beside_it(tmp_path):
    with opened(tmp_path) as experiment:
        use(experiment, 20)
        backup_store(tmp_path / "shop.db", tmp_path / "copy.db")
    for name in ("shop.db", "copy.db"):
        before = (tmp_path / name).read_bytes()
        assert check_store(tmp_path / name) == []
        read_switches(tmp_path / name)
        export_log(tmp_path / name, tmp_path / "log.jsonl")
        assert (tmp_path / name).read_bytes() == before
    assert {one.name for one in tmp_path.iterdir()} == {"shop.db", "copy.db", "log.jsonl"}
