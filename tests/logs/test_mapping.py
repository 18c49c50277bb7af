"""Tables of other programs: mappings, one row for each item, and records of User Behavior Insights."""

from __future__ import annotations

import pytest

from ltr_duel.core import InputError
from ltr_duel.logs import ClickLog, check_log, compare_log, describe_log
from ltr_duel.logs.table import NO_CREDIT
from tests.logs.tables import compared, impression, rows_of, write

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
PAGES = """
[exposures]
impression = "page"
time = "strptime(seen, '%m/%d/%Y %H:%M:%S')"
query = "query"
shown = "['d1', 'd2']"
owners = "[0, 1]"
rankers = ["old", "new"]
[events]
impression = "page"
position = "unnest(string_split(clicked::varchar, '|'))::int"
"""
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


def mapped(path, text):
    mapping = path.with_suffix(".toml")
    mapping.write_text(text)
    return {"path": path, "source": mapping}


def test_dates_of_a_csv_file_are_text_that_the_mapping_converts(tmp_path):
    """Regression: DuckDB converted the column itself, and read dates of the United States as dates of Europe."""
    rows = [f"p{k},03/0{k}/2026 10:00:00,q,1" for k in range(1, 6)]
    (tmp_path / "log.csv").write_text("page,seen,query,clicked\n" + "\n".join(rows) + "\n")
    log = ClickLog(**mapped(tmp_path / "log.csv", PAGES))
    times = [row["time"] for row in rows_of(log)]
    assert len(times) == 5 and (times[-1] - times[0]) / 86_400 == 4


def test_columns_may_be_named_like_sql_keywords_and_lists_may_contain_objects(tmp_path):
    results = [{"doc": "a", "team": "old"}, {"doc": "b", "team": "new"}]
    rows = [
        {"sid": f"s{k}", "at": 1_700_000_000 + k, "order": "q", "user": f"u{k}", "results": results}
        | {"actions": [{"type": "click", "doc": "ab"[k % 3 > 0]}]}
        for k in range(6)
    ]
    settings = mapped(write(tmp_path / "nested.jsonl", rows), NESTED)
    assert compared(**settings) == (2, 4, 0) and describe_log(ClickLog(**settings)).users == 6


def test_wikimedia_logs_name_the_owners_of_clicked_places_only(real_data, tmp_path):
    """In 1,000 searches, Wikimedia's library counts 754 for A, 81 for B and 71 ties; 94 have no click."""
    (tmp_path / "wikimedia.toml").write_text(WIKIMEDIA)
    log = ClickLog(real_data / "logs" / "wikimedia_interleaved_a.csv.gz", source=tmp_path / "wikimedia.toml")
    found = compare_log(log)
    assert (found.names, found.wins[0], found.losses[0], found.ties[0]) == (("A", "B"), 754, 81, 71 + 94)
    statistic = (found.wins[0] + 71 / 2) / (754 + 81 + 71) - 0.5
    assert statistic == pytest.approx(0.3714, abs=5e-5)  # the printed value


OK = "impression = 'impression'\nquery = 'query'\nrankers = ['old', 'new']\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[exposure]\ntime = 'time'", "no section 'exposure'; did you mean 'exposures'? (exposures, events)"),
        ("[exposures]\ntiem = 'x'", "[exposures]: no column of a log 'tiem'; did you mean 'time'?"),
        ("[exposures]\n{ok}clicks = 'seen'", "[exposures] maps 'clicks'; map 'impression' and 'position' in [events]"),
        ("[exposures]\nquery = 'query'", "[exposures]: the section has no columns 'impression' and 'time' (it"),
        ("[exposures]\n{all}[events]\nimpression = 'impression'", "[events]: the section has no column 'item' or '"),
        ("[exposures]\n{ok}time = 'tme'", "[exposures]: {bad}Binder Error: Referenced column \"tme\""),
        ("[exposures]\n{all}[events]\nimpression = 'impression'\nposition = 'place'",
         "[events]: {path} cannot be read as events: Binder Error: Referenced column \"place\" not found"),
        ("[exposures]\n{all}[events]\nfile = 'no.csv'", "[events]: no.csv: no such file"),
    ],
)  # fmt: skip
def test_what_does_not_fit_in_a_mapping_is_named_by_file_and_key(tmp_path, text, says):
    path = write(tmp_path / "e.parquet", [impression(0)])
    text = text.replace("{all}", "{ok}time = 'time'\nowners = 'owners'\n").replace("{ok}", OK)
    settings = mapped(path, text)
    with pytest.raises(InputError) as error:
        compare_log(ClickLog(**settings, events=path))
    says = says.replace("{bad}", f"{path} cannot be read as exposures: ").replace("{path}", str(path))
    assert str(error.value).startswith(f"{settings['source']}: {says}")


def flat(search, docs, teams, clicks):
    """Return a row for each item of a list, the last position first."""
    rows = [
        {"search": search, "moment": 5.0, "words": "q", "who": "u", "doc": doc, "place": k, "team": team}
        for k, (doc, team) in enumerate(zip(docs, teams, strict=True), 1)
    ]
    return [row | {"clicked": row["doc"] in clicks} for row in reversed(rows)]


def test_rows_of_one_search_are_one_exposure_with_its_items_by_place(tmp_path, kind="csv"):
    """Searches 1 and 3 are won by the old ranker, search 2 by the new one, search 4 has no click."""
    rows = flat("s1", "abc", ["old", "new", None], "a") + flat("s2", "abc", ["old", "new", "new"], "bc")
    rows += flat("s3", "cab", ["new", "old", "old"], "ab") + flat("s4", "ab", ["new", "old"], "")
    log = ClickLog(**mapped(write(tmp_path / f"items.{kind}", [*rows, *rows[:2]]), FLAT))  # two rows came twice
    third = rows_of(log)[2]
    assert (third["shown"], third["owners"], sorted(third["clicks"])) == (["c", "a", "b"], [1, 0, 0], [2, 3])
    assert compared(**mapped(log.path, FLAT)) == (2, 1, 1)


@pytest.mark.parametrize(("changed", "message"), [
    ({"team": "new"}, "document 'a' belongs to two rankers, old and new (lines 3 and 4)"),
    ({"team": None}, "document 'a' belongs to two rankers, old and none (lines 3 and 4)"),
    ({"place": 3}, "document 'a' is at the positions 1 and 3 (lines 3 and 4)"),
    ({"doc": "c"}, "document 'c' is at a position that has two documents, a and c (lines 3 and 4)"),
    ({"place": "top"}, "the position of an item must be a whole number, not top"),
    ({"who": "v", "doc": "c", "place": 3}, "the rows of its items differ in 'user'"),
    ({"moment": 6.0}, ""),
    ({"who": None}, ""),
])  # fmt: skip
def test_rows_of_one_search_that_contradict_each_other_are_refused_with_both_lines(tmp_path, changed, message):
    rows = flat("s1", "ab", ["old", "new"], "b")  # the row of a is the second in the file
    settings = mapped(write(tmp_path / "items.csv", [*rows, rows[1] | changed]), FLAT)
    if not message:  # times and missing values may differ
        assert compared(**settings) == (0, 1, 0)
        return
    with pytest.raises(InputError) as error:
        compare_log(ClickLog(**settings))
    assert f"items.csv, impression that begins in line 2: {message}" in str(error.value)


def query(n, **attributes):
    about = {"query_id": f"q{n}", "client_id": f"u{n}", "timestamp": 1_767_225_600_000 + n, "user_query": "tv"}
    return about | {
        "query_response_hit_ids": ["a", "b", "c"],
        "query_attributes": {"rankers": ["old", "new"]} | attributes,
    }


def click(n, ordinal=None, item=None, **attributes):
    about = {"query_id": f"q{n}", "client_id": f"u{n}", "timestamp": 1_767_225_605_000 + n, "action_name": "click"}
    seen = {"position": {"ordinal": ordinal}} if ordinal is not None else {"object": {"object_id": item}}
    return about | {"event_attributes": seen | attributes}


def test_ordinals_of_clicks_count_from_0(tmp_path):
    ordinals = [1, 1, 1]  # never the first
    records = [query(n, owners=["old", "new", None]) for n in range(3)] + [click(n, k) for n, k in enumerate(ordinals)]
    path = write(tmp_path / "ubi.ndjson", records)
    assert compared(path, format="ubi") == (ordinals.count(0), ordinals.count(1), 0)


def test_ordinals_count_from_where_their_application_begins(tmp_path):
    """Each application lists a and b, and has a click on b."""
    records = []
    for application, base in (("one", 0), ("two", 1)):
        about = {"application": application, "query_id": application, "timestamp": 1_700_000_000_000}
        attributes = query(0, owners=[0, 1])["query_attributes"]
        records += [{"index": {}}, about | {"user_query": "q", "query_attributes": attributes}]
        for k, (action, item) in enumerate((("impression", "a"), ("impression", "b"), ("click", None))):
            seen = {"object": {"object_id": item}} if item else {}
            seen |= {"position": {"ordinal": base + min(k, 1)}}
            records.append(about | {"action_name": action, "event_attributes": seen})
    assert compared(write(tmp_path / "ubi.ndjson", records), format="ubi") == (0, 2, 0)


def test_the_search_config_of_an_event_is_the_ranker_of_its_item_without_owners(tmp_path):
    records = [query(n) for n in range(3)]
    records += [click(0, item="b", search_config="new"), click(1, item="a", search_config="old"), click(1, item="b")]
    assert compared(write(tmp_path / "ubi.ndjson", records), format="ubi") == (1, 1, 1)


def test_queries_of_one_id_are_one_impression_and_every_record_is_accounted_for(tmp_path):
    hits = [[], ["a", "b"], ["b"]], [["a"], []], [["a"]]
    records = [query(n) | {"query_response_hit_ids": one} for n, lists in enumerate(hits) for one in lists]
    records[-1]["query_id"] = None
    log = ClickLog(write(tmp_path / "ubi.ndjson", [*records, click(0, item="b")]), format="ubi", skip_bad=None)
    facts, said = describe_log(log), "5 queries have 2 ids: queries of the same id are one impression; 1 id with"
    assert facts.impressions == 2 and facts.lines[3] == f"{said} different lists: the first list counts"
    assert facts.lines[-1].endswith(":6: a query has no query_id")
    assert {one.name: one.verdict for one in check_log(log)}["owners of position 1"] == "not checked"


def test_records_without_rankers_are_refused_for_that_and_not_for_a_line(real_data):
    path = real_data / "logs" / "ubi_queries_events.ndjson.gz"
    facts = describe_log(ClickLog(path, format="ubi", skip_bad=None))
    assert facts.impressions + facts.bad == 284 and facts.forms == {"nothing": 278}  # 6 have no shown list
    assert 0 < describe_log(ClickLog(path, format="ubi", skip_bad=None, outcome="add_to_cart")).clicks <= 234
    for skipped in (0, 1000):
        with pytest.raises(InputError) as error:
            compare_log(ClickLog(path, format="ubi", skip_bad=skipped))
        assert str(error.value) == f"{path}: {NO_CREDIT}"
    with pytest.raises(InputError, match=r"\(records of User Behavior Insights are read with --format ubi\)"):
        compare_log(ClickLog(path))
