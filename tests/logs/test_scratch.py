"""Memory and disk for the engine: limits by the size of the log, sentences, and remaining folders."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ltr_duel.core import InputError, host
from ltr_duel.logs import ClickLog, compare_log
from ltr_duel.logs.engine import Engine
from ltr_duel.logs.files import rows_in
from ltr_duel.logs.scratch import memory_limit
from tests.logs.test_places import impression, write

GIGA = 10**9
FILE = "clicks.parquet: cannot be read"


@pytest.fixture
def engine():
    return Engine(lambda error: InputError(FILE))


@pytest.mark.parametrize(
    ("rows", "free", "expected"),
    [
        (0, 64, 0.64),
        (10**7, 64, 0.64),
        (10**7 + 10**6, 64, 0.64 + 0.02),
        (2 * 10**8, 64, 2.5),
        (2 * 10**8, 3, 1.5),  # half of the free memory
        (10**7, 0.1, 0.256),  # nothing works with less
    ],
)
def test_memory_grows_with_the_log_and_leaves_half_of_what_is_free(monkeypatch, rows, free, expected):
    monkeypatch.setattr(host, "free_memory", lambda: int(free * GIGA))
    assert memory_limit(rows) == pytest.approx(expected * GIGA)


def test_a_variable_sets_the_memory(monkeypatch):
    for given, size in (("300MB", 0.3), ("1.5gb", 1.5)):
        monkeypatch.setenv("LTR_DUEL_LOGS_MEMORY", given)
        assert memory_limit(10**9) == size * GIGA
    for wrong in ("4", "GB", "255MB", "4TB", "nanGB", "infGB", "-1GB"):
        monkeypatch.setenv("LTR_DUEL_LOGS_MEMORY", wrong)
        with pytest.raises(InputError, match=f"must be a size of at least 256MB, such as 4GB, not '{wrong}'"):
            memory_limit(0)


def test_the_engine_is_given_the_memory_for_all_rows_of_all_files(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("ltr_duel.logs.engine.memory_limit", lambda rows: asked.append(rows) or 300_000_000)
    rows = [impression(n) for n in range(30)]
    for k in range(2):
        write(tmp_path / "days" / f"{k}.parquet", [row | {"impression": f"{k}/{row['impression']}"} for row in rows])
    log = ClickLog(tmp_path / "days")
    assert log.engine.rows("SELECT current_setting('memory_limit') AS m") == [{"m": "286.1 MiB"}]
    exposures = write(tmp_path / "exposures.parquet", [{k: v for k, v in row.items() if k != "clicks"} for row in rows])
    events = write(tmp_path / "events.parquet", [{"impression": "i1", "position": 1}] * 5)
    assert ClickLog(exposures, events=events).engine
    assert asked == [60, 35]


def test_rows_of_texts_are_told_by_their_size(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"x" * 1000)
    (tmp_path / "a.csv.gz").write_bytes(b"x" * 1000)
    assert rows_in([tmp_path / "a.csv", tmp_path / "a.csv.gz", tmp_path / "none.csv"]) == 10 + 50


def test_too_little_memory_is_named_with_the_limit_and_the_variable_and_the_query_is_logged(engine, caplog):
    engine.execute("SET memory_limit = '10MB'")
    with caplog.at_level(logging.DEBUG, "ltr_duel"), pytest.raises(InputError) as caught:
        engine.execute("CREATE TABLE t AS SELECT list(range) AS l FROM range(5000000)")
    said = str(caught.value)
    assert said.startswith("DuckDB needs more memory than its limit, 0.64 GB (")
    assert said.endswith(" GB is free): set LTR_DUEL_LOGS_MEMORY, such as LTR_DUEL_LOGS_MEMORY=1.3GB")
    assert "CREATE TABLE t AS" in caplog.text and "Out of Memory" in caplog.text


def test_a_full_disk_is_named_with_its_folder_and_what_to_do(engine):
    engine.execute("SET memory_limit = '40MB'; SET max_temp_directory_size = '1MB'; SET threads = 1")
    with pytest.raises(InputError, match=r"^DuckDB writes data that exceed .* is full"):
        engine.execute("CREATE TABLE t AS SELECT hash(range) AS h, range::VARCHAR AS s FROM range(3000000) ORDER BY 1")


@pytest.mark.parametrize("sentence", ["No space left on device", "There is not enough space on the disk"])
def test_what_the_system_says_of_a_full_disk_is_no_fault_of_the_file(engine, sentence):
    with pytest.raises(InputError, match="set TMPDIR to a folder on another disk"), engine.guarded():
        raise OSError(sentence)


def test_other_errors_are_of_the_file_and_an_interrupt_is_of_none(engine):
    import duckdb

    with pytest.raises(InputError, match=FILE):
        engine.insert("t", object(), new=True)
    with pytest.raises(InputError, match=FILE), engine.guarded():
        raise duckdb.IOException("no Parquet file")
    with pytest.raises(duckdb.InterruptException), engine.guarded():
        raise duckdb.InterruptException("Interrupted!")


def test_a_query_that_fails_is_not_said_to_be_an_unreadable_file(tmp_path, monkeypatch):
    log = ClickLog(write(tmp_path / "clicks.jsonl", [impression(n) for n in range(3)]))
    with pytest.raises(InputError, match=r"clicks.jsonl: DuckDB cannot run a query on it \(Binder Error: "):
        log.engine.execute("SELECT no_such_column FROM log")


def folders():
    return {one.name for one in Path(tempfile.gettempdir()).glob("ltr_duel-logs-*")}


def test_the_folder_of_a_killed_process_is_removed_by_the_next_one(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    text = "from ltr_duel.logs.engine import Engine; e = Engine(ValueError); print('made', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        (left,) = folders()
        mine = Engine(InputError)
        assert folders() > {left}  # a folder of a running process
        process.send_signal(signal.SIGKILL)
    assert left in folders()
    other = Engine(InputError)
    assert len(folders()) == 2 and left not in folders()
    for one in (mine, other):
        one.close()
    assert folders() == set()


def test_folders_of_others_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name, text in (
        ("a", None),
        ("b", "no JSON"),
        ("c", "[]"),
        ("d", '{"machine": "other", "pid": 1, "start": "1"}'),
    ):
        (tmp_path / f"ltr_duel-logs-{name}").mkdir()
        if text is not None:
            (tmp_path / f"ltr_duel-logs-{name}" / "process.json").write_text(text)
    target = tmp_path / "target"
    target.mkdir()
    (tmp_path / "ltr_duel-logs-link").symlink_to(target)
    (target / "process.json").write_text('{"machine": "", "pid": 1, "start": "1"}')
    monkeypatch.setattr("ltr_duel.logs.scratch.host.still_runs", lambda about: about["machine"] != "" and None)
    assert Engine(InputError) is not None
    assert {one.name[-1] for one in tmp_path.glob("ltr_duel-logs-?")} == {"a", "b", "c", "d"}
    assert (target / "process.json").exists()


def test_a_comparison_needs_no_more_than_the_least_memory(tmp_path, monkeypatch):
    monkeypatch.setenv("LTR_DUEL_LOGS_MEMORY", "256MB")
    rows = [impression(n, user=f"u{n % 9}", clicks=[1]) for n in range(60)]
    assert compare_log(ClickLog(write(tmp_path / "clicks.parquet", rows))).impressions == 60
