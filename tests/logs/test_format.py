"""The log's table is written and read back in every format, and errors are reported with their lines."""

from __future__ import annotations

import csv
import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ltr_duel.core import InputError
from ltr_duel.logs import LOG_COLUMNS, ClickLog, describe_log, write_log

ROW = {
    "impression": "i1",
    "time": 1000.0,
    "query": "shoes",
    "user": "u1",
    "shown": ["a", "b, c", "ü"],
    "clicks": [3, 1],
    "page": None,
    "rankers": ["old", "new"],
    "owners": [0, -1, 1],
    "rankings": [["a", "b, c", "ü"], ["ü", "b, c", "a"]],
    "method": "probabilistic:tau=1",
    "outcome": "sampled",
    "policy": "rucb:alpha=0.51",
    "propensity": 0.25,
    "dwell": [12.5, 0.0],
    "grades": [0, 2, 1],
}
BARE = {"impression": "i2", "time": 1001.0, "query": "", "shown": ["a"], "clicks": []}
LINE = {"impression": "x", "time": 5, "query": "q", "shown": ["a", "b"], "clicks": [1]}


def rows_of(log):
    return [row for batch in log.batches() for row in batch.table.to_pylist()]


def json_log(tmp_path, *rows):
    """Write lines, each a dictionary or a string; a dictionary gets a separate impression and the missing columns."""
    path = tmp_path / "clicks.jsonl"
    texts = [
        row if isinstance(row, str) else json.dumps({**LINE, "impression": k, **row}) for k, row in enumerate(rows)
    ]
    path.write_text("\n".join(texts))
    return path


def test_long_fields_of_csv_are_read_without_a_change_for_other_users_of_the_module(tmp_path):
    path = tmp_path / "log.csv"
    rows = [["impression", "time", "query", "clicks", "shown", "owners", "rankers"]]
    rows += [[n, n, "q" * 200_000, "[1]", '["a"]', "[0]", '["x", "y"]'] for n in range(2)]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    usual = csv.field_size_limit()
    assert describe_log(ClickLog(path)).impressions == 2
    assert csv.field_size_limit() == usual < 200_000


def test_dates_names_of_owners_numbers_as_ids_and_compressed_files(tmp_path):
    row = {"time": "2024-01-01T00:00:00", "user": 7, "shown": [1, 2, 3], "clicks": []}
    row |= {"rankers": ["x", "y"], "owners": ["y", None, 0]}
    path = tmp_path / "clicks.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps({**LINE, **row}).encode()))
    (read,) = rows_of(ClickLog(path))
    assert (read["time"], read["user"], read["shown"]) == (1704067200.0, "7", ["1", "2", "3"])
    assert read["owners"] == [1, -1, 0]


def test_parquet_of_other_types_is_read_where_nothing_is_lost(tmp_path):
    table = {
        "impression": pa.array([1, 2]),
        "time": pa.array([10**6, 2 * 10**6], pa.timestamp("us")),
        "query": pa.array(["q", "q"]).dictionary_encode(),
        "shown": pa.array([["a"], ["b"]], pa.large_list(pa.large_string())),
        "clicks": pa.array([[1], []], pa.list_(pa.int64())),
        "rankers": [["x", "y"]] * 2,
        "owners": [["y"], ["x"]],
        "extra": [1, 2],
    }
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    log = ClickLog(tmp_path / "t.parquet")
    rows = rows_of(log)
    assert [row["time"] for row in rows] == [1.0, 2.0]
    assert [row["owners"] for row in rows] == [[1], [0]]
    assert (rows[0]["impression"], rows[0]["query"], log.other_columns) == ("1", "q", ("extra",))


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"clicks": [3]}, "a click at position 3 is not on the list of 2 (1 is the top)"),
        ({"clicks": [0]}, "a click at position 0 is not on the list of 2 (1 is the top)"),
        ({"clicks": [1.5]}, "'clicks' must be a list of positions on the page, 1 for the top, not [1.5]"),
        ({"clicks": [2**40]}, "'clicks' must be a list of positions on the page, 1 for the top, not [1099511627776]"),
        ({"clicks": None}, "'clicks' is missing"),
        ({"shown": ["a", "a"]}, "document 'a' is shown twice"),
        ({"shown": []}, "'shown' is empty"),
        (
            {"time": 4},
            "the time goes back, from 1970-01-01 00:00:05.000 to 1970-01-01 00:00:04.000; rows must be sorted by time",
        ),
        ({"time": "noon"}, "'time' must be a number of seconds or a date and time in ISO 8601, not 'noon'"),
        ({"time": float("nan")}, "'time' must be a finite number, not nan"),
        ({"impression": 0, "clicks": [2]}, "impression '0' repeats line 1"),
        (
            {"rankers": ["x", "y"], "owners": [0, 2]},
            "owner 2 is not a ranker: 0 to 1 for a ranker, -1 or null for no ranker",
        ),
        ({"rankers": ["x", "y"], "owners": [0]}, "1 owners for 2 shown documents"),
        ({"rankers": ["x", "y"], "owners": ["x", "z"]}, "owner 'z' is not a ranker: x or y, null for no ranker"),
        ({"grades": [1]}, "1 grades for 2 shown documents"),
        ({"grades": [1, -1]}, "-1 is not a grade (0 to 1000)"),
        ({"dwell": [1, 2]}, "2 dwell times for 1 clicks"),
        ({"dwell": [-1]}, "a dwell time must be at least 0 seconds, not -1.0"),
        ({"propensity": 0}, "'propensity' must be above 0 and at most 1, not 0.0"),
        ({"propensity": "often"}, "'propensity' must be a number, not 'often'"),
        ('{"impression": "cu', "not valid JSON, or truncated"),
        ("[1, 2]", "not a JSON object with the columns as keys"),
        ("[" * 100_000, "not valid JSON, or truncated"),
    ],
)
def test_a_bad_line_is_named_or_skipped(tmp_path, row, says):
    path = json_log(tmp_path, {}, row, {"time": 6})
    with pytest.raises(InputError) as error:
        rows_of(ClickLog(path))
    assert str(error.value).startswith(f"{path}:2: {says}")
    log = ClickLog(path, skip_bad=1)
    assert [row["impression"] for row in rows_of(log)] == ["0", "2"]
    assert log.bad.count == 1


def test_more_bad_lines_than_may_be_skipped(tmp_path):
    path = json_log(tmp_path, "{", {}, "{", "{")
    with pytest.raises(InputError, match=r":4: not valid JSON, or truncated \(3 bad lines; 2 may be skipped\)"):
        rows_of(ClickLog(path, skip_bad=2))


def test_files_that_are_cut_short(tmp_path):
    rows = [{**BARE, "impression": str(k)} for k in range(100)]
    with write_log(tmp_path / "whole.parquet") as log:
        log.write({name: [row.get(name) for row in rows] for name in LOG_COLUMNS})
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "whole.parquet").read_bytes()[:-100])
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(json.dumps(LINE).encode() * 1000)[:-50])
    (tmp_path / "cut.csv").write_text('impression,time,query,shown,clicks\n1,2,q,"[""a""]",[]\n2,3,q,"[""a')
    (tmp_path / "bytes.jsonl").write_bytes(b"\xff\xfe\x00")
    for name, says in [
        ("cut.parquet", "not a Parquet file, or truncated"),
        ("cut.jsonl.gz", "the compressed file is truncated or damaged"),
        ("cut.csv", "3: not a complete CSV row"),
        ("bytes.jsonl", "not UTF-8 text"),
    ]:
        with pytest.raises(InputError, match=says):
            rows_of(ClickLog(tmp_path / name, skip_bad=None))


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_owners_by_name_without_rankers_are_refused_for_what_is_missing(tmp_path, suffix):
    path = tmp_path / f"c.{suffix}"
    row = {"impression": "a", "time": 1, "query": "q", "shown": ["x", "y"], "clicks": [1], "owners": ["new", "old"]}
    if suffix == "csv":
        with path.open("w", newline="") as file:
            cells = [one if isinstance(one, str) else json.dumps(one) for one in row.values()]
            csv.writer(file).writerows([row, cells])
    else:
        path.write_text(json.dumps(row) + "\n")
    log = ClickLog(path, skip_bad=None)
    assert rows_of(log) == []
    assert "'owners' contains names, but 'rankers' is missing" in log.bad.sentences[0]


def test_csv_cells_and_head(tmp_path):
    path = tmp_path / "c.csv"
    path.write_text("impression,time,query,time\n")
    with pytest.raises(InputError, match=":1: the first line of a CSV log must contain each column name once"):
        rows_of(ClickLog(path))
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([[*LINE], ["1", "1970-01-01T00:01:00Z", "q", '["a"]', "1 3"], ["2", "3"]])
    log = ClickLog(path, skip_bad=None)
    assert rows_of(log) == []
    other = "(lists in another form: --source, see docs/logs.md)"
    assert log.bad.sentences[0].endswith(f":2: 'clicks' must be a list in JSON, such as [1, 3] {other}, not '1 3'")
    assert log.bad.sentences[1].endswith(":3: 2 cells, but the first line has 5 columns")


def test_formats_are_told_or_asked_for(tmp_path):
    (tmp_path / "log").write_text(json.dumps(LINE))
    (tmp_path / "other").write_text("hello")
    assert ClickLog(tmp_path / "log").format == "jsonl"
    with pytest.raises(InputError, match="format not recognised"):
        ClickLog(tmp_path / "other")
    with pytest.raises(InputError, match="no log format 'jason'; did you mean 'jsonl'"):
        ClickLog(tmp_path / "log", format="jason")
