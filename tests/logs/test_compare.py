"""From clicks to the comparison: credit, errors that hold for returning users, several outcomes, and ratios."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ltr_duel.core import InputError
from ltr_duel.data import make_corpus
from ltr_duel.interleaving import METHODS, interleave
from ltr_duel.logs import ClickLog, Outcome, Ratio, compare_log, decide, secondary_outcomes, simulate_log, subgroups
from ltr_duel.logs.clusters import clustered_means, naive_means, two_way
from ltr_duel.logs.compare import _compared
from ltr_duel.logs.outcomes import UNIT, credited
from ltr_duel.preferences import condorcet_confidence, estimate_preferences
from ltr_duel.rankers import feature_rankers
from tests.conftest import random_rankings

ROW = {"shown": ["x", "y"], "clicks": [1], "rankers": ["a", "b"], "owners": [0, 1]}
IDS = [f"d{k}" for k in range(8)]


def write(tmp_path, rows):
    path = tmp_path / "clicks.jsonl"
    path.write_text(
        "\n".join(json.dumps({"impression": k, "time": k, "query": "q"} | row) for k, row in enumerate(rows))
    )
    return path


def outcomes_of(path, **settings):
    """Return the outcome of each impression and pair; pairs are in alphabetical order."""
    log = ClickLog(path)
    outcomes, rows, creditor, *_ = credited(log, **settings)
    sql = "SELECT r.impression, o.pair, o.y FROM outcomes o JOIN impressions r ON o.line = r.line ORDER BY o.line"
    table, found = log.engine.query(sql, outcomes=outcomes, impressions=rows), {}
    for row in table.to_pylist():
        first, second = (creditor.names[k] for k in creditor.pairs[row["pair"]])
        sign = 1 if first < second else -1
        found[row["impression"], *sorted((first, second))] = sign * row["y"] / UNIT
    return found


CASES = [
    *[(one.name, ("b", "a"), (*one.posterior, *one.outcomes)[0]) for one in METHODS if one.pairs],
    *[(one.name, ("c", "a", "b"), "") for one in METHODS if one.slates and one.compiled],
    ("probabilistic:tau=1", ("a", "b"), "sampled"),
    ("probabilistic", ("a", "b"), "expectation"),
]


@pytest.mark.parametrize(("method", "rankers", "outcome"), CASES)
def test_tokens_rankings_and_owners_give_the_credit_of_the_page(tmp_path, method, rankers, outcome):
    rng, rows, expected = np.random.default_rng(0), {"token": [], "rankings": [], "owners": []}, {}
    for k in range(40 if METHODS.configure(method).component.compiled else 8):
        rankings = {str(name): list(rng.permutation(IDS)) for name in rng.permutation(rankers)}
        page = interleave(rankings, method, outcome=outcome, top=5, rng=rng)
        clicks = [int(n + 1) for n in rng.permutation(5)[: rng.integers(0, 4)]]
        base = {"shown": [str(document) for document in page.shown], "clicks": clicks}
        named = {"rankers": list(rankings), "method": method, "outcome": page.outcome, "owners": list(page.owners)}
        rows["token"].append({**base, "page": page.to_json()})
        rows["rankings"].append({**base, **named, "rankings": [list(map(str, one)) for one in rankings.values()]})
        rows["owners"].append({**base, **named})
        for pair, y in page.credit([page.shown[c - 1] for c in clicks]).items():
            first, second = sorted(pair)
            expected[str(k), first, second] = y if (first, second) == pair else -y
    for form in ["token", "rankings"] + ["owners"] * (method == "team_draft" or outcome == "sampled"):
        found = outcomes_of(write(tmp_path, rows[form]))
        assert found.keys() == expected.keys()
        assert all(found[key] == pytest.approx(expected[key], abs=1 / UNIT) for key in expected), form
    assert any(expected.values())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"rankers": ["a", "x"]}, "'x' is not a ranker of this experiment (a, b)"),
        ({"method": "balanced"}, "'balanced' (credit) cannot credit by owners: give rankings, or the page token"),
        ({"outcome": "nonsense"}, "no outcome rule of team_draft called 'nonsense'"),
        ({"rankers": ["a"], "owners": [0, 0]}, "'rankers' must name from 2 to 200 different rankers, not ['a']"),
        ({"rankers": None}, "'rankers' is missing"),
        ({"owners": None}, "clicks cannot be credited: there is no page token, no rankings and no owners"),
        ({"page": "hello"}, "not a page: the text is not valid JSON"),
        ({"rankings": [["y", "x"], ["x", "z"]]}, "the rankings differ in their documents"),
        ({"rankings": [["x", "y"]]}, "1 rankings for 2 rankers"),
    ],
)
def test_what_cannot_be_credited_is_said_by_line(tmp_path, change, says):
    path = write(tmp_path, [ROW, ROW | change, ROW])
    with pytest.raises(InputError) as error:
        compare_log(path, rankers=("a", "b"))
    assert str(error.value).startswith(f"{path}:2: {says}")
    assert compare_log(ClickLog(path, skip_bad=1), rankers=("a", "b")).wins.tolist() == [2]


def test_the_error_by_clusters_is_the_formula():
    rng = np.random.default_rng(1)
    user, y = rng.integers(0, 30, 400), rng.choice([-1.0, 0.0, 1.0], 400)
    means = clustered_means(np.bincount(user, minlength=64)[None].astype(float), np.bincount(user, y, 64)[None])
    residuals = [((y[user == k] - y.mean()).sum() ** 2 / (1 - (user == k).mean())) for k in range(30)]
    assert means.mean[0] == pytest.approx(y.mean()) and means.error[0] == pytest.approx(np.sqrt(sum(residuals)) / 400)
    single = clustered_means(np.ones((1, 400)), y[None])  # the variance of a mean, exactly
    assert single.error[0] == pytest.approx(y.std(ddof=1) / 20)
    assert naive_means(np.array([400.0]), np.array([y.sum()]), np.array([(y**2).sum()])).error[0] == single.error[0]


def test_one_cluster_says_nothing_and_both_ways_are_at_least_each():
    alone = clustered_means(np.array([[7.0, 0.0]]), np.array([[3.0, 0.0]]))
    assert np.isinf(alone.error[0]) and alone.freedom[0] == 0
    few, many = clustered_means(np.ones((1, 4)), np.array([[1.0, -1, 1, 0]])), clustered_means(*np.ones((2, 1, 9)))
    assert two_way(few, many, few).error[0] >= few.error[0]


def test_sums_are_those_of_going_through_the_log_row_by_row(tmp_path):
    path, score, users = tmp_path / "clicks.parquet", {}, {}
    simulate_log(
        path, random_rankings(4, 10, 8), policy="mdb", slates="team_draft", top=5, horizon=1500, users=80, seed=4
    )
    for row in pq.read_table(path).to_pylist():
        owned = [row["owners"][place - 1] for place in set(row["clicks"])]
        for a in range(len(row["rankers"])):
            for b in range(a + 1, len(row["rankers"])):
                first, second = sorted((a, b), key=lambda k: row["rankers"][k])
                pair, y = (row["rankers"][first], row["rankers"][second]), owned.count(first) - owned.count(second)
                score.setdefault(pair, []).append(np.sign(y))
                users.setdefault((pair, row["user"]), []).append(np.sign(y))
    log = ClickLog(path)
    found, sums, _ = _compared(log, "click", "", (), 0.95, per="impression", looks=True)
    assert len(found.pairs) == 6 and max(map(len, score.values())) > 100
    for p, pair in enumerate(found.named_pairs):
        key, sign = tuple(sorted(pair)), 1 if pair == tuple(sorted(pair)) else -1
        own = [sign * np.array(values) for (one, _), values in users.items() if one == key]
        y, once = sign * np.array(score[key]), np.array([values[0] for values in own])
        assert [sums.wins[p], sums.losses[p], sums.ties[p]] == [(y == k).sum() for k in (1, -1, 0)]
        assert [float(part[p]) for part in sums.sequences[:3]] == [(once == k).sum() for k in (1, -1, 0)]
        n, total, number = sums.kinds[0].of(p)
        each = np.repeat([n, total], number.astype(int), axis=1).T.tolist()
        assert sorted(map(tuple, each)) == sorted((len(values), values.sum()) for values in own)
    last = found.looks[-1]
    assert last.impressions == found.impressions and last.mean == pytest.approx(sums.means().mean)
    assert last.cautious.error == pytest.approx(sums.cautious().error, rel=0.02)  # corrected by the mean size of users


def test_a_simulated_log_tells_its_truth_and_any_cluster_can_be_named(tmp_path):
    rankings = feature_rankers(make_corpus(queries=60, documents=10, features=5))[[0, 2, 4]]
    path = tmp_path / "clicks.parquet"
    written = simulate_log(path, rankings, pairs="team_draft", top=4, horizon=6000, users=300, seed=1)
    found = compare_log(path)
    assert found.impressions == written == found.counts.sum()
    assert found.cluster == "user" and abs(found.provenance["users"] - 300) < 10
    truth = estimate_preferences(rankings, method="team_draft", top=4, comparisons=20_000)
    for (i, j), mean, error in zip(found.pairs, found.means.mean, found.means.error, strict=True):
        a, b = (rankings.names.index(found.names[k]) for k in (i, j))
        assert abs(mean - (2 * truth.p[a, b] - 1)) < 4 * error
    assert np.abs(found.means.mean).max() > 8 * found.means.error.max()  # so that a different log would be noticed
    for cluster in ("query", "both", "impression"):
        other = compare_log(path, cluster=cluster)
        assert other.means.mean == pytest.approx(found.means.mean)
        assert (other.means.error != found.means.error).all()
    matrix, (i, j) = found.preferences, found.pairs[0]
    assert matrix.provenance["source"] == "click log"
    assert matrix.p[i, j] == pytest.approx((1 + found.means.mean[0]) / 2)


def test_a_user_with_most_of_the_log_is_named(tmp_path):
    found = compare_log(write(tmp_path, [ROW | {"user": "robot" if k % 4 else k} for k in range(400)]))
    assert found.warnings[0] == "user 'robot' has 300 of 400 impressions (75%)" and "few clusters" in found.warnings[1]
    assert found.sequences.n[0] == 101


@pytest.mark.parametrize("cluster", ["user", "query", "both", "impression"])
def test_two_impressions_are_no_evidence(tmp_path, cluster):
    found = compare_log(write(tmp_path, [ROW | {"user": k} for k in range(2)]), cluster=cluster)
    assert found.p[0] >= 0.5 and found.means.mean[0] == 1  # both won: of the four signs, two are as clear
    assert found.low[0] <= 0 and found.high[0] == 1
    assert condorcet_confidence(found.preferences).max() <= 0.875  # Pr(a share is above 1/2) after two of two: 1 - 1/8


def test_an_interval_leaves_out_0_just_where_the_test_does(tmp_path):
    for n in (5, 6, 7):  # all won: 2 / 2^n
        found = compare_log(write(tmp_path, [ROW | {"user": k} for k in range(n)]))
        assert found.p[0] >= 2 / 2**n and (found.low[0] > 0) == (found.p[0] < 0.05) == (n > 5)


@pytest.mark.parametrize(
    ("rows", "settings", "says"),
    [
        ([ROW], {"cluster": "user"}, "no impression of .* has a user, so errors cannot be clustered by user"),
        ([ROW | {"user": "u"}], {"per": "user", "cluster": "query"}, "clusters must be users"),
        ([ROW | {"user": "u"}], {"per": "day"}, "unit that counts once"),
        ([ROW], {"per": "user"}, "has a user"),
        ([ROW | {"user": "u", "policy": "rucb"}], {"per": "user"}, "only if no policy reacts"),
        ([ROW | {"policy": "rucb"}], {"outcomes": ["click/click"]}, "only if no policy reacts"),
        ([ROW | {"user": "u"}], {"per": "user", "outcomes": ["click/click"]}, "is a ratio, so each user"),
        ([ROW], {"guardrails": {"click": 2}}, "the margin of a guardrail"),
        ([ROW], {"guardrails": {"buy": 0.1}, "outcomes": ["click"]}, "no outcome of this log 'buy'; .*ClickLog"),
    ],
)
def test_what_a_log_cannot_answer_is_refused(tmp_path, rows, settings, says):
    with pytest.raises(InputError, match=says):
        compare_log(ClickLog(write(tmp_path, rows)), **settings)


def test_where_few_queries_hide_what_their_impressions_show_the_way_to_see_it_is_named(tmp_path):
    """Each of ten queries has a taste; in total, new wins 60 % of their 1,000 impressions."""
    for shares, hints in (([0.9] * 6 + [0.15] * 4, 1), ([0.6] * 10, 0), ([0.5] * 10, 0)):
        rows = [ROW | {"query": k % 10, "clicks": [1 + (k // 10 >= 100 * shares[k % 10])]} for k in range(1000)]
        warnings = compare_log(path := write(tmp_path, rows), looks=False).warnings
        hint = "a and b: no difference is shown for queries in general"
        assert sum(note.startswith(hint) and "--cluster impression" in note for note in warnings) == hints
        assert any(note.startswith("no impression has a 'user' (a column, or user = ... in a map") for note in warnings)
        assert not any(note.startswith(hint) for note in compare_log(path, cluster="impression").warnings)


def test_each_user_counts_once_for_the_ranker_with_more_credit(tmp_path):
    """Users u and v prefer a, w prefers b, x is a tie, and the impression without a user and a click is a tie."""
    seen, clicks = {"u": "aab", "v": "a", "w": "bb-", "x": "ab", None: "-"}, {"a": [1], "b": [2], "-": []}
    rows = [ROW | {"user": user, "clicks": clicks[y]} for user in seen for y in seen[user]]
    found = compare_log(write(tmp_path, rows), per="user")
    assert (found.wins[0], found.losses[0], found.ties[0], found.impressions) == (2, 1, 2, 10)
    assert (found.means.mean[0], found.unit, found.looks) == (pytest.approx(1 / 5), "user", [])
    assert found.means.error[0] == pytest.approx(np.std([1, 1, -1, 0, 0], ddof=1) / 5**0.5)
    assert (found.p[0], found.to_frame()["users"][0], found.preferences.p[0, 1]) == (1.0, 5, 0.6)


VISITS = list(zip("uuuvvwx", ["a", "a", "", "b", "a", "b", ""], ["a", "", "", "b", "a", "", "a"], strict=True))


def bought(tmp_path, visits):
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
    return ClickLog(tmp_path / "exposures.parquet", events=tmp_path / "events.parquet", outcome=both)


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


@pytest.mark.parametrize("cluster", ["user", "query", "both", "impression"])
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


def test_a_ratio_is_divided_into_parts_whose_sums_are_those_of_the_whole(tmp_path):
    log = bought(tmp_path, VISITS * 40)
    log = ClickLog(log.path, events=tmp_path / "events.parquet", outcome=["order", "click"], context=["device"])
    found = compare_log(log, ["order/click"])
    parts = subgroups(log, found, "device").frame
    assert parts["device"].tolist() == ["desk", "phone"] and parts["impressions"].tolist() == [140, 140]
    assert parts["mean"].tolist() == pytest.approx([2 / 5, 2 / 5])  # each visit is on either device equally often
