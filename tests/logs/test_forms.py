"""Logs with page tokens or rankings: reading in batches equals reading row by row, to the last bit."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ltr_duel.interleaving import interleave
from ltr_duel.logs import ClickLog, compare_log, credit
from tests.logs.test_compare import outcomes_of

RANKERS = ("a", "b", "c")


def written(folder, rows, name):
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def impressions(method, rankers, number=400, outcome="", seed=0, queries=6, fixed=False):
    """Yield rows with rankings, and their pages; clicks favour the first ranker, and users return."""
    rng = np.random.default_rng(seed)
    pools = [[f"{query}/{k}" for k in range(rng.integers(3, 24))] for query in range(queries)]
    orders = [{name: list(rng.permutation(pool)) for name in RANKERS} for pool in pools]
    for k in range(number):
        query = int(rng.integers(queries))
        some = rng.permutation(RANKERS)[:rankers]
        lists = {str(name): [str(d) for d in orders[query][name]] for name in some}
        if not fixed:
            lists = {name: [str(d) for d in rng.permutation(ids)] for name, ids in lists.items()}
        page = interleave(lists, method, outcome=outcome, top=int(rng.integers(1, 7)), rng=rng)
        clicks = [
            m + 1 for m in range(len(page.shown)) if rng.random() < 0.5 / (1 + lists[some[0]].index(page.shown[m]))
        ]
        row = {"impression": k, "time": k, "query": query, "user": int(rng.integers(number // 3)), "clicks": clicks}
        row |= {"shown": list(page.shown), "rankers": list(lists), "rankings": list(lists.values())}
        yield row | {"method": method, "outcome": page.outcome}, page


def forms(rows, token=lambda page: page.to_json()):
    """Return the same impressions with rankings and with tokens."""
    rankings = [row for row, _ in rows]
    common = ("impression", "time", "query", "user", "clicks", "shown")
    return rankings, [{name: row[name] for name in common} | {"page": token(page)} for row, page in rows]


def one_by_one(*tokens):
    return []


def same(found, other):
    assert found.names == other.names and found.pairs.tolist() == other.pairs.tolist()
    for field in ("wins", "losses", "ties", "low", "high", "p", "p_corrected"):
        assert getattr(found, field).tolist() == getattr(other, field).tolist()
    for mine, its in zip((*found.means, *found.sequences), (*other.means, *other.sequences), strict=True):
        assert mine.tolist() == its.tolist()
    assert [look.sequences.lead.tolist() for look in found.looks] == [k.sequences.lead.tolist() for k in other.looks]


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
    rows = list(impressions(method, rankers, 60 if method == "optimized" else 400, outcome))
    ranked, tokens = forms(rows)
    fast = compare_log(ClickLog(written(tmp_path, tokens, "tokens.jsonl")))
    assert fast.impressions == len(rows) and fast.wins.sum() > 5 and fast.cluster == "user"
    if method != "team_draft" and outcome != "marginal_bernoulli":  # credited by owners, and by the coin of the token
        same(compare_log(ClickLog(written(tmp_path, ranked, "rankings.jsonl"))), fast)
    monkeypatch.setattr(credit, "read_tokens", one_by_one)
    same(compare_log(ClickLog(tmp_path / "tokens.jsonl")), fast)


def test_tokens_written_in_another_way_count_the_same_and_say_what_is_wrong(tmp_path, monkeypatch):
    rows = list(impressions("probabilistic", 2, 80, "marginal_sign"))
    as_usual, odd = forms(rows)[1], forms(rows)[1]
    for k, row in enumerate(odd):
        given = json.loads(row["page"])
        if k % 4 == 1:
            row["page"] = json.dumps(given)
        elif k % 4 == 2:
            row["page"] = json.dumps(dict(reversed(given.items())))
        elif k % 4 == 3:
            row["page"] = row["page"].replace(given["shown"][0], "\\u00e9", 1)
            row["shown"] = ["é", *row["shown"][1:]]
    expected = outcomes_of(written(tmp_path, as_usual, "usual.jsonl"))
    assert outcomes_of(written(tmp_path, odd, "odd.jsonl")) == expected
    odd[30]["page"] = odd[30]["page"][:-1]
    odd[40]["page"] = odd[44]["page"]
    other_method = '"balanced","outcome":"credit"'
    odd[52]["page"] = odd[52]["page"].replace('"probabilistic","outcome":"marginal_sign"', other_method)
    odd[60]["page"] = odd[60]["page"].replace('"outcome":"marginal_sign"', '"outcome":"nonsense"')
    path = written(tmp_path, odd, "hostile.jsonl")

    def sentences():
        log = ClickLog(path, skip_bad=None)
        return compare_log(log), log.bad.sentences

    found, fast = sentences()
    monkeypatch.setattr(credit, "read_tokens", one_by_one)
    other, slow = sentences()
    same(found, other)
    assert fast == slow and [one.split(":")[1] for one in fast] == ["31", "41", "53", "61"]
    assert "another list" in fast[1] and "method 'balanced' (credit), but the log began" in fast[2]


def test_a_document_that_is_shown_twice_is_told_by_all_its_bytes(tmp_path):
    row = {"time": 1, "query": "q", "clicks": []}
    near = ["a", "aa", "", "x12345678", "y12345678", "12345678", "x12345678y12345678", "y12345678y12345678"]
    lists = [near, [*near, "y12345678y12345678"], near, ["", ""]]
    log = ClickLog(
        written(tmp_path, [row | {"impression": k, "shown": s} for k, s in enumerate(lists)], "c.jsonl"), skip_bad=2
    )
    assert [n for batch in log.batches() for n in batch.table.column("impression").to_pylist()] == ["0", "2"]
    assert log.bad.sentences[0].endswith(":2: document 'y12345678y12345678' is shown twice; 2 such lines")
