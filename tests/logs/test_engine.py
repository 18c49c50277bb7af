"""Memory and disk for the engine: limits and sentences."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from ltr_duel.core import InputError, host
from ltr_duel.logs import ClickLog, compare_log
from ltr_duel.logs.engine import Engine, memory_limit
from tests.logs.tables import impression, write

GIGA = 10**9
FILE = "clicks.parquet: cannot be read"


@pytest.fixture
def engine():
    return Engine(Path("clicks.parquet"))


@pytest.mark.parametrize(("free", "expected"), [(64, 2.5), (3, 1.5)])
def test_memory_is_at_most_half_of_what_is_free(monkeypatch, free, expected):
    monkeypatch.setattr(host, "free_memory", lambda: int(free * GIGA))
    assert memory_limit() == f"{expected * GIGA:.0f}B"


def test_a_variable_sets_the_memory_and_the_least_suffices(tmp_path, monkeypatch):
    monkeypatch.setenv("LTR_DUEL_LOGS_MEMORY", "much")
    with pytest.raises(InputError, match="LTR_DUEL_LOGS_MEMORY=4GB sets the memory"):
        Engine(Path("clicks.parquet"))
    monkeypatch.setenv("LTR_DUEL_LOGS_MEMORY", "256mb")
    rows = [impression(n, user=f"u{n % 9}", clicks=[1]) for n in range(60)]
    log = ClickLog(write(tmp_path / "clicks.parquet", rows))
    assert compare_log(log).impressions == 60
    assert log.engine.rows("SELECT current_setting('memory_limit') AS m") == [{"m": "244.1 MiB"}]


def test_too_little_memory_is_named_with_the_limit_and_the_variable_and_the_query_is_logged(engine, caplog):
    engine.execute("SET memory_limit = '10MB'")
    with caplog.at_level(logging.DEBUG, "ltr_duel"), pytest.raises(InputError) as caught:
        engine.execute("CREATE TABLE t AS SELECT list(range) AS l FROM range(5000000)")
    assert str(caught.value).startswith("clicks.parquet: cannot be read (Out of Memory Error: ")
    assert str(caught.value).endswith("; the variable LTR_DUEL_LOGS_MEMORY=4GB sets the memory")
    assert "CREATE TABLE t AS" in caplog.text and "Out of Memory" in caplog.text
