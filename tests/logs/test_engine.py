"""Memory and disk for the engine: limits by the size of the log, sentences, and remaining folders."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import pytest

from ltr_duel.core import InputError, host
from ltr_duel.logs import ClickLog, compare_log
from ltr_duel.logs.engine import Engine, memory_limit
from ltr_duel.logs.files import rows_in
from tests.logs.tables import impression, write

GIGA = 10**9
FILE = "clicks.parquet: cannot be read"


@pytest.fixture
def engine():
    return Engine(lambda error: InputError(FILE))


@pytest.mark.parametrize(
    ("rows", "free", "expected"),
    [
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


def test_a_variable_sets_the_memory_and_the_least_suffices(tmp_path, monkeypatch):
    for given, size in (("300MB", 0.3), ("1.5gb", 1.5)):
        monkeypatch.setenv("LTR_DUEL_LOGS_MEMORY", given)
        assert memory_limit(10**9) == size * GIGA
    for wrong in ("4", "GB", "255MB", "4TB", "nanGB", "infGB", "-1GB"):
        monkeypatch.setenv("LTR_DUEL_LOGS_MEMORY", wrong)
        with pytest.raises(InputError, match=f"must be a size of at least 256MB, such as 4GB, not '{wrong}'"):
            memory_limit(0)
    monkeypatch.setenv("LTR_DUEL_LOGS_MEMORY", "256MB")
    rows = [impression(n, user=f"u{n % 9}", clicks=[1]) for n in range(60)]
    assert compare_log(ClickLog(write(tmp_path / "clicks.parquet", rows))).impressions == 60


def test_the_engine_is_given_the_memory_for_all_rows_of_all_files(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("ltr_duel.logs.engine.memory_limit", lambda rows: asked.append(rows) or 300_000_000)
    for k in range(2):
        write(tmp_path / "days" / f"{k}.parquet", [impression(n, impression=f"{k}/{n}") for n in range(30)])
    assert ClickLog(tmp_path / "days").engine.rows("SELECT current_setting('memory_limit') AS m") == [
        {"m": "286.1 MiB"}
    ]
    events = write(tmp_path / "events.parquet", [{"impression": "i1", "position": 1}] * 5)
    assert ClickLog(tmp_path / "days/0.parquet", events=events).engine
    (tmp_path / "a.csv").write_bytes(b"x" * 1000)
    (tmp_path / "a.csv.gz").write_bytes(b"x" * 1000)
    assert asked == [60, 35] and rows_in([tmp_path / "a.csv", tmp_path / "a.csv.gz", tmp_path / "none.csv"]) == 10 + 50


def test_too_little_memory_is_named_with_the_limit_and_the_variable_and_the_query_is_logged(engine, caplog):
    engine.execute("SET memory_limit = '10MB'")
    with caplog.at_level(logging.DEBUG, "ltr_duel"), pytest.raises(InputError) as caught:
        engine.execute("CREATE TABLE t AS SELECT list(range) AS l FROM range(5000000)")
    assert str(caught.value).startswith("DuckDB needs more memory than its limit, 0.64 GB (")
    assert str(caught.value).endswith(" GB is free): set LTR_DUEL_LOGS_MEMORY, such as LTR_DUEL_LOGS_MEMORY=1.3GB")
    assert "CREATE TABLE t AS" in caplog.text and "Out of Memory" in caplog.text


def test_a_full_disk_is_named_with_its_folder_and_what_to_do(engine):
    engine.execute("SET memory_limit = '40MB'; SET max_temp_directory_size = '1MB'; SET threads = 1")
    with pytest.raises(InputError, match=r"^DuckDB writes data that exceed .* is full"):
        engine.execute("CREATE TABLE t AS SELECT hash(range) AS h, range::VARCHAR AS s FROM range(3000000) ORDER BY 1")
    for sentence in ("No space left on device", "There is not enough space on the disk"):
        with pytest.raises(InputError, match="set TMPDIR to a folder on another disk"), engine.guarded():
            raise OSError(sentence)


def test_other_errors_are_of_the_file_or_of_the_query_and_an_interrupt_is_of_none(engine, tmp_path):
    with pytest.raises(InputError, match=FILE):
        engine.insert("t", object(), new=True)
    with pytest.raises(duckdb.InterruptException), engine.guarded():
        raise duckdb.InterruptException("Interrupted!")
    log = ClickLog(write(tmp_path / "clicks.jsonl", [impression(n) for n in range(3)]))
    with pytest.raises(InputError, match=r"clicks.jsonl: DuckDB cannot run a query on it \(Binder Error: "):
        log.engine.execute("SELECT no_such_column FROM log")


def test_a_long_query_draws_no_progress_on_standard_output():
    text = "from ltr_duel.logs.engine import Engine; e = Engine(ValueError);"
    text += """print(e.rows("SELECT current_setting('enable_progress_bar') AS bar"))"""
    assert subprocess.check_output([sys.executable, "-c", text], text=True) == "[{'bar': False}]\n"


def test_the_folder_of_a_killed_process_is_removed_by_the_next_one_and_folders_of_others_stay(tmp_path, monkeypatch):
    def folders():
        return {folder.name for folder in Path(tempfile.gettempdir()).glob("ltr_duel-logs-*")}

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    foreign = {"a": None, "b": "no JSON", "c": "[]", "d": '{"machine": "other", "pid": 1, "start": "1"}'}
    for name, text in foreign.items():
        (tmp_path / f"ltr_duel-logs-{name}").mkdir()
        if text is not None:
            (tmp_path / f"ltr_duel-logs-{name}" / "process.json").write_text(text)
    others = folders()
    text = "from ltr_duel.logs.engine import Engine; e = Engine(ValueError); print('made', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        (left,) = folders() - others
        mine = Engine(InputError)
        assert left in folders()  # a folder of a running process
        process.send_signal(signal.SIGKILL)
    other = Engine(InputError)
    assert left not in folders() and len(folders() - others) == 2
    for made in (mine, other):
        made.close()
    assert folders() == others
