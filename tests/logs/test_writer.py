"""Logs are written in every format, complete or not at all."""

from __future__ import annotations

import pytest

from ltr_duel.core import InputError
from ltr_duel.logs import LOG_COLUMNS, ClickLog, write_log

FULL = {
    "impression": "i1", "time": 1000.5, "query": "shoes", "user": "u1", "shown": ["a", "b, c", "ü"], "clicks": [3, 1],
    "page": None, "rankers": ["old", "new"], "owners": [0, -1, 1],
    "method": "probabilistic:tau=1", "outcome": "sampled", "policy": "rucb:alpha=0.51", "propensity": 0.25,
    "grades": [0, 2, 1],
}  # fmt: skip
BARE = dict.fromkeys(LOG_COLUMNS) | {
    "impression": "i2",
    "time": 1001.0,
    "query": "a\r\nb",
    "shown": ["a"],
    "clicks": [],
}


def write(path, rows, columns=tuple(LOG_COLUMNS), **how):
    with write_log(path, columns, **how) as log:
        log.write({name: [row.get(name) for row in rows] for name in columns})
    return path


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_each_value_is_read_back(tmp_path, suffix):
    path = write(tmp_path / f"clicks.{suffix}", [FULL, BARE])
    rows = [row for batch in ClickLog(path).batches() for row in batch.table.to_pylist()]
    assert [dict.fromkeys(LOG_COLUMNS) | row for row in rows] == [FULL, dict.fromkeys(LOG_COLUMNS) | BARE]


@pytest.mark.parametrize(("columns", "suffix", "message"), [
    ({"query": ["q"], "owners": [["old"]]}, "jsonl", "column 'owners' of a written log has the type list<item: int32>"),
    ({"query": ["q"], "time": ["noon"]}, "parquet", "column 'time' of a written log has the type double"),
    ({"query": ["q"], "clicks": [[2**40]]}, "csv", "column 'clicks' of a written log has the type"),
    ({"query": ["q"]}, "txt", "a log must end in .jsonl, .csv or .parquet"),
])  # fmt: skip
def test_a_log_that_cannot_be_written_does_not_appear(tmp_path, columns, suffix, message):
    with pytest.raises(InputError, match=message), write_log(tmp_path / f"log.{suffix}", tuple(columns)) as log:
        log.write(columns)
    assert not list(tmp_path.iterdir())
