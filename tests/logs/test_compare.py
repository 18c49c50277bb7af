"""From clicks to the comparison: credit, errors that hold for returning users, several outcomes, and ratios."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ltr_duel.core import InputError
from ltr_duel.interleaving import METHODS, interleave
from ltr_duel.logs import ClickLog, Outcome, Ratio, compare_log, decide, secondary_outcomes, simulate_log
from ltr_duel.preferences import condorcet_confidence
from tests.conftest import random_rankings

ROW = {"shown": ["x", "y"], "clicks": [1], "rankers": ["a", "b"], "owners": [0, 1]}
IDS = [f"d{k}" for k in range(8)]


def write(tmp_path, rows):
    path = tmp_path / "clicks.jsonl"
    path.write_text(
        "\n".join(json.dumps({"impression": k, "time": k, "query": "q"} | row) for k, row in enumerate(rows))
    )
    return path


CREDITED = [
    *[(method.name, ("b", "a"), (*method.posterior, *method.outcomes)[0]) for method in METHODS if method.pairs],
    *[(method.name, ("c", "a", "b"), "") for method in METHODS if method.slates and method.compiled],
    ("probabilistic:tau=1", ("a", "b"), "sampled"),
    ("probabilistic", ("a", "b"), "expectation"),
]


@pytest.mark.parametrize(("method", "rankers", "outcome"), CREDITED)
def test_tokens_and_owners_give_the_credit_of_the_page(tmp_path, method, rankers, outcome):
    rng, rows, expected = np.random.default_rng(0), {"token": [], "owners": []}, {}
    for _ in range(30 if METHODS.configure(method).component.compiled else 8):
        rankings = {str(name): list(rng.permutation(IDS)) for name in rng.permutation(rankers)}
        page = interleave(rankings, method, outcome=outcome, top=5, rng=rng)
        clicks = [int(n + 1) for n in rng.permutation(5)[: rng.integers(0, 4)]]
        base = {"shown": [str(document) for document in page.shown], "clicks": clicks}
        named = {"rankers": list(rankings), "method": method, "outcome": page.outcome, "owners": list(page.owners)}
        rows["token"].append({**base, "page": page.to_json()})
        rows["owners"].append({**base, **named})
        for pair, y in page.credit([page.shown[c - 1] for c in clicks]).items():
            first, second = sorted(pair)
            expected.setdefault((first, second), []).append(y if (first, second) == pair else -y)
    for form in ["token"] + ["owners"] * (method == "team_draft" or outcome == "sampled"):
        found = compare_log(write(tmp_path, rows[form]), cluster="impression")
        for pair, mean, won in zip(found.named_pairs, found.means.mean, found.wins, strict=True):
            sign = 1 if pair == tuple(sorted(pair)) else -1
            y = sign * np.array(expected[tuple(sorted(pair))])
            assert mean == pytest.approx(y.mean(), abs=1e-8) and won == (y > 0).sum(), form
        assert len(found.pairs) == len(expected) and any(map(any, expected.values()))


@pytest.mark.parametrize(("change", "says"), [
    ({"rankers": ["a", "x"]}, "'x' is not a ranker of this experiment (a, b)"),
    ({"method": "balanced"}, "'balanced' (credit) cannot credit by owners: give the page token"),
    ({"rankers": ["a"], "owners": [0, 0]}, "'rankers' must name from 2 to 200 different rankers, not ['a']"),
    ({"owners": None}, "clicks cannot be credited: there is no page token and there are no owners"),
    ({"page": "hello"}, "not a page: the text is not valid JSON"),
])  # fmt: skip
def test_what_cannot_be_credited_is_said_by_line(tmp_path, change, says):
    path = write(tmp_path, [ROW, ROW | change, ROW])
    with pytest.raises(InputError) as error:
        compare_log(path, rankers=("a", "b"))
    assert str(error.value).startswith(f"{path}:2: {says}")
    assert compare_log(ClickLog(path, skip_bad=1), rankers=("a", "b")).wins.tolist() == [2]


def test_sums_are_those_of_going_through_the_log_row_by_row(tmp_path):
    path, score, users = tmp_path / "clicks.parquet", {}, {}
    given = {"policy": "random", "pairs": "team_draft", "top": 5, "horizon": 1500, "returning": 80, "seed": 4}
    simulate_log(path, random_rankings(4, 10, 8), **given)
    for row in pq.read_table(path).to_pylist():
        owned = [row["owners"][position - 1] for position in set(row["clicks"])]
        order = sorted(range(len(row["rankers"])), key=lambda k: row["rankers"][k])
        for k, a in enumerate(order):
            for b in order[k + 1 :]:
                pair, y = (row["rankers"][a], row["rankers"][b]), np.sign(owned.count(a) - owned.count(b))
                score.setdefault(pair, []).append(y)
                users.setdefault((pair, row["user"]), []).append(y)
    found = compare_log(path)
    assert len(found.pairs) == 6 and max(map(len, score.values())) > 100
    for p, pair in enumerate(found.named_pairs):
        key = tuple(sorted(pair))
        sign = 1 if pair == key else -1
        y, first = sign * np.array(score[key]), np.array([sign * users[name][0] for name in users if name[0] == key])
        assert [found.wins[p], found.losses[p], found.ties[p]] == [(y == k).sum() for k in (1, -1, 0)]
        assert [part[p] for part in found.sequences[:3]] == [(first == k).sum() for k in (1, -1, 0)]


def test_the_error_by_users_is_the_formula_and_that_of_single_impressions_the_error_of_a_mean(tmp_path):
    """CR2: the square of a user's residual is divided by one minus the user's share of the impressions."""
    rng = np.random.default_rng(1)
    user, y = rng.integers(0, 30, 400), rng.choice([1, -1, 0], 400)
    clicks = {1: [1], -1: [2], 0: []}
    path = write(tmp_path, [ROW | {"user": int(u), "clicks": clicks[v]} for u, v in zip(user, y, strict=True)])
    squares = sum((y[user == k] - y.mean()).sum() ** 2 / (1 - (user == k).mean()) for k in range(30))
    found = compare_log(path)
    assert (found.means.mean[0], found.means.error[0]) == pytest.approx((y.mean(), squares**0.5 / 400))
    assert compare_log(path, cluster="impression").means.error[0] == pytest.approx(y.std(ddof=1) / 20)
    last = found.looks[-1]
    assert (last.impressions, last.mean[0]) == (400, pytest.approx(y.mean()))
    assert last.cautious.error == pytest.approx(found.cautious.error, rel=0.02)  # by the mean size of users


def test_few_clusters_are_a_warning(tmp_path):
    found = compare_log(write(tmp_path, [ROW | {"user": "robot" if k % 4 else k} for k in range(400)]))
    assert found.warnings[0].startswith("the errors rest on few clusters (user): equivalent to 1.8 equal clusters")
    few = compare_log(write(tmp_path, [ROW | {"query": k % 2} for k in range(400)]))
    assert few.warnings[0].startswith("no impression has a 'user' (a column, or user = ... in a mapping)")
    assert few.warnings[1].endswith("; --cluster impression is for the queries of this log only")


def test_two_impressions_are_no_evidence(tmp_path, cluster="user"):
    found = compare_log(write(tmp_path, [ROW | {"user": k} for k in range(2)]), cluster=cluster)
    assert found.p[0] >= 0.5 and found.means.mean[0] == 1  # both won: of the four signs, two are as clear
    assert found.low[0] <= 0 and found.high[0] == 1
    assert condorcet_confidence(found.preferences).max() <= 0.875  # Pr(a share is above 1/2) after two of two: 1 - 1/8


def test_an_interval_leaves_out_0_just_where_the_test_does(tmp_path):
    for n in (5, 6, 7):  # all won: 2 / 2^n
        found = compare_log(write(tmp_path, [ROW | {"user": k} for k in range(n)]))
        assert found.p[0] >= 2 / 2**n and (found.low[0] > 0) == (found.p[0] < 0.05) == (n > 5)


@pytest.mark.parametrize(("row", "settings", "says"), [
    ({}, {"cluster": "user"}, "no impression of .* has a user, so errors cannot be clustered by user"),
    ({}, {"cluster": "day"}, "no kind of cluster 'day'|no kind of cluster called 'day'"),
    ({"policy": "rucb"}, {"outcomes": ["click/click"]}, "only if no policy reacts"),
    ({}, {"guardrails": {"click": 2}}, "the margin of a guardrail"),
    ({}, {"guardrails": {"buy": 0.1}, "outcomes": ["click"]}, "no outcome of this log 'buy'; .*ClickLog"),
])  # fmt: skip
def test_what_a_log_cannot_answer_is_refused(tmp_path, row, settings, says):
    with pytest.raises(InputError, match=says):
        compare_log(ClickLog(write(tmp_path, [ROW | row])), **settings)


VISITS = list(zip("uuuvvwx", ["a", "a", "", "b", "a", "b", ""], ["a", "", "", "b", "a", "", "a"], strict=True))


def bought(tmp_path, visits, **settings):
    """Write visits: the user, the ranker that wins by clicks and the one that wins by orders."""
    exposures, events = [], []
    for k, (user, click, order) in enumerate(visits):
        row = {"impression": f"i{k}", "time": float(k), "query": "q", "user": user, "shown": ["x", "y"]}
        exposures.append(row | {"rankers": ["a", "b"], "owners": [0, 1], "device": "phone" if k % 2 else "desk"})
        for kind, winner in (("click", click), ("order", order)):
            event = {"impression": f"i{k}", "position": "ab".find(winner) + 1, "kind": kind, "time": float(k)}
            events += [event] if winner else []
    for name, rows in (("exposures", exposures), ("events", events)):
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / f"{name}.parquet")
    both = ["click", Outcome("order", where="kind = 'order'")]
    return ClickLog(tmp_path / "exposures.parquet", events=tmp_path / "events.parquet", outcome=both, **settings)


def test_every_outcome_and_guardrail_of_a_log_is_compared_at_once(tmp_path):
    log = bought(tmp_path, VISITS)
    found = compare_log(log)
    assert (found.wins[0], found.losses[0], found.ties[0]) == (3, 2, 2) and list(found.secondary) == ["order"]
    assert (found.secondary["order"].wins[0], found.secondary["order"].losses[0]) == (3, 1)
    found = compare_log(log, guardrails={"order": 0.3})
    assert not found.secondary and found.margins == {"order": 0.3}
    (guardrail,) = decide(found, checks=False).guardrails
    assert guardrail[:3] == ("order", "a", "b") and guardrail.mean == pytest.approx(2 / 7) and guardrail.low < 0
    found = compare_log(log, ["order", "click", "order/click"], {"click": 0.1, "order/click": 0.1})
    assert list(found.secondary) == ["click", "order/click"] and list(found.guarded) == ["click", "order/click"]
    assert secondary_outcomes(found).frame["outcome"].tolist() == ["click", "order/click"]


@pytest.mark.parametrize("cluster", ["user", "query", "impression"])
def test_a_ratio_is_the_quotient_of_two_sums_and_its_error_that_of_the_delta_method(tmp_path, cluster):
    """Orders: u 1, v -1 + 1, w 0, x 1, in all 2. Impressions decided by clicks: u 2, v 2, w 1, x 0, in all 5."""
    found = compare_log(bought(tmp_path, VISITS), [Ratio("order", "click")], cluster=cluster)
    assert found.means.mean[0] == pytest.approx(2 / 5) and found.denominator.tolist() == [5] and found.ratio
    assert found.provenance["events"] == "order/click" and found.outcome == Ratio("order", "click")
    if cluster == "user":  # residuals of u, v, w, x: 1 - .8, 0 - .8, 0 - .4, 1; shares 2/5, 2/5, 1/5, 0
        squares = 0.2**2 / 0.6 + 0.8**2 / 0.6 + 0.4**2 / 0.8 + 1**2
        assert found.means.error[0] == pytest.approx(squares**0.5 / 5)
    assert decide(found, 0.95, checks=False).pairs[0].verdict == "go on"
    with pytest.raises(InputError, match="'order/click' is a ratio"):
        _ = found.preferences
