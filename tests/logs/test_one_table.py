"""Logs in one table: what is written is read back in every format, and errors are reported with their lines."""

from __future__ import annotations

import gzip
import json

import ibis
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ltr_duel.core import InputError
from ltr_duel.logs import ClickLog, compare_log, describe_log
from tests.logs.tables import compared, impression, rows_of, write

LINE = {"time": 5, "query": "q", "shown": ["a", "b"], "clicks": [1]}
ROWS = [impression(n, clicks=[1 + (n % 4 == 0)]) for n in range(12)]  # the old ranker wins 9 of 12


def test_dates_names_of_owners_numbers_as_ids_and_compressed_files_are_read(tmp_path):
    row = {"impression": "x", "time": "2024-01-01T00:00:00", "user": 7, "shown": [1, 2, 3], "clicks": []}
    row |= {"query": "q", "rankers": ["x", "y"], "owners": ["y", None, 0]}
    (tmp_path / "clicks.jsonl.gz").write_bytes(gzip.compress(json.dumps(row).encode()))
    (read,) = rows_of(ClickLog(tmp_path / "clicks.jsonl.gz"))
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
    assert [row["time"] for row in rows] == [1.0, 2.0] and [row["owners"] for row in rows] == [[1], [0]]
    assert (rows[0]["impression"], rows[0]["query"], log.other_columns) == ("1", "q", ("extra",))


@pytest.mark.parametrize(("row", "says"), [
    ({"clicks": [3]}, "a click at position 3 is not on the list of 2 (1 is the top)"),
    ({"clicks": [1.5]}, "'clicks' must be a list of positions on the page, 1 for the top, not [1.5]"),
    ({"clicks": None}, "'clicks' is missing; an empty list if nothing was clicked"),
    ({"shown": ["b", "a", "aa", "a", "b"]}, "document 'b' is shown twice"),
    ({"shown": ["a", None]}, "'shown' must be a list of strings, not ['a',null]"),
    ({"time": "noon"}, "'time' must be a number of seconds or a date and time in ISO 8601, not 'noon'"),
    ({"time": float("nan")}, "'time' must be a finite number, not nan"),
    ({"time": 1_767_225_600_000_000}, "'time' must be in seconds or milliseconds since 1970, not 1767225600000000"),
    ({"impression": 0, "clicks": [2]}, "impression '0' repeats line 1"),
    (
        {"rankers": ["x", "y"], "owners": [0, 2]},
        "owner 2 is not a ranker: 0 to 1 for a ranker, -1 or null for no ranker",
    ),
    ({"rankers": ["x", "y"], "owners": ["x", "z"]}, "owner 'z' is not a ranker: x or y, null for no ranker"),
    (
        {"rankers": ["x", "y"], "owners": ["0", ""]},
        "owner '0' is not a ranker: x or y, null for no ranker; a position in rankers must be a number, not text",
    ),
    ({"owners": ["x", "y"]}, "'owners' contains names, but 'rankers' is missing; if all rows have the same, map"),
    ({"grades": [1, -1]}, "-1 is not a grade (0 to 1000)"),
    ('{"impression": "cu\n', "not valid JSON, or truncated"),
])  # fmt: skip
def test_a_bad_line_is_named_or_skipped(tmp_path, row, says):
    row = row if isinstance(row, str) else LINE | {"impression": 1} | row
    rows = [LINE | {"impression": 0}, "\n", row, LINE | {"impression": 2, "time": 6}]
    path = write(tmp_path / "clicks.jsonl", rows)
    with pytest.raises(InputError) as error:
        rows_of(ClickLog(path))
    assert str(error.value).startswith(f"{path}:3: {says}")
    log = ClickLog(path, skip_bad=1)
    assert [row["impression"] for row in rows_of(log)] == ["0", "2"] and log.bad.count == 1


def test_a_click_at_position_0_is_refused_whatever_may_be_skipped(tmp_path):
    """Regression: skipped, such lines let the remaining clicks count for the document above."""
    path = write(tmp_path / "log.jsonl", [LINE, LINE | {"impression": 1, "clicks": [0, 1]}])
    with pytest.raises(InputError, match=r"log.jsonl:2: a click at position 0: do positions count from 0, or .* flags"):
        rows_of(ClickLog(path, skip_bad=None))


def test_bad_lines_are_counted_by_reason_with_their_first_line(tmp_path):
    rows = [impression(n, clicks=[1 if n % 4 else 9], time=n if n % 4 != 1 else f"noon {n}") for n in range(400)]
    path = write(tmp_path / "clicks.jsonl", rows)
    log = ClickLog(path, skip_bad=None)
    assert compare_log(log).impressions == 200 and log.bad.count == 200
    assert [sentence.split(":")[-1][:40] for sentence in log.bad.sentences] == [
        " a click at position 9 is not on the list"[:40], " 'time' must be a number of seconds or a d"[:40],
    ]  # fmt: skip
    assert all(sentence.endswith("; 100 such lines") for sentence in log.bad.sentences)
    with pytest.raises(InputError, match=r":4: not valid JSON, or truncated \(3 bad lines; 2 may be skipped\)"):
        rows_of(ClickLog(write(tmp_path / "c.jsonl", ["{\n", impression(0), "{\n", "{\n"]), skip_bad=2))


def test_milliseconds_are_seconds_and_an_empty_user_is_none(tmp_path, kind="csv"):
    seconds = 1_767_225_600.5
    rows = [impression(n, time=(seconds + n) * 1000, user="" if n % 2 else "u") for n in range(6)]
    read = rows_of(ClickLog(write(tmp_path / f"clicks.{kind}", rows)))
    assert [row["time"] for row in read] == [seconds + n for n in range(6)]
    assert [row["user"] for row in read] == ["u", None] * 3


def test_a_log_of_1970_that_does_not_count_from_0_is_refused_with_its_unit(tmp_path, value=20_260_101):
    """The times are dates that were read as numbers."""
    path = write(tmp_path / "clicks.jsonl", [impression(n, time=value + n) for n in range(3)])
    with pytest.raises(InputError) as error:
        compare_log(ClickLog(path))
    sentence = (
        f"'time' must be in seconds or milliseconds since 1970, or a date, not {float(value)}, which is 1970-08-23"
    )
    assert str(error.value).startswith(f"{path}:1: {sentence}")
    mixed = [impression(0, time=value), impression(1, time=1_767_225_600)]
    log = ClickLog(write(tmp_path / "mixed.jsonl", mixed), skip_bad=1)
    assert compare_log(log).impressions == 1


def test_all_columns_that_a_table_lacks_are_named(tmp_path, kind="csv"):
    row = {f"my_{key}" if key in ("time", "shown", "clicks") else key: value for key, value in impression(0).items()}
    path = write(tmp_path / f"log.{kind}", [row])
    with pytest.raises(InputError) as error:
        compare_log(ClickLog(path))
    have = ", ".join(sorted(row) if kind == "jsonl" else row)  # keys of a line have no order
    says = f"{path} has no columns 'time', 'shown' and 'clicks' (it has {have}): rename columns, or map them with"
    assert str(error.value) == f"{says} --source; see docs/log_formats.md"
    path = write(tmp_path / f"clicks.{kind}", [impression(n, device="phone") for n in range(3)])
    assert ClickLog(path, context=("device",)).other_columns == ()
    with pytest.raises(InputError, match=r"no column 'devcie'; did you mean 'device'\?"):
        compare_log(ClickLog(path, context=("devcie",)))


def test_comparisons_skip_checks_of_columns_that_they_do_not_read(tmp_path):
    rows = [impression(n) for n in range(6)]
    rows[1] |= {"clicks": [3]}
    rows[2] |= {"shown": ["a", "a"]}
    rows[3] |= {"owners": None}
    path = write(tmp_path / "clicks.parquet", rows)
    log = ClickLog(path, skip_bad=2)
    assert compare_log(log).impressions == 4 and log.bad.count == 2
    assert describe_log(ClickLog(path, skip_bad=None)).bad == 3
    with pytest.raises(InputError, match=":4: clicks cannot be credited"):
        compared(path, skip_bad=1)


@pytest.mark.parametrize(
    "frame", [pd.DataFrame, pa.Table.from_pylist, lambda rows: ibis.memtable(pa.Table.from_pylist(rows))]
)
@pytest.mark.filterwarnings("default")  # a warning of Ibis
def test_a_frame_in_any_order_is_compared_like_the_file_with_its_rows(tmp_path, frame):
    write(tmp_path / "log.parquet", ROWS)
    for source in (frame(ROWS[::-1]), tmp_path / "log.parquet", str(tmp_path)):
        assert compared(source) == (9, 3, 0)


def test_a_row_of_a_frame_is_named_and_other_values_are_refused():
    log = ClickLog(pd.DataFrame([*ROWS[:2], ROWS[2] | {"clicks": [9]}]))
    path = log.path
    with pytest.raises(InputError, match=r"^data frame, row 3: a click at position 9 is not on the list of 2"):
        compare_log(log)
    del log
    assert not path.exists()  # the stored frame
    with pytest.raises(InputError, match=r"^a log is a path, a folder, a data frame .*, not a value of type list$"):
        compare_log([1, 2])
    with pytest.raises(InputError, match=r"^events are a path, not a value of type DataFrame: store "):
        ClickLog(pd.DataFrame(ROWS), events=pd.DataFrame(ROWS))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_folder_or_pattern_is_one_log_and_a_row_is_named_by_its_own_file(tmp_path, kind):
    write(tmp_path / f"logs/day1.{kind}", [impression(0, clicks=[1]), impression(1, clicks=[2])])
    rows = [impression(2), impression(3, clicks=[7]), impression("1", time=9, clicks=[1]), impression(1, clicks=[2])]
    second = write(tmp_path / f"logs/day2.{kind}", rows)
    (tmp_path / "logs" / "_SUCCESS").write_text("")
    for path in (tmp_path / "logs", tmp_path / "logs" / f"day*.{kind}"):
        log = ClickLog(path, skip_bad=2)
        found = compare_log(log)
        assert (found.wins[0], found.losses[0], found.provenance["bad_lines"]) == (2, 1, 2)
        assert "1 rows equal an earlier row of their impression, and count once" in found.warnings
    line = 3 if kind == "csv" else 2  # the first line of a CSV file names the columns
    click, again = log.bad.sentences
    assert click == f"{second}:{line}: a click at position 7 is not on the list of 2 (1 is the top)"
    first = tmp_path / f"logs/day1.{kind}"
    assert again.startswith(f"{second}:{line + 1}: impression 'i1' repeats {first}:{line} (rows of an impression may")


def test_files_of_two_formats_and_files_that_do_not_exist_are_refused(tmp_path):
    for name in ("a.jsonl", "a.csv", "other"):
        write(tmp_path / name, [impression(0)])
    for path, settings, says in (
        (tmp_path, {}, r"a\.csv: all files of a log must have one format, not csv and jsonl"),
        (tmp_path / "b*", {}, "no such file"),
        (tmp_path / "other", {}, "other: format not recognised; name the file .jsonl, .csv or .parquet, or give the"),
        (tmp_path / "other", {"format": "jason"}, "no log format 'jason'; did you mean 'jsonl'"),
    ):
        with pytest.raises(InputError, match=says):
            ClickLog(path, **settings)
    assert ClickLog(tmp_path / "other", format="jsonl").outcome.name == "click"


def test_a_file_that_is_cut_short_or_no_text_is_refused(tmp_path):
    whole = write(tmp_path / "whole.parquet", ROWS).read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[:-100])
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(json.dumps(LINE).encode() * 1000)[:-50])
    (tmp_path / "cut.csv").write_text('impression,time,query,shown,clicks\n1,2,q,"[""a""]",[]\n2,3,q,"[""a')
    (tmp_path / "latin.jsonl").write_text(json.dumps(LINE | {"query": "é"}, ensure_ascii=False), "latin-1")
    (tmp_path / "latin.csv").write_text("impression,time,query,shown,clicks\n1,2,é,[],[]\n", "latin-1")
    for name, says in {
        "cut.parquet": "cannot be read as log",
        "cut.jsonl.gz": "cannot be read .*Unexpected end of GZIP stream",
        "cut.csv": "cannot be read",
        "latin.jsonl": "the text is not UTF-8",
        "latin.csv": "the text is not UTF-8",
    }.items():
        with pytest.raises(InputError, match=rf"{name}:? {says}"):
            rows_of(ClickLog(tmp_path / name, skip_bad=None))


@pytest.mark.parametrize(("rows", "says"), [
    ("impression,time,query,time\n", ":1: the first line of a CSV file must contain each column name once"),
    ('{head}1,60,q,"[""a""]",1 3\n', r":2: 'clicks' must be a list in JSON, such as \[1, 3\] .* not '1 3'"),
    ('{head}1,5,q,"[""a""]","[1]"\n2,3\n', ":3: 2 cells, but the first line has 5 columns"),
    ("{head}1,5," + "q" * 200_000 + ',"[""a""]","[1]"\n2,3,,"[""a""]",[]\n', ":3: 'query' is missing"),
    ("{tabs}1\t60\tq\t[]\t[]\n", ":2: 'shown' is empty"),
])  # fmt: skip
def test_cells_and_first_lines_of_csv_are_checked(tmp_path, rows, says):
    head = "impression,time,query,shown,clicks\n"
    path = tmp_path / "c.csv"
    path.write_text(rows.format(head=head, tabs=head.replace(",", "\t")))
    with pytest.raises(InputError, match=rf"c\.csv{says}"):
        rows_of(ClickLog(path))


def test_owners_are_names_as_text_or_positions_as_numbers_unless_names_are_positions_of_others(tmp_path, kind="csv"):
    for rankers, owners, expected in (
        (["a", "b"], [0, 1], [0, 1]),
        (["0", "1"], [0, 1], [0, 1]),
        (["1", "0"], ["1", "0"], [0, 1]),
        (["1", "0"], [1, 0], None),
        (["1", "0"], [-1, 1], None),
        (["1", "2"], [0, 1], [0, 1]),  # 0 is no name
    ):
        log = ClickLog(write(tmp_path / f"log.{kind}", [impression(0, rankers=rankers, owners=owners)]))
        if expected is None:
            with pytest.raises(InputError, match="are names of rankers and also positions of others"):
                rows_of(log)
        else:
            assert rows_of(log)[0]["owners"] == expected


def test_a_log_without_rows_is_said_to_have_none(tmp_path, kind="csv"):
    (tmp_path / f"log.{kind}").write_text("")
    with pytest.raises(InputError, match="the log has no rows"):
        compare_log(tmp_path / f"log.{kind}")


def test_day_2_of_a_folder_comes_before_day_10(tmp_path):
    for day, clicks in (("day10", [2]), ("day2", [1])):
        write(tmp_path / f"{day}.jsonl", [impression(0, clicks=clicks)])
    log = ClickLog(tmp_path, skip_bad=1)
    assert compare_log(log).wins.tolist() == [1] and "day10.jsonl:1: impression 'i0' repeats" in log.bad.sentences[0]
