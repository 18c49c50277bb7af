"""Logs of many files, and sentences that name file, row and value."""

from __future__ import annotations

import csv
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ltr_duel.core import InputError
from ltr_duel.logs import ClickLog, compare_log, describe_log
from ltr_duel.logs.rows import SHOWN_AGAIN

KINDS = ("jsonl", "csv", "parquet")


def impression(n, **more):
    return {
        "impression": f"i{n}", "time": n, "user": f"u{n}", "query": "q", "shown": ["a", "b"], "clicks": [1],
        "rankers": ["old", "new"], "owners": [0, 1],
    } | more  # fmt: skip


def write(path, rows):
    """Write rows in the format of the suffix."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".csv":
        with path.open("w", newline="") as file:
            out = csv.DictWriter(file, list(rows[0]))
            out.writeheader()
            out.writerows(
                {name: json.dumps(v) if isinstance(v, list) else v for name, v in row.items()} for row in rows
            )
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def compared(*args, **settings):
    found = compare_log(ClickLog(*args, **settings))
    return found.names, found.wins[0], found.losses[0], found.ties[0], found.impressions


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_and_a_pattern_of_days_are_one_log_in_the_order_of_their_numbers(tmp_path, kind):
    days = {1: [0, 1], 2: [2, 3], 10: [4, 5, 6]}
    for day, numbers in days.items():
        write(tmp_path / f"logs/day{day}.{kind}", [impression(n, clicks=[1 + n % 2]) for n in numbers])
    (tmp_path / "logs" / "_SUCCESS").write_text("")
    expected = ("old", "new"), 4, 3, 0, 7
    assert compared(tmp_path / "logs") == expected
    assert compared(tmp_path / "logs" / f"day*.{kind}") == expected
    assert describe_log(ClickLog(tmp_path / "logs")).users == 7


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_of_many_files_is_named_by_its_own(tmp_path, kind):
    write(tmp_path / f"day1.{kind}", [impression(0), impression(1)])
    write(tmp_path / f"day2.{kind}", [impression(2), impression(3, clicks=[7]), impression("1", time=4)])
    log = ClickLog(tmp_path / f"day*.{kind}", skip_bad=2)
    assert compare_log(log).impressions == 3
    line = 3 if kind == "csv" else 2  # the first line of a CSV file names the columns
    second = tmp_path / f"day2.{kind}"
    assert log.bad.sentences == [
        f"{second}:{line}: a click at position 7 is not on the list of 2 (1 is the top)",
        f"{second}:{line + 1}: impression 'i1' repeats {tmp_path / f'day1.{kind}'}:{line}{SHOWN_AGAIN}",
    ]


def test_files_of_two_formats_and_patterns_without_a_file_are_refused(tmp_path):
    for kind in ("jsonl", "csv"):
        write(tmp_path / f"a.{kind}", [impression(0)])
    with pytest.raises(InputError, match=r"a\.csv: all files of a log must have one format, not csv and jsonl"):
        ClickLog(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        ClickLog(tmp_path / "b*")


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_exposures_are_named_by_file_and_row_in_whatever_order_they_are(tmp_path, kind):
    rows = [impression(n, time=9 - n) for n in range(4)]
    rows[0] = rows[0] | {"query": None}
    rows = [{name: value for name, value in row.items() if name != "clicks"} for row in rows]
    events = write(tmp_path / "events.jsonl", [{"impression": "i0", "item": "a"}])
    path = write(tmp_path / f"e.{kind}", rows)
    mapping = tmp_path / "m.toml"  # CSV files contain lists as text
    names = ("impression", "time", "user", "query")
    mapped = "".join(f'{name} = "{name}"\n' for name in names)
    mapping.write_text(f"[exposures]\n{mapped}rankers = ['old', 'new']\nowners = '[0, 1]'\nshown = '''['a', 'b']'''\n")
    with pytest.raises(InputError) as error:
        compared(path, events=events, source=mapping)
    assert str(error.value) == f"{path}:{2 if kind == 'csv' else 1}: 'query' is missing"


def test_of_repeated_exposures_the_later_is_named_by_its_file(tmp_path):
    rows = {"a": [impression(0, time=5), impression(1, time=6)], "b": [impression(2, time=7), impression(1, time=1)]}
    for name, some in rows.items():
        write(tmp_path / f"e/{name}.parquet", some)
    events = write(tmp_path / "v.jsonl", [{"impression": "i0", "item": "a"}])
    first, second = tmp_path / "e" / "b.parquet", tmp_path / "e" / "a.parquet"
    with pytest.raises(InputError) as error:
        compared(tmp_path / "e", events=events)
    assert str(error.value) == f"{second}:2: impression 'i1' repeats {first}:2{SHOWN_AGAIN}"


@pytest.mark.parametrize(
    ("column", "value", "says"),
    [
        ("time", "soon", "'time' must be a number of seconds or a date and time in ISO 8601, not 'soon'"),
        ("owners", ["old", "nwe"], "owner 'nwe' is not a ranker: old or new, null for no ranker"),
    ],
)
def test_a_value_that_cannot_be_read_is_named_in_parquet_and_exposures(tmp_path, column, value, says):
    legal = {"time": "1", "owners": ["old", "new"]}[column]
    rows = [impression(0, **{column: legal}), impression(1, **{column: value})]
    path = write(tmp_path / "clicks.parquet", rows)
    events = write(tmp_path / "events.jsonl", [{"impression": "i0", "item": "a"}])
    for settings in ({}, {"events": events}):
        with pytest.raises(InputError) as error:
            compared(path, **settings)
        assert str(error.value) == f"{path}:2: {says}"


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_user_is_no_user(tmp_path, kind):
    path = write(tmp_path / f"clicks.{kind}", [impression(n, user="" if n % 2 else "u") for n in range(6)])
    facts = describe_log(ClickLog(path))
    assert facts.users == 1


def test_events_of_empty_users_do_not_meet(tmp_path):
    exposures = write(tmp_path / "e.jsonl", [impression(n, user="") for n in range(3)])
    events = write(tmp_path / "v.jsonl", [{"impression": None, "user": "", "item": "a", "time": 2}])
    assert compared(exposures, events=events, within="1m") == (("old", "new"), 0, 0, 3, 3)


@pytest.mark.parametrize("kind", KINDS)
def test_times_in_milliseconds_are_made_seconds_and_larger_ones_refused(tmp_path, kind):
    seconds, path = 1_767_225_600.5, tmp_path / f"clicks.{kind}"
    write(path, [impression(n, time=(seconds + n) * 1000) for n in range(3)])
    facts = describe_log(ClickLog(path))
    assert (facts.first, facts.last) == (seconds, seconds + 2)
    write(path, [impression(n, time=int((seconds + n) * 1e6)) for n in range(3)])
    with pytest.raises(InputError, match=r"'time' must be in seconds or milliseconds since 1970, not 17672256005"):
        compared(path)


OWNERLESS = "impression = 'impression'\nquery = 'query'\nrankers = ['old', 'new']\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "[exposures]\n{ok}time = 'tme'",
            "[exposures] time = 'tme': {path} has no column 'tme'; did you mean 'time'? (it has ",
        ),
        (
            "[exposures]\n{ok}time = 'time'\nwhere = 'event = 3'",
            "[exposures] where = 'event = 3': {path} has no column 'event' (it has ",
        ),
        ("[exposures]\n{ok}time = 'time + nothing('", "[exposures] time = 'time + nothing(': Parser Error: "),
        (
            "[exposures]\n{ok}time = 'time'\n[events]\n{ok2}position = 'place'",
            "[events] position = 'place': {path} has no column 'place' (it has ",
        ),
        ("[exposures]\nquery = 'query'", "[exposures] must map impression: impression = "),
        ("[exposures]\n{ok}time = 'time'\n[events]\nposition = 'place'", "[events] must map impression or user: impre"),
        ("[exposures]\n{ok}time = 'time'\n[events]\n{ok2}", "[events] must map item or position: item = "),
        (
            "[exposures]\n{ok}time = 'time'\n[events]\n{ok2}position = 'place'".replace("{ok}", OWNERLESS),
            "the ranker of an item must be mapped: 'owner' in [events], or 'owners', 'rankings' or 'page' in",
        ),
        ("[exposures]\n{ok}time = 3", "[exposures] time must be an expression in quotes, not 3"),
        ("[exposures]\n{ok}time = 'time'\n[events]\nfile = 'no.csv'", "[events] file = 'no.csv': cannot be read"),
        ("[exposure]\ntime = 'time'", "no section 'exposure'; did you mean 'exposures'? (exposures, events)"),
    ],
)
def test_what_does_not_fit_in_a_mapping_is_named_by_file_and_key(tmp_path, text, says):
    ok = OWNERLESS + "owners = 'owners'\n"
    mapping, path = tmp_path / "m.toml", write(tmp_path / "e.parquet", [impression(0)])
    mapping.write_text(text.replace("{ok}", ok).replace("{ok2}", "impression = 'impression'\n"))
    with pytest.raises(InputError) as error:
        compared(path, source=mapping, events=path)
    assert str(error.value).startswith(f"{mapping}: {says.replace('{path}', str(path))}")


def test_check_counts_the_lines_that_comparisons_skip(tmp_path):
    rows = [impression(n) for n in range(6)]
    rows[1] |= {"clicks": [3]}
    rows[2] |= {"shown": ["a", "a"]}
    rows[3] |= {"owners": None}
    path = write(tmp_path / "clicks.parquet", rows)
    facts = describe_log(ClickLog(path, skip_bad=None))
    assert facts.bad == 3
    log = ClickLog(path, skip_bad=2)
    assert compare_log(log).impressions == 4 and log.bad.count == 2
    with pytest.raises(InputError, match=":4: clicks cannot be credited"):
        compared(path, skip_bad=1)
