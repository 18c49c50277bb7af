"""Events without an impression and duplicate exposures: the output states which are counted."""

from __future__ import annotations

import json

import duckdb
import pytest

from ltr_duel.core import InputError
from ltr_duel.logs import ClickLog, check_log, compare_log, describe_log, log_lines
from tests.logs.test_sources import event, exposure, parquet

HINT = "; --within 7d credits each of them to the last exposure of its user and item"
GIVEN = ": 2 count for an exposure of their user and item, 1 do not count"


def opened(folder, exposures, events, **settings):
    paths = [parquet(folder, name, rows) for name, rows in (("exposures", exposures), ("events", events))]
    return ClickLog(paths[0], events=paths[1], skip_bad=None, **settings)


def said(log):
    """Return the verdicts and sentences of the checks of events, and the notes of the comparison."""
    found = {one.name: (one.verdict, one.sentence) for one in check_log(log) if one.name.startswith("events")}
    return found, [one for one in compare_log(log).warnings if "have no impression" in one]


@pytest.mark.parametrize(("settings", "verdict", "more"), [
    ({}, "not checked", f" and are not counted{HINT}"),
    ({"within": "1h"}, "not checked", GIVEN),
    ({"within": "1h", "which": "all"}, "not checked", GIVEN),
])  # fmt: skip
def test_events_without_an_impression_are_counted_aloud(tmp_path, settings, verdict, more):
    """Regression: the check used only events with an impression and passed, and the comparison had no note."""
    exposures = [exposure(n, time=100.0 * n) for n in range(4)]
    buys = [event(name, "a", "purchase", time=500.0, user=user) for name, user in (
        ("i0", "u"), ("", "u"), (None, "u"), (None, "stranger"),
    )]  # fmt: skip
    log = opened(tmp_path, exposures, [*buys, event(None, "a")], outcome="purchase", **settings)
    found, notes = said(log)
    sentence = f"3 of 4 events (purchase) have no impression{more}"
    assert notes == [sentence]
    assert found["events without exposure"] == ("sound", "0 of 1 events have no exposure in the log")
    assert "with events (purchase), on " in log_lines(describe_log(log))[1]


def test_events_that_all_find_their_exposure_are_sound_and_of_others_nothing_is_tested(tmp_path):
    """Regression: "0 of 1 events" were without exposure if no event named an exposure."""
    log = opened(tmp_path, [exposure(0), exposure(1)], [event(None, "a", time=None), event(None, "b")], within="1h")
    found, notes = said(log)
    assert len(notes) == 1, "one has no time"
    for name, why in (("events without exposure", "no event names an impression"),):
        assert found[name] == ("not checked", why)
    found, notes = said(opened(tmp_path, [exposure(0)], [event(None, "a"), event(None, "b")], within="1h"))
    assert not notes
    found, notes = said(opened(tmp_path, [exposure(0)], [event("i0", "a", time=None)]))
    assert not notes
    assert found["events to come"] == ("not checked", "no event has a time")


def test_nobody_is_advised_to_give_events_to_users_where_none_is_known(tmp_path):
    rows = [{name: value for name, value in exposure(n).items() if name != "user"} for n in range(2)]
    _, notes = said(opened(tmp_path, rows, [event("i0", "a"), event(None, "a")]))
    assert notes == ["1 of 2 events (click) have no impression and are not counted"]


def test_purchases_of_ubi_without_a_query_id_are_counted_aloud(tmp_path):
    shown = {"rankers": ["old", "new"], "owners": [0, 1]}
    queries = [
        {"query_id": f"i{n}", "client_id": "u", "user_query": "q", "timestamp": f"2026-03-01T00:0{n}:00Z",
         "query_response_hit_ids": ["a", "b"], "query_attributes": shown}
        for n in range(3)
    ]  # fmt: skip
    buys = [
        {"action_name": "purchase", "client_id": "u", "timestamp": "2026-03-01T01:00:00Z",
         "event_attributes": {"object": {"object_id": "a"}}} | more
        for more in ({"query_id": "i0"}, {}, {"query_id": ""})
    ]  # fmt: skip
    path = tmp_path / "ubi.ndjson"
    path.write_text("\n".join(map(json.dumps, [*queries, *buys])))
    _, notes = said(ClickLog(path, format="ubi", outcome="purchase", skip_bad=None))
    assert notes == [f"2 of 3 events (purchase) have no impression and are not counted{HINT}"]


@pytest.mark.parametrize("again", [0, 5])
def test_events_of_an_impression_that_is_there_several_times_are_those_of_its_first_row(tmp_path, again):
    """Regression: each event counted once per row, so more events were out of order than existed."""
    users = [exposure(n, f"u{n % 4}", time=100.0 * n) for n in range(20)]
    shown_again = [one | {"time": 5000.0 + 100 * k} for k in range(again) for one in users]
    clicks = [event(f"i{n}", "a", time=100.0 * n + 1) for n in range(20)]
    found, _ = said(opened(tmp_path, users + shown_again, clicks))
    assert found["events without exposure"][1] == "0 of 20 events have no exposure in the log"
    assert "of 20 exposures" in found["events to come"][1], found


def test_the_remedy_of_repeated_rows_is_named(tmp_path):
    with pytest.raises(InputError, match=r"repeats line 1 \(a page that is shown again is the same impression: keep"):
        compare_log(
            ClickLog(
                parquet(tmp_path, "shown", [exposure(0), exposure(0, time=1.0)]),
                events=parquet(tmp_path, "seen", [event("i0", "a")]),
            )
        )


@pytest.mark.filterwarnings("default")  # a warning of Ibis
@pytest.mark.parametrize("connected", [False, True])
def test_events_on_items_outside_their_list_are_counted_aloud(tmp_path, connected):
    """Regression: a list that was split wrongly lost most clicks, and nothing was reported."""
    exposures = [exposure(n, time=100.0 * n) for n in range(60)]
    for lost, verdict in ((0, "sound"), (2, "sound"), (48, "fails")):
        events = [event(f"i{n}", "b" if n >= lost else " b", time=100.0 * n + 1) for n in range(60)]
        if connected:
            database = tmp_path / f"{lost}.duckdb"
            with duckdb.connect(database) as shop:
                for name, rows in (("exposures", exposures), ("events", events)):
                    shop.execute(f"CREATE TABLE {name} AS SELECT * FROM '{parquet(tmp_path, name, rows)}'")
            log = ClickLog("exposures", events="events", connect=f"duckdb://{database}", skip_bad=None)
        else:
            log = opened(tmp_path, exposures, events)
        (found,) = (one for one in check_log(log) if one.name == "events outside lists")
        assert found.verdict == verdict
        notes = [one for one in compare_log(log).warnings if "item of their list" in one]
        assert len(notes) == (lost > 0) and all(one.startswith(f"{lost} of 60 events (click) are not") for one in notes)
