"""Logs with page tokens or rankings: reading in batches equals reading row by row, to the last bit."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ltr_duel.interleaving import interleave
from ltr_duel.logs import ClickLog, compare_log, credit
from tests.logs.tables import write

RANKERS = ("a", "b", "c")


def impressions(method, rankers, number=400, outcome="", queries=6):
    """Return rows with rankings, and rows with page tokens; clicks favour the first ranker, and users return."""
    rng = np.random.default_rng(0)
    pools = [[f"{query}/{k}" for k in range(rng.integers(3, 24))] for query in range(queries)]
    ranked, tokens = [], []
    for k in range(number):
        query = int(rng.integers(queries))
        lists = {
            str(name): [str(d) for d in rng.permutation(pools[query])] for name in rng.permutation(RANKERS)[:rankers]
        }
        page = interleave(lists, method, outcome=outcome, top=int(rng.integers(1, 7)), rng=rng)
        best = next(iter(lists.values()))
        clicks = [m for m, document in enumerate(page.shown, 1) if rng.random() < 0.5 / (1 + best.index(document))]
        row = {"impression": k, "time": k, "query": query, "user": int(rng.integers(number // 3)), "clicks": clicks}
        row |= {"shown": list(page.shown)}
        made = {"rankers": list(lists), "rankings": list(lists.values()), "method": method, "outcome": page.outcome}
        ranked.append(row | made)
        tokens.append(row | {"page": page.to_json()})
    return ranked, tokens


def same(found, other):
    assert found.names == other.names and found.pairs.tolist() == other.pairs.tolist()
    for field in ("wins", "losses", "ties", "low", "high", "p", "p_corrected"):
        assert getattr(found, field).tolist() == getattr(other, field).tolist()
    for mine, its in zip((*found.means, *found.sequences), (*other.means, *other.sequences), strict=True):
        assert mine.tolist() == its.tolist()


@pytest.mark.parametrize(
    ("method", "rankers", "outcome"),
    [
        ("team_draft", 2, ""),
        ("balanced", 2, ""),
        ("probabilistic:tau=1", 2, "marginal_sign"),
        ("probabilistic", 2, "expectation"),
        ("probabilistic", 2, "marginal_bernoulli"),
        ("optimized", 2, ""),
        ("sosm", 3, ""),
        ("probabilistic", 3, "marginal_sign"),
        ("team_draft", 3, ""),
    ],
)
def test_all_forms_lead_to_the_same_comparison(tmp_path, monkeypatch, method, rankers, outcome):
    ranked, tokens = impressions(method, rankers, 60 if method == "optimized" else 400, outcome)
    path = write(tmp_path / "tokens.jsonl", tokens)
    fast = compare_log(ClickLog(path))
    assert fast.impressions == len(tokens) and fast.wins.sum() > 5 and fast.cluster == "user"
    if method != "team_draft" and outcome != "marginal_bernoulli":  # credited by owners, and by the coin
        same(compare_log(ClickLog(write(tmp_path / "rankings.jsonl", ranked))), fast)
        half = len(tokens) // 2
        mixed = compare_log(ClickLog(write(tmp_path / "mixed.jsonl", tokens[:half] + ranked[half:])))
        assert mixed.wins.tolist() == fast.wins.tolist()
    monkeypatch.setattr(credit, "read_tokens", lambda *tokens: [])
    same(compare_log(ClickLog(path)), fast)


def test_tokens_written_in_another_way_count_the_same_and_say_what_is_wrong(tmp_path, monkeypatch):
    tokens = impressions("probabilistic", 2, 80, "marginal_sign")[1]
    usual = compare_log(ClickLog(write(tmp_path / "usual.jsonl", tokens)))
    for k, row in enumerate(tokens):
        given = json.loads(row["page"])
        if k % 4 == 1:
            row["page"] = json.dumps(given)
        elif k % 4 == 2:
            row["page"] = json.dumps(dict(reversed(given.items())))
        elif k % 4 == 3:
            row["page"] = row["page"].replace(given["shown"][0], "\\u00e9", 1)
            row["shown"] = ["é", *row["shown"][1:]]
    same(compare_log(ClickLog(write(tmp_path / "odd.jsonl", tokens))), usual)
    tokens[30]["page"] = tokens[30]["page"][:-1]
    tokens[40]["page"] = tokens[44]["page"]
    other_method = '"balanced","outcome":"credit"'
    tokens[52]["page"] = tokens[52]["page"].replace('"probabilistic","outcome":"marginal_sign"', other_method)
    path, found = write(tmp_path / "wrong.jsonl", tokens), []
    for _ in range(2):
        log = ClickLog(path, skip_bad=None)
        found.append((compare_log(log), log.bad.sentences))
        monkeypatch.setattr(credit, "read_tokens", lambda *tokens: [])
    (fast, sentences), (slow, others) = found
    same(fast, slow)
    assert sentences == others and [sentence.split(":")[1] for sentence in sentences] == ["31", "41", "53"]
    assert "another list" in sentences[1] and "method 'balanced' (credit), but the log began" in sentences[2]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"rankings": [["x", "y"], ["x", "x"]]}, "the rankings differ in their documents"),
        ({"rankings": [["x", "x"], ["x", "y"]]}, "a ranking contains a document twice"),
        ({"rankings": [["x", "y"], ["x", "z"]]}, "the rankings differ in their documents"),
        ({"rankings": [["x", "y"], ["x"]]}, "the rankings differ in their documents"),
        ({"rankings": [[], []]}, "'rankings' must contain lists of 1 to 10,000 documents"),
        ({"rankings": [["x", "y"]]}, "1 rankings for 2 rankers"),
        ({"shown": ["x", "w"]}, "the shown document 'w' is in no ranking"),
        (
            {"outcome": "marginal_bernoulli", "method": "probabilistic"},
            "needs the coin of the list: give the page token",
        ),
    ],
)
def test_rankings_that_cannot_be_credited_are_named(tmp_path, change, says):
    row = {"time": 1, "query": "q", "shown": ["x", "y"], "clicks": [1], "rankers": ["a", "b"], "method": "balanced"}
    row |= {"rankings": [["x", "y"], ["y", "x"]]}
    rows = [row | {"impression": n} for n in range(3)]
    rows[1] |= change
    log = ClickLog(write(tmp_path / "c.jsonl", rows), skip_bad=1)
    assert compare_log(log).impressions == 2
    assert f"c.jsonl:2: {says}" in log.bad.sentences[0] or says in log.bad.sentences[0]
