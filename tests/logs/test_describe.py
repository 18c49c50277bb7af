"""The description of a log says what it contains, what its credit is based on, and which lines are wrong."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from ltr_duel.core import InputError
from ltr_duel.interleaving import interleave
from ltr_duel.logs import ClickLog, describe_log

LINE = {"query": "q", "shown": ["a", "b"], "clicks": [1]}
OWNED = {"rankers": ["x", "y"], "owners": [0, 1]}


def described(folder, *rows):
    path = folder / "log.jsonl"
    lines = [json.dumps({"impression": k, "time": k} | LINE | row) for k, row in enumerate(rows)]
    path.write_text("\n".join(lines))
    return describe_log(ClickLog(path, skip_bad=None))


def test_impressions_users_and_clicks_are_counted(tmp_path):
    rows = [{"user": k % 6, "time": k, "clicks": [1, 2][: k % 3], "query": k % 4, "visitor": 1} for k in range(60)]
    rows[7] |= {"shown": ["a", "b", "c", "d"], "user": None}
    facts = described(tmp_path, *rows, {"clicks": [9]})
    assert (facts.impressions, facts.users, facts.queries, facts.clicks, facts.clicked) == (60, 6, 4, 60, 40)
    assert (facts.shown, facts.forms) == ((2, 4), {"nothing": 60})
    assert facts.lines[:3] == (
        "60 impressions from 1970-01-01 00:00:00 to 1970-01-01 00:00:59 (jsonl)",
        "4 queries; lists of 2 to 4 documents; 60 clicks, on 66.7% of the impressions",
        "6 users, 10.0 impressions each",
    )
    assert {"not read: visitor", "1 line cannot be used:"} < set(facts.lines)
    assert ":61: a click at position 9" in facts.lines[-1]


def test_rows_are_counted_by_the_basis_of_their_credit(tmp_path):
    page = interleave({"x": ["a", "b"], "y": ["a", "b"]}, seed=0).to_json()
    facts = described(tmp_path, OWNED, {"page": page}, OWNED | {"page": page}, OWNED)
    assert facts.forms == {"page": 2, "owners": 2} and facts.rankers == ("x", "y")
    columns = "columns: impression, time, query, shown, clicks, page, rankers, owners"
    assert facts.lines[-2:] == ("2 rankers, by team_draft (credit): x, y", columns)


def test_events_that_are_repeated_or_outside_their_list_are_counted(tmp_path):
    shown, done = tmp_path / "shown.parquet", tmp_path / "done.parquet"
    row = {"query": "q", "shown": ["a", "b"]} | OWNED
    pd.DataFrame([row | {"impression": k, "time": k} for k in range(3)]).to_parquet(shown)
    pd.DataFrame([{"impression": k, "item": item} for k in range(2) for item in "aabca"]).to_parquet(done)
    line = "of 10 events (click), 4 are on an item that has one already and 2 are outside their list"
    assert describe_log(ClickLog(shown, events=done)).lines[3] == line


def test_a_log_without_a_usable_line_is_refused_with_its_first_fault(tmp_path):
    with pytest.raises(InputError, match=r"no impression that can be used; .*:1: 'shown' is empty"):
        described(tmp_path, {"shown": []})
