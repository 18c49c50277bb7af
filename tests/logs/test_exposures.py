"""Exposures and events: which events count, for which impression, and what cannot be read."""

from __future__ import annotations

import pytest

from ltr_duel.core import InputError
from ltr_duel.logs import ClickLog, Outcome, compare_log, describe_log
from tests.logs.tables import both, compared, event, exposure, impression, rows_of, write

DAY = 86400
SHOWN = {"impression": "i", "time": 0, "user": "u", "query": "q", "rankers": ["old", "new"]}
SEEN = {"impression": "i", "user": "u", "item": "a", "position": 1, "kind": "click", "owner": "old"}


def test_events_are_joined_with_exposures_and_outcomes_are_kinds_values_and_dwell(tmp_path):
    events = [
        event("i0", "a"), event("i0", "a"), event("i0", "b"),  # a tie: a place counts once
        event("i1", "b", dwell=40.0), event("i1", "b", "purchase", value=5.0), event("i1", "c", dwell=99.0),
        event("i2", "a", dwell=10.0), event("i2", "nowhere"), event("lost", "a"),
        event("i0", "a", "purchase", value=7.5), event("i0", "b", "purchase", value=7.25),
    ]  # fmt: skip
    files = both(tmp_path, [exposure(n) for n in range(4)], events)
    assert compared(**files) == (1, 1, 2)
    assert compared(**files, outcome="purchase") == (0, 1, 3)
    assert compared(**files, outcome="value") == (1, 1, 2)
    assert compared(**files, outcome="dwell>=30") == (0, 1, 3)
    with pytest.raises(InputError, match="'dwell<3' is not an outcome"):
        ClickLog(**files, outcome="dwell<3")
    with pytest.raises(InputError, match=r"no kind of event 'purchse'; did you mean 'purchase'\? \(click, purchase\)"):
        compared(**files, outcome="purchse")


def test_outcomes_of_one_log_are_credited_from_one_join(tmp_path):
    """Impression 0: one click each, order on a; 1: click on b, two orders on b, of 5 and 3, and one of 20 on a."""
    events = [event("i0", "a"), event("i0", "b"), event("i0", "a", "order", value=2.0), event("i1", "b")]
    events += [event("i1", item, "order", value=value) for item, value in (("b", 5.0), ("b", 3.0), ("a", 20.0))]
    events.append(event(None, "b", "order", value=1.0, time=9.0))  # of the last exposure of its user and item: 1
    outcomes = [
        "click",
        Outcome("orders", where="kind = 'order'"),
        Outcome("revenue", where="kind = 'order' AND value < 10", value="value"),
        Outcome("late orders", where="kind = 'order'", within="1d"),
    ]
    files = both(tmp_path, [exposure(n, time=float(n)) for n in range(2)], events)
    log = ClickLog(**files, outcome=outcomes)
    expected = {"click": (0, 1, 1), "orders": (1, 0, 1), "revenue": (1, 1, 0), "late orders": (1, 0, 1)}
    for number, (name, counts) in enumerate(expected.items()):
        found = compare_log(log, [name])
        assert (found.wins[0], found.losses[0], found.ties[0]) == counts == compared(**files, outcome=outcomes[number])
    with pytest.raises(InputError, match="no outcome of this log 'clicks'; did you mean 'click'"):
        compare_log(log, ["clicks"])
    with pytest.raises(InputError, match="'soon' is not a duration: write 30m, 12h or 7d"):
        Outcome("orders", within="soon")


def test_values_are_rounded_half_up_to_millionths(tmp_path):
    """In millionths: 1.4 and 1 are a tie, 1.5 and 1 are 2 against 1, and 2.5 and 2 are 3 against 2, not even."""
    pairs = [(1.4e-6, 1e-6), (1.5e-6, 1e-6), (2.5e-6, 2e-6)]
    events = [
        event(f"i{n}", item, value=value)
        for n, pair in enumerate(pairs)
        for item, value in zip("ab", pair, strict=True)
    ]
    assert compared(**both(tmp_path, [exposure(n) for n in range(3)], events), outcome="value") in (
        (2, 0, 1),
        (0, 2, 1),
    )


def test_late_events_go_to_the_last_exposure_of_that_user_and_item(tmp_path):
    exposures = [exposure(n, time=n * DAY, owners=[0, 1, -1] if n < 2 else [1, 0, -1]) for n in range(4)]
    exposures.append(exposure(9, "other", 3.5 * DAY))
    late = [event(None, item, "purchase", time=3.9 * DAY) for item in "az"]
    late.append(event(None, "a", "purchase", time=3.9 * DAY, user=""))
    files = both(tmp_path, [*exposures, exposure(10, "", 3.6 * DAY)], late) | {"outcome": "purchase"}
    for within, expected in {"7d": (0, 1, 5), "12h": (0, 0, 6), "": (0, 0, 6)}.items():  # exposure 3, of the new ranker
        assert compared(**files, within=within) == expected
    notes = {"": " and are not counted; --within 7d credits each of them to the last exposure of its user and item"}
    notes["7d"] = ": 1 count for an exposure of their user and item, 2 do not count"
    for within, note in notes.items():
        found = compare_log(ClickLog(**files, within=within))
        assert f"3 of 3 events (purchase) have no impression{note}" in found.warnings


@pytest.mark.parametrize(("column", "legal", "value", "says"), [
    ("time", "1", "soon", "'time' must be a number of seconds or a date and time in ISO 8601, not 'soon'"),
    ("owners", ["old", "new"], ["old", "nwe"], "owner 'nwe' is not a ranker: old or new, null for no ranker"),
    ("query", "q", None, "'query' is missing"),
])  # fmt: skip
def test_a_value_of_an_exposure_that_cannot_be_read_is_named(tmp_path, column, legal, value, says):
    rows = [impression(0, **{column: legal}), impression(1, **{column: value})]
    path = write(tmp_path / "clicks.parquet", rows)
    events = write(tmp_path / "events.jsonl", [{"impression": "i0", "item": "a"}])
    for settings in ({}, {"events": events}):
        with pytest.raises(InputError) as error:
            compare_log(ClickLog(path, **settings))
        assert str(error.value) == f"{path}:2: {says} (1 bad line; --skip-bad 100 skips up to 100)"


def with_values(folder, kind, column, values):
    """Return the log of two exposures and events with these values in a column."""
    rows = [{"impression": f"i{n}", "item": "a", "time": n, "dwell": 40.0, column: v} for n, v in enumerate(values)]
    shown = write(folder / "shown.jsonl", [exposure(n, time=n) for n in range(6)])
    return ClickLog(shown, events=write(folder / f"events.{kind}", rows), outcome="dwell>=30")


def test_events_at_position_0_of_a_list_are_refused(tmp_path, kind="csv"):
    """Regression: clicks on the documents of one ranker counted for the other, above."""
    rows = [{"impression": f"i{n}", "position": n % 2} for n in range(6)]
    files = both(tmp_path, [exposure(n, time=n) for n in range(6)], rows, kind)
    row = 2 if kind == "csv" else 1
    with pytest.raises(InputError, match=rf"seen.{kind}:{row}: an event at position 0: do positions count from 0"):
        compare_log(ClickLog(**files, skip_bad=None))
    write(files["events"], [row | {"item": "b"} for row in rows])  # the position is not needed
    assert compared(**files) == (0, 6, 0)


def test_an_event_whose_value_cannot_be_added_up_is_named(tmp_path, value=-1e13):
    events = [event("i0", "a", value=1.0), event("i0", "b", value=value), event("i0", "b", value=2.0)]
    files = both(tmp_path, [exposure(0)], events)
    with pytest.raises(InputError, match=r"seen.parquet:2: an event's value \(value\) must be a number up to 1e11"):
        compared(**files, outcome="value")
    assert compared(**files) == (0, 0, 1)


def test_repeated_and_bad_exposures_take_no_events_from_the_others(tmp_path):
    """Each of 40 exposures came twice; the list of impression 40 is bad."""
    rows = [exposure(n, user=f"u{n}", time=n) for n in range(40)]
    bad = exposure(40, user="u0", time=50, owners=["nobody", "old", "new"])
    late = [event(None, "a", user=f"u{n}", time=100.0 + n) for n in range(40)]
    files = both(tmp_path / "late", [*rows, *rows], late)
    log = ClickLog(**files, within="1d")
    assert compare_log(log).wins[0] == 40
    assert log.loaded.counts.attributed == 40
    files = both(tmp_path / "named", [*rows, *rows], [event("i1", "a"), event("i2", "nowhere")])
    assert ClickLog(**files).loaded.counts[-3:] == (2, 1, 0)
    rows[0]["owners"] = ["old", "new", None]
    files = both(tmp_path / "bad", [rows[0], bad], [event(None, "a", user="u0", time=60.0)], "jsonl")
    assert compared(**files, within="1d", skip_bad=1) == (1, 0, 0)


@pytest.mark.parametrize("ids", [
    ["1911111111.1609459200", "1911111111.1609459201", "1.1", "1.10"],
    [12345678901234567890123, 12345678901234567890124],
    ["ABCDEF12-1111-4111-8111-ABCDEF123456", "abcdef12-1111-4111-8111-abcdef123456"],
])  # fmt: skip
def test_ids_are_read_as_text(tmp_path, ids, kind="jsonl"):
    """As numbers, dates or UUIDs, some of these ids would be equal, or have another form."""
    rows = [exposure(n, user=name, impression=name, shown=[*map(str, ids), "?"][:3]) for n, name in enumerate(ids)]
    rows = [row | {"owners": [0, 1, -1][: len(row["shown"])]} for row in rows]
    log = ClickLog(**both(tmp_path, rows, [event(name, ids[0], user=name) for name in ids], kind))
    read = rows_of(log)
    assert [row["impression"] for row in read] == [row["user"] for row in read] == [*map(str, ids)]
    assert all(row["shown"] == rows[0]["shown"] for row in read)
    assert compare_log(log).wins[0] == len(ids)


def test_numbers_that_are_nan_are_none(tmp_path):
    nan = float("nan")
    rows = [exposure(n, user=nan if n < 3 else float(n)) for n in range(5)]
    events = [event("i0", "a", dwell=nan), event("i1", "a", dwell=40.0), event("i2", "a", dwell=3.0)]
    log = ClickLog(**both(tmp_path, rows, events), outcome="dwell>=30")
    assert [row["user"] for row in rows_of(log)] == [None] * 3 + ["3.0", "4.0"]
    assert compare_log(log).wins[0] == 1


def test_events_on_items_outside_their_list_are_counted_aloud(tmp_path):
    events = [event(f"i{n}", "b" if n >= 2 else " b") for n in range(60)]
    found = compare_log(ClickLog(**both(tmp_path, [exposure(n) for n in range(60)], events)))
    assert "2 of 60 events (click) are not on an item of their list, and are not counted" in found.warnings


@pytest.mark.parametrize(("column", "value", "message"), [
    ("dwell", "40,5", "a number of seconds, not '40,5'"),
    ("time", "01.03.2026", "a number of seconds or a date and time in ISO 8601, not '01.03.2026'"),
    ("value", "cheap", "a number, not 'cheap'"),
    ("position", "[1]", "a whole number, 1 for the top, not '[1]'"),
])  # fmt: skip
def test_the_first_unreadable_value_of_an_event_is_named(tmp_path, column, value, message, kind="csv"):
    sound = {"dwell": "31", "time": "2026-03-01T12:00:00Z", "value": "3.5", "position": "2"}[column]
    with pytest.raises(InputError) as raised:
        compare_log(with_values(tmp_path, kind, column, [sound, "", value, value]))
    assert f"events.{kind}:{4 if kind == 'csv' else 3}: '{column}' of an event must be {message}" in str(raised.value)
    assert compare_log(with_values(tmp_path, kind, "dwell", ["40", None, "31"])).wins[0] == 2  # a missing value


def test_times_of_events_in_another_unit_are_refused_with_their_row(tmp_path, kind="csv"):
    now, row = 1_767_225_600, 4 if kind == "csv" else 3
    for value, said in ((now * 10**6, "1767225600000000"), (20_260_101, "20260101, which is 1970-08-23 11:48:21")):
        rows = [{"impression": f"i{n}", "item": "a", "time": time} for n, time in enumerate((now, now * 1000, value))]
        log = ClickLog(**both(tmp_path, [exposure(0, time=now)], rows, kind))
        with pytest.raises(InputError) as error:
            compare_log(log)
        assert f"seen.{kind}:{row}: 'time' of an event must be in seconds or millisec" in str(error.value)
        assert str(error.value).endswith(f"not {said}")


@pytest.mark.parametrize(("shown", "seen", "says"), [
    (["time"], [], "{path} has no column 'time' (it has impression, my_time, "),
    (["impression", "time", "query"], [], "{path} has no columns 'impression', 'time' and 'query' (it has my_"),
    ([], ["item", "position"], "{events} has no column 'item' or 'position' (it has impression, "),
    ([], ["owner"], "no column has an item's ranker: add 'owner' to the events, or 'shown' with "),
    (["rankers"], [], "'rankers' is missing; if all rows have the same, map it with --source: rankers = ["),
])  # fmt: skip
def test_columns_that_exposures_or_events_lack_are_named(tmp_path, shown, seen, says, kind="csv"):
    def other(row, names):
        return {f"my_{name}" if name in names else name: value for name, value in row.items()}

    files = both(tmp_path, [other(SHOWN, shown)], [other(SEEN, seen)], kind)
    with pytest.raises(InputError) as error:
        compare_log(ClickLog(**files))
    assert str(error.value).startswith(says.format(**files))


def test_owners_of_events_serve_without_lists_and_one_who_is_no_ranker_is_named_with_its_line(tmp_path):
    kind, line = "csv", 3
    shown = [SHOWN | {"impression": f"i{n}", "time": n} for n in range(3)]
    files = both(tmp_path, shown, [SEEN | {"impression": "i0"}], kind)
    facts = describe_log(ClickLog(**files))
    assert (facts.shown, facts.clicks, facts.clicked, facts.forms) == ((0, 0), 1, 1, {"owners": 3})
    seen = [SEEN | {"impression": f"i{n}", "owner": "nwe" if n else "new"} for n in range(3)]
    files = both(tmp_path, shown, seen, kind)
    with pytest.raises(InputError) as error:
        compare_log(ClickLog(**files))
    says = f"{files['path']}:{line}: owner 'nwe' of an event is not a ranker: old or new, null for none (2 bad lines"
    assert str(error.value).startswith(says)
