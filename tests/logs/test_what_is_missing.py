"""Missing parts of a log are reported in one sentence, in any format: columns, owners, lists, coins."""

from __future__ import annotations

import duckdb
import pytest

from ltr_duel.core import InputError
from ltr_duel.logs import ClickLog, check_log, compare_log, describe_log, finding_lines, log_lines
from tests.logs.test_places import impression, write

SHOWN = {"impression": "i", "time": 0, "user": "u", "query": "q", "rankers": ["old", "new"]}
SEEN = {"impression": "i", "user": "u", "item": "a", "position": 1, "kind": "click", "owner": "old"}
FORMS = ["csv", "jsonl", "parquet", "table"]
pytestmark = pytest.mark.filterwarnings("default::DeprecationWarning")  # a warning of Ibis's DuckDB backend


def other(row, *names):
    """Return a row in which the given columns have other names."""
    return {f"my_{name}" if name in names else name: value for name, value in row.items()}


def opened(folder, form, shown, seen):
    """Return the log of exposures and events, and the names of both in sentences."""
    if form != "table":
        paths = [write(folder / f"{name}.{form}", rows) for name, rows in (("shown", shown), ("seen", seen))]
        return ClickLog(paths[0], events=paths[1], skip_bad=None), *paths
    with duckdb.connect(str(folder / "shop.duckdb")) as db:
        for name, rows in (("shown", shown), ("seen", seen)):
            path = write(folder / f"{name}.parquet", rows)
            db.execute(f"CREATE TABLE {name} AS FROM '{path}'")
    url = f"duckdb://{folder / 'shop.duckdb'}"
    return ClickLog("shown", events="seen", connect=url, skip_bad=None), "shown", "seen"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("shown", "seen", "says"),
    [
        (["time"], [], "{0} has no column 'time' (it has impression, my_time, user, query, rankers): rename a col"),
        (["query"], [], "{0} has no column 'query' (it has impression, time, "),
        (["impression"], [], "{0} has no column 'impression' (it has my_impression, "),
        (["impression", "time", "query"], [], "{0} has no columns 'impression', 'time' and 'query' (it has my_"),
        ([], ["impression", "user"], "{1} has no column 'impression' (or 'user') (it has my_impression, my_user, "),
        ([], ["item", "position"], "{1} has no column 'item' (or 'position') (it has impression, user, my_item, "),
    ],
)  # fmt: skip
def test_all_columns_that_exposures_and_events_lack_are_named(tmp_path, form, shown, seen, says):
    log, *names = opened(tmp_path, form, [other(SHOWN, *shown)], [other(SEEN, *seen)])
    for read in (describe_log, compare_log, check_log):
        with pytest.raises(InputError) as error:
            read(log)
        assert str(error.value).startswith(says.format(*names))
        assert str(error.value).endswith(" with --source; see docs/logs.md")


@pytest.mark.parametrize("form", FORMS[:3])
def test_all_columns_that_one_table_lacks_are_named(tmp_path, form):
    path = write(tmp_path / f"log.{form}", [other(impression(0), "time", "shown", "clicks")])
    with pytest.raises(InputError) as error:
        compare_log(ClickLog(path))
    given = "impression, my_time, user, query, my_shown, my_clicks, rankers, owners"
    if form == "jsonl":  # keys of a line have no order
        given = ", ".join(sorted(given.split(", ")))
    says = f"{path} has no columns 'time', 'shown' and 'clicks' (it has {given}): rename columns, or map them with"
    assert str(error.value) == f"{says} --source; see docs/logs.md"


def test_a_file_without_a_row_has_no_columns(tmp_path):
    """DuckDB calls the column of such a file "json"."""
    log, _, events = opened(tmp_path, "jsonl", [SHOWN], [])
    with pytest.raises(InputError) as error:
        describe_log(log)
    assert f"{events} has no columns " in str(error.value) and "(it has none)" in str(error.value)


def test_a_column_of_csv_that_is_empty_is_missing_in_its_lines(tmp_path):
    log = ClickLog(write(tmp_path / "log.csv", [impression(n, query="") for n in range(3)]), skip_bad=None)
    with pytest.raises(InputError, match=r":2: 'query' is missing; 3 such lines$"):
        describe_log(log)


@pytest.mark.parametrize("form", FORMS)
def test_events_without_owners_are_no_credit_of_exposures_without_lists(tmp_path, form):
    """Regression: this was a log of ties with the message "no impression has a click"."""
    log, *_ = opened(tmp_path, form, [SHOWN], [other(SEEN, "owner")])
    with pytest.raises(
        InputError, match=r"^no column has an item's ranker: add 'owner' to the events, or 'shown' with "
    ):
        compare_log(log)


@pytest.mark.parametrize(("form", "where"), [("csv", " in {1}:3"), ("jsonl", " in {1}:2"), ("table", " of an event")])
def test_an_owner_of_an_event_who_is_no_ranker_is_named_with_its_line(tmp_path, form, where):
    shown = [SHOWN | {"impression": f"i{n}", "time": n} for n in range(3)]
    seen = [SEEN | {"impression": f"i{n}", "owner": "nwe" if n else "new"} for n in range(3)]
    log, *names = opened(tmp_path, form, shown, seen)
    facts = describe_log(log)
    says = f"owner 'nwe'{where.format(*names)} is not a ranker: old or new, null for no ranker; 2 such lines"
    assert facts.impressions == 1 and [one.split(": ", 1)[1] for one in facts.sentences] == [says]


@pytest.mark.parametrize("rankers", [None, "no column"])
def test_where_rankers_are_missing_a_mapping_is_named(tmp_path, rankers):
    way = r"'rankers' is missing; if all rows have the same, map it with --source: rankers = \[\"old\", \"new\"\]"
    shown = SHOWN | {"rankers": None} if rankers is None else other(SHOWN, "rankers")
    log, *_ = opened(tmp_path, "csv", [shown], [SEEN])
    with pytest.raises(InputError, match=way):
        describe_log(log)
    row = impression(0, rankers=None) if rankers is None else other(impression(0), "rankers")
    with pytest.raises(InputError, match=way):
        compare_log(ClickLog(write(tmp_path / "log.parquet", [row])))


def test_without_lists_the_check_says_what_it_rests_on_and_which_coins_it_cannot_test(tmp_path):
    shown = [SHOWN | {"impression": f"i{n}", "time": n} for n in range(3)]
    log, *_ = opened(tmp_path, "csv", shown, [SEEN | {"impression": "i0"}])
    lines = log_lines(describe_log(log))
    assert lines[1].startswith("1 query; no lists; 1 click, ")
    assert "credit for 3 impressions is based on the owners of the items with events" in lines
    (line,) = (line for line in finding_lines(check_log(log)) if "owners of position 1" in line)
    assert line.startswith("not checked: owners of position 1")
