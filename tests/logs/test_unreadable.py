"""Events with a value that cannot be read are refused, because they would silently not count."""

from __future__ import annotations

import pytest

from ltr_duel.core import InputError
from ltr_duel.logs import ClickLog, compare_log
from tests.logs.test_places import impression, write

KINDS = ("jsonl", "csv", "parquet")


def shown(folder, number=6):
    rows = [impression(n) for n in range(number)]
    for row in rows:
        del row["clicks"]
    return write(folder / "shown.jsonl", rows)


def log_of(folder, kind, column, values, mapping=""):
    """Return a log in which the events have these values in a column."""
    rows = [
        {"impression": f"i{n}", "item": "a", "time": n + 0.5, "dwell": 40.0, "seen": value} | {column: value}
        for n, value in enumerate(values)
    ]
    events = write(folder / f"events.{kind}", rows)
    (folder / "m.toml").write_text(mapping)
    return ClickLog(shown(folder), events=events, source=folder / "m.toml" if mapping else None, outcome="dwell>=30")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("column", "value", "message"), [
    ("dwell", "40,5", """not '40,5'; for a decimal comma map dwell = "replace(dwell, ',', '.')\""""),
    ("dwell", "27 s", "'dwell' of an event must be a number of seconds, not '27 s'"),
    ("time", "01.03.2026 12:00", "of an event must be a number of seconds or a date and time in ISO 8601, not '01.03"),
    ("value", "cheap", "'value' of an event must be a number, not 'cheap'"),
    ("position", "1.5", "'position' of an event must be a whole number, 1 for the top, not '1.5'"),
    ("position", "[1]", """not '[1]'; for a column of lists map position = "unnest(position)"""),
])  # fmt: skip
def test_the_first_unreadable_value_of_an_event_is_named(tmp_path, kind, column, value, message):
    sound = {"dwell": "31", "time": "2026-03-01T12:00:00Z", "value": "3.5", "position": "2"}[column]
    log = log_of(tmp_path, kind, column, [sound, "", value, value])
    with pytest.raises(InputError) as raised:
        compare_log(log)
    assert f"events.{kind}:{4 if kind == 'csv' else 3}: '{column}' of an" in str(raised.value)
    assert message in str(raised.value)


@pytest.mark.parametrize("kind", KINDS)
def test_the_mapping_of_the_message_reads_decimal_commas(tmp_path, kind):
    mapping = """[exposures]
impression = "impression"
time = "time"
query = "query"
shown = "shown"
owners = "owners"
rankers = "rankers"
[events]
impression = "impression"
item = "item"
dwell = "replace(seen, ',', '.')"
"""
    log = log_of(tmp_path, kind, "seen", ["40,5", "29,9", "30,0"], mapping)
    assert compare_log(log).wins[0] == 2


def test_an_unreadable_value_among_numbers_is_named(tmp_path):
    """DuckDB reads such a column of a JSON file as JSON."""
    with pytest.raises(InputError, match=r"events.jsonl:2: 'dwell' of an event must be a number of .*, not '27 s'"):
        compare_log(log_of(tmp_path, "jsonl", "dwell", [40.0, "27 s", 31.0]))


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_value_of_an_event_is_no_fault(tmp_path, kind):
    assert compare_log(log_of(tmp_path, kind, "dwell", ["40", None, "31"])).wins[0] == 2


@pytest.mark.parametrize("kind", KINDS)
def test_times_of_events_in_microseconds_are_refused_with_their_row(tmp_path, kind):
    log = log_of(tmp_path, kind, "time", [1_767_225_600, 1_767_225_600_000, 1_767_225_600_000_000])
    row = {"jsonl": 3, "csv": 4, "parquet": 3}[kind]
    message = f"events.{kind}:{row}: 'time' of an event must be in seconds or milliseconds .* not 1767225600000000"
    with pytest.raises(InputError, match=message):
        compare_log(log)


def test_a_column_that_differs_from_a_mapped_key_in_case_only_is_reported_as_absent(tmp_path):
    (tmp_path / "m.toml").write_text("""[exposures]
impression = "impression"
time = "time"
query = "query"
user = "User"
owners = "owners"
rankers = "rankers"
[events]
impression = "impression"
item = "item"
""")
    write(tmp_path / "one.csv", [{"impression": "1", "time": 1, "query": "q", "anon": "u", "owners": "[0]"}])
    with pytest.raises(InputError, match=r"user = 'User': .*one.csv has no column 'User'.*\(it has impression, time"):
        compare_log(ClickLog(tmp_path / "one.csv", source=tmp_path / "m.toml"))


def test_the_digest_of_separate_events_is_in_the_provenance(tmp_path):
    found = [compare_log(log_of(tmp_path, "csv", "seen", values)).provenance for values in ("ab", "ac")]
    assert found[0]["sha256"] == found[1]["sha256"] and found[0]["events_sha256"] != found[1]["events_sha256"]
