"""Exposures and events from other programs and in other engines."""

from __future__ import annotations

import gc
import json
import shutil
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ltr_duel.core import InputError
from ltr_duel.logs import ClickLog, check_log, compare_log, describe_log
from ltr_duel.logs.compare import _compared
from ltr_duel.logs.engine import Warehouse
from ltr_duel.logs.table import NO_CREDIT

DAY = 86400


def parquet(folder, name, rows):
    path = folder / f"{name}.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def exposure(n, user="u", time=0.0, **more):
    return {
        "impression": f"i{n}", "time": float(time), "user": user, "query": "q", "shown": ["a", "b", "c"],
        "rankers": ["old", "new"], "owners": [0, 1, -1],
    } | more  # fmt: skip


def event(impression, item, kind="click", **more):
    return {
        "impression": impression,
        "user": "u",
        "item": item,
        "kind": kind,
        "time": 1.0,
        "value": None,
        "dwell": None,
    } | more


def outcome_of(folder, exposures, events, **settings):
    """Return wins, losses and ties of the old ranker."""
    paths = [parquet(folder, name, rows) for name, rows in (("exposures", exposures), ("events", events))]
    found = compare_log(ClickLog(paths[0], events=paths[1], **settings))
    assert found.names == ("old", "new")
    return found.wins[0], found.losses[0], found.ties[0]


def test_events_are_joined_with_exposures_and_outcomes_are_kinds_values_and_dwell(tmp_path):
    exposures = [exposure(n) for n in range(4)]
    events = [
        event("i0", "a"), event("i0", "a"), event("i0", "b"),  # a tie: a place counts once
        event("i1", "b", dwell=40.0), event("i1", "b", "purchase", value=5.0), event("i1", "c", dwell=99.0),
        event("i2", "a", dwell=10.0), event("i2", "nowhere"), event("lost", "a"),
        event("i0", "a", "purchase", value=7.5), event("i0", "b", "purchase", value=7.25),
    ]  # fmt: skip
    assert outcome_of(tmp_path, exposures, events) == (1, 1, 2)
    assert outcome_of(tmp_path, exposures, events, outcome="purchase") == (0, 1, 3)
    assert outcome_of(tmp_path, exposures, events, outcome="value") == (1, 1, 2)
    assert outcome_of(tmp_path, exposures, events, outcome="dwell>=30") == (0, 1, 3)
    with pytest.raises(InputError, match="'dwell<3' is not an outcome"):
        outcome_of(tmp_path, exposures, events, outcome="dwell<3")


def test_many_impressions_of_one_user_are_added_up_by_value(tmp_path):
    exposures = [exposure(n, "uv"[n > 4]) for n in range(6)]
    events = [event(f"i{n}", "a", "purchase", value=1e6 + n) for n in range(6)]
    assert outcome_of(tmp_path, exposures, events, outcome="value") == (6, 0, 0)


@pytest.mark.parametrize("ends", [(25,), (9, 10, 25)], ids=["one file", "three files"])
@pytest.mark.parametrize("named", [True, False], ids=["items", "positions"])
@pytest.mark.parametrize("shuffled", [False, True])
def test_exposures_have_the_clicks_of_their_own_row_in_the_order_of_time(tmp_path, shuffled, named, ends):
    """Four of five exposures (of 25) have clicks on an individual position."""
    order = np.random.default_rng(1).permutation(25) if shuffled else np.arange(25)
    exposures = [exposure(int(n), time=float(n)) for n in order]
    for k, (start, stop) in enumerate(pairwise((0, *ends))):
        parquet(tmp_path, f"day{k}", exposures[start:stop])
    clicks = [{"item": "abc"[n % 3]} if named else {"position": n % 3 + 1} for n in range(25)]
    seen = [{"impression": f"i{n}"} | clicks[n] for n in range(24, -1, -1) if n % 5 for _ in range(2)]
    log = ClickLog(tmp_path, events=parquet(tmp_path.parent, "events", seen))
    rows = log.engine.run(log.table.order_by("line")).to_pylist()
    assert [row["impression"] for row in rows] == [f"i{n}" for n in range(25)]
    assert [row["clicks"] for row in rows] == [[n % 3 + 1] * bool(n % 5) for n in range(25)]


def test_late_events_go_to_the_last_the_first_or_all_exposures_of_that_user_and_item(tmp_path):
    exposures = [exposure(n, time=n * DAY, owners=[0, 1, -1] if n < 2 else [1, 0, -1]) for n in range(4)]
    exposures.append(exposure(9, "other", 3.5 * DAY))
    late = [event(None, "a", "purchase", time=3.9 * DAY), event(None, "z", "purchase", time=3.9 * DAY)]
    for within, which, expected in [
        ("7d", "last", (0, 1, 4)),  # exposure 3, where the new ranker owned it
        ("7d", "first", (1, 0, 4)),  # exposure 0
        ("7d", "all", (2, 2, 1)),
        ("2d", "all", (0, 2, 3)),  # exposures 2 and 3
        ("12h", "all", (0, 0, 5)),
    ]:
        settings = {"outcome": "purchase", "within": within, "which": which}
        assert outcome_of(tmp_path, exposures, late, **settings) == expected
    assert outcome_of(tmp_path, exposures, late, outcome="purchase") == (0, 0, 5)
    with pytest.raises(InputError, match="'soon' is not a duration"):
        outcome_of(tmp_path, exposures, late, within="soon")


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_a_folder_of_exposures_has_files_of_any_one_format(tmp_path, kind):
    """The row of day 10 is the second row of the third file, so day 2 comes first."""
    for name in ("shown", "clicked"):
        (tmp_path / name).mkdir()
    days = {"day1": [exposure(0)], "day2": [exposure(1, time=1)], "day10": [exposure(2, time=2), exposure(0, time=3)]}
    for name, rows in days.items():
        texts = [{key: json.dumps(one) if isinstance(one, list) else one for key, one in row.items()} for row in rows]
        if kind == "parquet":
            parquet(tmp_path / "shown", name, rows)
        elif kind == "csv":
            pd.DataFrame(texts).to_csv(tmp_path / "shown" / f"{name}.csv", index=False)
        else:
            (tmp_path / "shown" / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    parquet(tmp_path / "clicked", "all", [event("i1", "a"), event("i2", "b")])
    log = ClickLog(tmp_path / "shown", events=tmp_path / "clicked", skip_bad=1)
    found = compare_log(log)
    assert (found.wins[0], found.losses[0], found.ties[0]) == (1, 1, 1)
    row = 3 if kind == "csv" else 2  # the first line of a CSV file names the columns
    assert f"day10.{kind}:{row}: impression 'i0' repeats" in log.bad.sentences[0]


def test_a_folder_of_several_formats_is_refused(tmp_path):
    parquet(tmp_path, "one", [exposure(0)])
    (tmp_path / "two.jsonl").write_text(json.dumps(exposure(1)) + "\n")
    with pytest.raises(InputError, match="all files of a log must have one format, not"):
        compare_log(ClickLog(tmp_path, events=tmp_path / "one.parquet"))


def test_an_exposure_that_is_there_twice_is_named(tmp_path):
    twice = [exposure(0), exposure(1, time=5), exposure(0, time=9)]
    with pytest.raises(InputError, match=r"exposures\.parquet:3: impression 'i0' repeats line 1"):
        outcome_of(tmp_path, twice, [event("i1", "a")])


SPLIT = """
[exposures]
delimiter = ";"
impression = "page"
time = "strptime(seen, '%d.%m.%Y %H:%M:%S %z')"
query = "query"
shown = "string_split(documents, ', ')"
owners = "string_split(teams, ', ')"
rankers = ["old", "new"]
[events]
delimiter = ";"
impression = "page"
item = "unnest(string_split(clicked, ', '))"
"""


def test_the_delimiter_of_a_csv_file_can_be_given_and_an_empty_owner_is_none(tmp_path):
    """Regression: the separator of lists was found in place of the delimiter."""
    pages = [f"p{k};0{k}.03.2026 10:00:00 +0100;q;a, b, c;old, , new;{'c' if k else 'a, b'}" for k in range(1, 5)]
    path = tmp_path / "pages.csv"
    path.write_text("page;seen;query;documents;teams;clicked\n" + "\n".join(pages) + "\n")
    (tmp_path / "split.toml").write_text(SPLIT)
    found = compare_log(ClickLog(path, source=tmp_path / "split.toml"))
    assert (found.names, found.losses[0], found.impressions) == (("old", "new"), 4, 4)


def test_the_types_of_a_csv_file_do_not_depend_on_its_first_rows(tmp_path):
    """Regression: a list after twenty thousand single positions could not be read."""
    rows = [f"p{k},{1_700_000_000 + k},q,{'1' if k < 25_000 else '1|2'}" for k in range(25_001)]
    (tmp_path / "log.csv").write_text("page,seen,query,clicked\n" + "\n".join(rows) + "\n")
    (tmp_path / "log.toml").write_text(
        """[exposures]\nimpression = "page"\ntime = "seen"\nquery = "query"\nshown = "['a', 'b']"\n"""
        """owners = "[0, 1]"\nrankers = ["old", "new"]\n[events]\nimpression = "page"\n"""
        """position = "unnest(string_split(clicked::varchar, '|'))::int"\n"""
    )
    found = compare_log(ClickLog(tmp_path / "log.csv", source=tmp_path / "log.toml"))
    assert (found.wins[0], found.ties[0]) == (25_000, 1)


@pytest.mark.parametrize(
    ("form", "pattern"), [("03/0{k}/2026 10:00:00", "%m/%d/%Y %H:%M:%S"), ("0{k}.03.2026", "%d.%m.%Y")]
)
def test_dates_of_a_csv_file_are_text_that_the_mapping_converts(tmp_path, form, pattern):
    """Regression: DuckDB converted the column itself, and read dates of the United States as dates of Europe."""
    rows = [f"p{k},{form.replace('{k}', str(k))},q,u{k},{'d1' if k % 2 else 'd2'}" for k in range(1, 6)]
    (tmp_path / "log.csv").write_text("page,seen,query,visitor,clicked\n" + "\n".join(rows) + "\n")
    text = (
        NESTED.replace('"sid"', '"page"')
        .replace('"at"', f""""strptime(seen, '{pattern}')\"""")
        .replace('"order"', '"query"')
    )
    text = text.replace('user = "user"', 'user = "visitor"').replace(
        "list_transform(results, lambda x: x.doc)", "['d1', 'd2']"
    )
    text = text.replace("list_transform(results, lambda x: x.team)", "['old', 'new']")
    text = text.replace("unnest(actions).doc", "clicked").replace('kind = "unnest(actions).type"\n', "")
    (tmp_path / "log.toml").write_text(text)
    facts = describe_log(ClickLog(tmp_path / "log.csv", source=tmp_path / "log.toml"))
    assert (facts.last - facts.first) / 86_400 == 4 and facts.impressions == 5


def test_a_position_written_as_text_and_an_empty_name_of_a_ranker_are_refused(tmp_path):
    rows = [exposure(0, owners=["0", "1", ""])]
    with pytest.raises(InputError, match=r"owner '0' is not a ranker: .*; a position in rankers must be a number"):
        outcome_of(tmp_path, rows, [event("i0", "a")])
    with pytest.raises(InputError, match=r"'rankers' must name from 2 to \d+ different rankers, not \['old', ''\]"):
        outcome_of(tmp_path, [exposure(0, rankers=["old", ""])], [event("i0", "a")])


NESTED = """
[exposures]
impression = "sid"
time = "at"
query = "order"
user = "user"
shown = "list_transform(results, lambda x: x.doc)"
owners = "list_transform(results, lambda x: x.team)"
rankers = ["old", "new"]
[events]
impression = "sid"
item = "unnest(actions).doc"
kind = "unnest(actions).type"
"""


@pytest.mark.filterwarnings("default")  # a warning of Ibis
@pytest.mark.parametrize("connected", [False, True])
def test_columns_may_be_named_like_sql_keywords_and_lists_may_contain_objects(tmp_path, connected):
    rows = [
        {
            "sid": f"s{k}",
            "at": 1_700_000_000 + k,
            "order": "q",
            "user": f"u{k}",
            "results": [{"doc": "a", "team": "old"}, {"doc": "b", "team": "new"}],
            "actions": [{"type": "click", "doc": "ab"[k % 3 > 0]}],
        }
        for k in range(6)
    ]
    path = tmp_path / "nested.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "nested.toml").write_text(NESTED)
    if connected:
        with duckdb.connect(tmp_path / "shop.duckdb") as database:
            database.execute(f"CREATE TABLE searches AS SELECT * FROM read_json('{path}')")
        options = {"connect": f"duckdb://{tmp_path / 'shop.duckdb'}", "events": "searches"}
    log = ClickLog("searches" if connected else path, source=tmp_path / "nested.toml", **(options if connected else {}))
    found = compare_log(log)
    assert (found.names, found.wins[0], found.losses[0]) == (("old", "new"), 2, 4)
    assert describe_log(log).users == 6


WIKIMEDIA = """
[exposures]
where = "event = 'serp'"
impression = "search_id"
time = "timestamp"
query = "search_id"
rankers = ["A", "B"]
[events]
where = "event = 'click'"
impression = "search_id"
position = "position"
owner = "ranking_function"
"""


def test_wikimedia_logs_name_the_owners_of_clicked_places_only(real_data, tmp_path):
    """In 1,000 searches, Wikimedia's library counts 754 for A, 81 for B and 71 ties; 94 have no click."""
    (tmp_path / "wikimedia.toml").write_text(WIKIMEDIA)
    log = ClickLog(real_data / "logs" / "wikimedia_interleaved_a.csv.gz", source=tmp_path / "wikimedia.toml")
    found = compare_log(log)
    assert (found.names, found.wins[0], found.losses[0], found.ties[0]) == (("A", "B"), 754, 81, 71 + 94)
    statistic = (found.wins[0] + 71 / 2) / (754 + 81 + 71) - 0.5
    assert statistic == pytest.approx(0.3714, abs=5e-5)  # the printed value


def test_ubi_records_of_three_applications_are_read(real_data):
    path = real_data / "logs" / "ubi_queries_events.ndjson.gz"
    facts = describe_log(ClickLog(path, format="ubi", skip_bad=None))
    assert facts.impressions + facts.bad == 284  # different ids of queries
    assert facts.forms == {"nothing": 278} and facts.bad == 6  # queries without a record of the shown list
    carts = describe_log(ClickLog(path, format="ubi", skip_bad=None, outcome="add_to_cart"))
    assert 0 < carts.clicks <= 234 and carts.impressions == facts.impressions


def test_records_without_rankers_are_refused_for_that_and_not_for_a_line(real_data, tmp_path):
    """Repaired lines would not help."""
    path = real_data / "logs" / "ubi_queries_events.ndjson.gz"
    for skipped in (0, 1000):
        with pytest.raises(InputError) as error:
            compare_log(ClickLog(path, format="ubi", skip_bad=skipped))
        assert str(error.value) == f"{path}: {NO_CREDIT}"
    with pytest.raises(InputError, match=r"\(records of User Behavior Insights are read with --format ubi\)"):
        compare_log(ClickLog(path))
    row = {"impression": 1, "time": 0, "query": "q", "shown": ["a", "b"], "clicks": []}
    good = row | {"impression": 2, "rankers": ["a", "b"], "owners": [0, 1]}
    path = tmp_path / "clicks.jsonl"
    path.write_text("\n".join(json.dumps(one) for one in (row | {"shown": None}, good)))
    with pytest.raises(InputError, match=r"clicks\.jsonl:1: 'shown' is missing"):
        compare_log(ClickLog(path))


def test_ubi_positions_count_from_where_their_application_begins(tmp_path):
    rows = []
    for application, base in (("one", 0), ("two", 1)):
        about = {"application": application, "query_id": application, "client_id": "u", "timestamp": 1_700_000_000_000}
        rows += [
            {"index": {}},
            about | {"user_query": "q", "query_attributes": {"rankers": ["x", "y"], "owners": [0, 1]}},
        ]
        for k, item in enumerate("ab"):
            attributes = {"object": {"object_id": item}, "position": {"ordinal": base + k}}
            rows.append(about | {"action_name": "impression", "event_attributes": attributes})
        attributes = {"position": {"ordinal": base + 1}}
        rows.append(
            about | {"action_name": "click", "event_attributes": attributes, "timestamp": "2024-01-01T00:00:00Z"}
        )
    path = tmp_path / "ubi.ndjson"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = compare_log(ClickLog(path, format="ubi"))
    assert (found.names, found.losses[0], found.impressions) == (("x", "y"), 2, 2)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[exposures]\ncolour = 'x'", "must map impression"),
        (
            "[exposures]\ntiem = 'x'",
            r"m\.toml: .exposures. maps 'tiem', which is not a column of a log; did you mean 'time'",
        ),
        ("[events]\ncolour = 'x'", r"m\.toml: .events. maps 'colour', which is not a column of a log \(impress"),
        ("[exposures]\ntime = 't'", "must map impression"),
        ("[exposures", "not a mapping: "),
        (
            "[exposures]\nimpression = 'a'\ntime = 'b'\nquery = 'c'",
            "m.toml: .exposures. impression = 'a': .*parquet has no column 'a' .it has ",
        ),
    ],
)
def test_a_mapping_that_does_not_fit_is_said(tmp_path, text, says):
    (tmp_path / "m.toml").write_text(text)
    path = parquet(tmp_path, "exposures", [exposure(0)])
    with pytest.raises(InputError, match=says):
        compare_log(ClickLog(path, source=tmp_path / "m.toml", events=path))


def tables(number=1500, seed=0):
    """Return exposures of two of three rankers, by 200 users who return, and their events."""
    rng = np.random.default_rng(seed)
    exposures, events = [], []
    for n in range(number):
        rankers = [str(name) for name in rng.permutation(["a", "b", "c"])[:2]]
        owners = [int(k) for k in rng.integers(-1, 2, 3)]
        user = None if n % 50 == 0 else f"u{rng.integers(200)}"
        exposures.append(exposure(n, user, n // 2, rankers=rankers, owners=owners, shown=["x", "y", "z"]))
        for place in range(3):
            if rng.random() < 0.3:
                late = user is not None and rng.random() < 0.3
                events.append(event(None if late else f"i{n}", "xyz"[place], user=user, time=n // 2 + 1.0))
    return exposures, events


def numbers(log, cluster):
    """Return all whole numbers of all pairs by name."""
    found, sums, _ = _compared(log, log.outcome.name, cluster, (), 0.95, per="impression", looks=True)
    classes = [[part.tolist() for part in kind] for kind in sums.kinds]
    looks = [(look.time, look.impressions, [s.tolist() for s in look.sequences]) for look in found.looks]
    whole = [sums.wins.tolist(), sums.losses.tolist(), sums.ties.tolist(), [s.tolist() for s in sums.sequences]]
    return found.names, found.pairs.tolist(), whole, classes, looks, found.impressions


def same_numbers(folder, connection, fill, clusters):
    exposures, events = tables()
    paths = [parquet(folder, name, rows) for name, rows in (("exposures", exposures), ("events", events))]
    fill(exposures, events, paths)
    settings = {"within": "1m", "which": "last"}
    for cluster in clusters:
        here = ClickLog(paths[0], events=paths[1], **settings)
        there = ClickLog("exposures", events="events", connect=connection, **settings)
        expected = numbers(here, cluster)
        assert sum(expected[2][0]) > 100
        assert numbers(there, cluster) == expected


def test_a_connection_ends_with_its_log_and_a_backend_that_was_passed_in_stays_open(monkeypatch):
    ended = []
    backend = SimpleNamespace(name="there", disconnect=lambda: ended.append(1))
    monkeypatch.setattr("ibis.connect", lambda url: backend)
    for given, times in ((backend, 0), ("postgres://somewhere/shop", 1)):
        warehouse = Warehouse(given)
        del warehouse
        gc.collect()
        assert len(ended) == times


@pytest.mark.filterwarnings("default")  # a warning of Ibis
def test_a_duckdb_file_gives_the_same_integers(tmp_path):
    path = tmp_path / "shop.duckdb"

    def fill(exposures, events, paths):
        with duckdb.connect(str(path)) as db:
            for table in paths:
                db.execute(f"CREATE TABLE {table.stem} AS SELECT * FROM '{table}'")

    url = f"duckdb://{path}?read_only=True"
    same_numbers(tmp_path, url, fill, ("user",))
    names = {
        "exposures": ("impression", "time", "user", "query", "shown", "rankers", "owners"),
        "events": ("impression", "user", "item", "kind", "time"),
    }
    lines = [f"[{table}]\n" + "".join(f"{name} = '\"{name}\"'\n" for name in names[table]) for table in names]
    (tmp_path / "m.toml").write_text("\n".join(lines))
    plain = ClickLog("exposures", events="events", connect=url)
    mapped = ClickLog("exposures", events="events", connect=url, source=tmp_path / "m.toml")
    assert numbers(mapped, "user") == numbers(plain, "user")


@pytest.mark.filterwarnings("default")  # a warning of Ibis
@pytest.mark.parametrize(("owner", "placed"), [("new", 1), ("", -1), (None, -1), ("nobody", None)])
def test_a_connection_may_name_the_owners(tmp_path, owner, placed):
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as db:
        db.execute("CREATE TABLE events AS SELECT '1' AS impression, 'b' AS item")
        db.execute(
            "CREATE TABLE exposures AS SELECT '1' AS impression, 5.0 AS time, 'q' AS query, ['a', 'b'] AS shown,"
            " ['old', 'new'] AS rankers, ['old', $1] AS owners", [owner],
        )  # fmt: skip
    log = ClickLog("exposures", events="events", connect=f"duckdb://{tmp_path / 'shop.duckdb'}")
    if placed is None:
        with pytest.raises(InputError, match="is not a ranker"):
            compare_log(log)
    else:
        found = compare_log(log)
        assert (found.wins[0], found.losses[0]) == (0, int(placed == 1)) and found.names == ("old", "new")


def test_postgres_says_the_same_to_the_last_integer(tmp_path, postgres):
    url, psycopg = postgres

    def fill(exposures, events, paths):
        with psycopg.connect(url) as db:
            db.execute(
                'CREATE TABLE exposures (impression text, time float8, "user" text, query text, shown text[],'
                " rankers text[], owners int[])"
            )
            db.execute(
                'CREATE TABLE events (impression text, "user" text, item text, kind text, time float8,'
                " value float8, dwell float8)"
            )
            for name, rows in (("exposures", exposures), ("events", events)):
                marks = ", ".join(["%s"] * len(rows[0]))
                db.cursor().executemany(f"INSERT INTO {name} VALUES ({marks})", [list(row.values()) for row in rows])

    same_numbers(tmp_path, url, fill, ("user", "both", "query", "impression"))


@pytest.mark.filterwarnings("default")
def test_spark_says_the_same_to_the_last_integer(tmp_path, monkeypatch):
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    if not shutil.which("java"):
        pytest.skip("no Java on this machine")
    import ibis
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2").config("spark.sql.session.timeZone", "UTC").getOrCreate()
    )  # fmt: skip
    try:
        backend = ibis.pyspark.connect(session)

        def fill(exposures, events, paths):
            for path in paths:
                session.read.parquet(str(path)).createOrReplaceTempView(path.stem)

        same_numbers(tmp_path, backend, fill, ("user",))
    finally:
        session.stop()


def test_an_outcome_that_never_occurs_is_refused_by_name(tmp_path):
    (tmp_path / "e.jsonl").write_text(
        '{"impression": "1", "time": 0, "query": "q", "rankers": ["a", "b"], "shown": ["x"], "owners": [0]}\n'
    )
    (tmp_path / "v.jsonl").write_text('{"impression": "1", "item": "x", "kind": "buy", "time": 1}\n')
    log = ClickLog(tmp_path / "e.jsonl", events=tmp_path / "v.jsonl", outcome="bye")
    with pytest.raises(InputError, match=r"no kind of event 'bye'; did you mean 'buy'\? \(buy\)"):
        compare_log(log)


def test_owners_by_name_in_search_records_are_places_and_other_names_are_refused(tmp_path):
    about = {"query_id": "1", "client_id": "u", "timestamp": 1_700_000_000_000, "user_query": "q"}
    click = {
        "query_id": "1",
        "action_name": "click",
        "timestamp": 1_700_000_000_001,
        "event_attributes": {"object": {"object_id": "y"}},
    }
    for owners, wrong in ((["old", "new"], False), (["old", "nwe"], True)):
        given = about | {
            "query_response_hit_ids": ["x", "y"],
            "query_attributes": {"rankers": ["old", "new"], "owners": owners},
        }
        path = tmp_path / f"{owners[1]}.ndjson"
        path.write_text(json.dumps(given) + "\n" + json.dumps(click) + "\n")
        if wrong:
            with pytest.raises(InputError, match="is not a ranker"):
                compare_log(ClickLog(path, format="ubi"))
        else:
            assert compare_log(ClickLog(path, format="ubi")).losses.tolist() == [1]


def test_a_position_that_is_no_whole_number_is_refused_and_a_log_without_a_click_is_no_sound_one(tmp_path, monkeypatch):
    """Regression: a list as a position was ignored without a message, and all checks passed without clicks."""
    monkeypatch.chdir(tmp_path)
    row = {"id": 0, "ts": 0, "shown": ["a", "b"], "own": [0, 1], "clicked": [2], "half": 1.5, "word": "top", "no": None}
    Path("my.jsonl").write_text("\n".join(json.dumps(row | {"id": k, "ts": k}) for k in range(4)))
    exposures = '[exposures]\nimpression = "id"\ntime = "ts"\nquery = "1"\nshown = "shown"\nrankers = ["x", "y"]\n'

    def log(position, more="", rest=""):
        events = f'[events]\nimpression = "id"\nposition = "{position}"\n{rest}' * bool(position)
        Path("my.toml").write_text(exposures + f'owners = "own"\n{more}' + events)
        return ClickLog("my.jsonl", source="my.toml", skip_bad=None)

    way = '; for a column of lists map position = "unnest(clicked)"'
    for position, value in (("clicked", f"'[2]'{way}"), ("half", "'1.5'"), ("word", "'top'")):
        with pytest.raises(InputError, match=r"^my\.jsonl:1: 'position' of an event must be a whole number") as error:
            check_log(log(position))
        assert str(error.value).endswith(f", 1 for the top, not {value}")
    with pytest.raises(InputError, match=r"""'position' in \[events\] instead .* position = "unnest\(clicked\)"\)$"""):
        check_log(log("", 'clicks = "clicked"\n'))
    assert describe_log(log("unnest(clicked)")).clicks == 4
    assert not [one for one in check_log(log("unnest(clicked)")) if one.verdict == "fails"]
    [failed] = [one for one in check_log(log("2", rest='where = "1 = 0"\n')) if one.verdict == "fails"]
    assert failed.name == "clicks" and failed.sentence.startswith("no impression has a counted event (click)")


def test_a_log_that_lacks_columns_is_told_of_a_mapping(tmp_path):
    (tmp_path / "my.jsonl").write_text('{"id": 1, "query": "q", "shown": ["a"], "clicks": []}\n')
    with pytest.raises(
        InputError, match=r"has no columns 'impression' and 'time' \(it has clicks, id, .*map them with --source"
    ):
        compare_log(ClickLog(tmp_path / "my.jsonl"))
