"""Logs of other shapes: a row for each item or click, slicing columns in text files, and many bad lines."""

from __future__ import annotations

import pytest

from ltr_duel.core import InputError
from ltr_duel.logs import ClickLog, compare_log, subgroups
from tests.logs.test_places import impression, write

FLAT = """
[exposures]
impression = "search"
time = "moment"
query = "words"
user = "who"
item = "doc"
position = "place"
owner = "team"
rankers = ["old", "new"]
[events]
where = "clicked"
impression = "search"
item = "doc"
"""


def flat(search, docs, teams, clicks):
    """Return a row for each item of a list, the last position first."""
    rows = [
        {"search": search, "moment": 5.0, "words": "q", "who": "u", "doc": doc, "place": k, "team": team}
        for k, (doc, team) in enumerate(zip(docs, teams, strict=True), 1)
    ]
    return [row | {"clicked": row["doc"] in clicks} for row in reversed(rows)]


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_rows_of_one_search_are_one_exposure_with_its_items_by_place(tmp_path, kind):
    """Searches 1 and 3 are won by the old ranker, search 2 by the new one, search 4 has no click."""
    rows = flat("s1", "abc", ["old", "new", None], "a") + flat("s2", "abc", ["old", "new", "new"], "bc")
    rows += flat("s3", "cab", ["new", "old", "old"], "ab") + flat("s4", "ab", ["new", "old"], "")
    (tmp_path / "m.toml").write_text(FLAT)
    log = ClickLog(write(tmp_path / f"items.{kind}", rows), source=tmp_path / "m.toml")
    shown = [row for batch in log.batches() for row in batch.table.select(["shown", "owners", "clicks"]).to_pylist()]
    assert shown[2] | {"clicks": sorted(shown[2]["clicks"])} == {
        "shown": ["c", "a", "b"], "owners": [1, 0, 0], "clicks": [2, 3],
    }  # fmt: skip
    found = compare_log(log)
    assert (found.names, found.wins[0], found.losses[0], found.ties[0]) == (("old", "new"), 2, 1, 1)


def test_several_clicks_on_an_item_are_one_item(tmp_path):
    rows = flat("s1", "a", ["new"], "a") * 3 + flat("s2", "b", ["old"], "b")
    (tmp_path / "m.toml").write_text(FLAT)
    found = compare_log(ClickLog(write(tmp_path / "clicks.parquet", rows), source=tmp_path / "m.toml"))
    assert (found.wins[0], found.losses[0], found.impressions) == (1, 1, 2)


@pytest.mark.parametrize(("column", "value"), [("who", "v"), ("words", "r"), ("who", None), ("moment", 6.0)])
def test_rows_of_one_search_must_agree_except_in_the_time_if_they_have_a_value(tmp_path, column, value):
    rows = flat("s1", "abc", ["old", "new", "new"], "a") + flat("s2", "ab", ["old", "new"], "a")
    rows[0 if value is None else 1][column] = value
    (tmp_path / "m.toml").write_text(FLAT)
    log = ClickLog(write(tmp_path / "items.jsonl", rows), source=tmp_path / "m.toml")
    if column == "moment" or value is None:
        found = compare_log(log)
        assert found.impressions == 2 and found.provenance["users"] == 1
        return
    named = {"who": "user", "words": "query"}[column]
    message = rf"items.jsonl, impression that begins in line 1: the rows of its items differ in '{named}'"
    with pytest.raises(InputError, match=message):
        compare_log(log)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"team": "new"}, "document 'a' belongs to two rankers, old and new (lines 3 and 4)"),
        ({"team": None}, "document 'a' belongs to two rankers, old and none (lines 3 and 4)"),
        ({"place": 3}, "document 'a' is at the positions 1 and 3 (lines 3 and 4)"),
        ({"doc": "c"}, "document 'c' is at a position that has two documents, a and c (lines 3 and 4)"),
        ({"place": "top"}, "the position of an item must be a whole number, not top"),
    ],
)
def test_rows_of_one_search_that_contradict_each_other_are_refused_with_both_lines(tmp_path, changed, message):
    rows = flat("s1", "ab", ["old", "new"], "b")  # the row of a is the second in the file
    (tmp_path / "m.toml").write_text(FLAT)
    log = ClickLog(write(tmp_path / "items.csv", [*rows, rows[1] | changed]), source=tmp_path / "m.toml")
    with pytest.raises(InputError) as error:
        compare_log(log)
    assert f"items.csv, impression that begins in line 2: {message}" in str(error.value)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_log_is_sliced_by_any_column_of_its_files(tmp_path, kind):
    rows = [impression(n, device=["phone", "desk"][n % 2], clicks=[1 + n % 2]) for n in range(40)]
    log = ClickLog(write(tmp_path / f"clicks.{kind}", rows), context=("device",))
    devices = subgroups(log, compare_log(log), "device").frame
    assert dict(zip(devices["device"], devices["mean"], strict=True)) == {"phone": 1.0, "desk": -1.0}
    assert log.other_columns == ()
    with pytest.raises(InputError, match=r"has no column 'devcie'; did you mean 'device'\? \(it has"):
        compare_log(ClickLog(log.path, context=("devcie",)))


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_rows_that_were_delivered_twice_count_once_with_a_note(tmp_path, kind):
    rows = [impression(n, clicks=[1 + n % 2]) for n in range(8)]
    found = compare_log(ClickLog(write(tmp_path / f"clicks.{kind}", [*rows, *rows[2:5]])))
    assert (found.wins[0], found.losses[0], found.provenance["bad_lines"]) == (4, 4, 0)
    assert "3 rows equal an earlier row of their impression, and count once" in found.warnings
    other = [*rows, rows[2] | {"clicks": []}]
    with pytest.raises(InputError, match=r"clicks\.\w+:\d+: impression 'i2' repeats line"):
        compare_log(ClickLog(write(tmp_path / f"clicks.{kind}", other)))


def test_of_many_bad_lines_only_the_first_of_each_reason_is_looked_up(tmp_path, monkeypatch):
    rows = [impression(n, clicks=[1 if n % 4 else 9], time=n if n % 4 != 1 else "noon") for n in range(400)]
    log = ClickLog(write(tmp_path / "clicks.jsonl", rows), skip_bad=None)
    places, find = [], log.loaded.find
    monkeypatch.setattr(log, "loaded", log.loaded._replace(find=lambda line: places.append(line) or find(line)))
    assert compare_log(log).impressions == 200
    assert sorted(set(places)) == [1, 2] and log.bad.count == 200
    assert [sentence.split("; ")[1] for sentence in log.bad.sentences] == ["100 such lines"] * 2
