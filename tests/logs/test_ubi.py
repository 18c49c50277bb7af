"""Records of User Behavior Insights as applications write them."""

from __future__ import annotations

import json

import pytest

from ltr_duel.logs import ClickLog, compare_log


def query(n, **attributes):
    about = {"query_id": f"q{n}", "client_id": f"u{n}", "timestamp": 1_767_225_600_000 + n, "user_query": "tv"}
    return about | {"query_response_hit_ids": ["a", "b", "c"], "query_attributes": {"rankers": ["x", "y"]} | attributes}


def click(n, ordinal=None, item=None, **attributes):
    about = {"query_id": f"q{n}", "client_id": f"u{n}", "timestamp": 1_767_225_605_000 + n, "action_name": "click"}
    seen = {"position": {"ordinal": ordinal}} if ordinal is not None else {"object": {"object_id": item}}
    return about | {"event_attributes": seen | attributes}


def compared(folder, records):
    path = folder / "ubi.ndjson"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    found = compare_log(ClickLog(path, format="ubi"))
    return found.names, found.wins[0], found.losses[0], found.ties[0]


@pytest.mark.parametrize("ordinals", [[0, 1, 1], [1, 1, 1]], ids=["all positions", "never the first"])
def test_ordinals_of_clicks_count_from_0(tmp_path, ordinals):
    """Position 1 is owned by x, position 2 by y."""
    records = [query(n, owners=[0, 1, None]) for n in range(3)] + [click(n, k) for n, k in enumerate(ordinals)]
    assert compared(tmp_path, records) == (("x", "y"), ordinals.count(0), ordinals.count(1), 0)


def test_the_search_config_of_an_event_is_the_ranker_of_its_item_without_owners(tmp_path):
    records = [query(n) for n in range(3)]
    records += [click(0, item="b", search_config="y"), click(1, item="a", search_config="x"), click(1, item="b")]
    assert compared(tmp_path, records) == (("x", "y"), 1, 1, 1)
