"""From clicks to the winner: credit, errors that hold for returning users, and messages for hostile logs."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from ltr_duel.cli.main import cli
from ltr_duel.core import InputError
from ltr_duel.interleaving import METHODS, interleave
from ltr_duel.logs import ClickLog, compare_log, simulate_log, write_log
from ltr_duel.logs.clusters import clustered_means, naive_means, two_way
from ltr_duel.logs.compare import summed
from ltr_duel.logs.engine import Engine
from ltr_duel.logs.outcomes import UNIT, credited
from ltr_duel.logs.rows import SHOWN_AGAIN
from ltr_duel.logs.sums import Grouping, pair_sums
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


def outcomes_of(path, **settings):
    """Return the outcome of each impression and pair; pairs are in alphabetical order."""
    log = ClickLog(path)
    outcomes, rows, creditor, _ = credited(log, **settings)
    named, found = rows.select("line", "impression"), {}
    for row in log.engine.run(outcomes.join(named, "line").order_by("line")).to_pylist():
        first, second = (creditor.names[k] for k in creditor.pairs[row["pair"]])
        sign = 1 if first < second else -1
        found[row["impression"], *sorted((first, second))] = sign * row["y"] / UNIT
    return found


def pages(method, rankers, outcome="", seed=0, times=60):
    rng = np.random.default_rng(seed)
    for _ in range(times):
        rankings = {str(name): list(rng.permutation(IDS)) for name in rng.permutation(rankers)}
        page = interleave(rankings, method, outcome=outcome, top=5, rng=rng)
        clicks = [k + 1 for k in rng.permutation(5)[: rng.integers(0, 4)]]
        yield rankings, page, [int(k) for k in clicks]


CASES = [
    *[(one.name, ("b", "a"), (*one.posterior, *one.outcomes)[0]) for one in METHODS if one.pairs],
    *[(one.name, ("c", "a", "b"), "") for one in METHODS if one.slates and one.compiled],
    ("probabilistic:tau=1", ("a", "b"), "sampled"),
    ("probabilistic", ("a", "b"), "expectation"),
]


@pytest.mark.parametrize(("method", "rankers", "outcome"), CASES)
def test_tokens_rankings_and_owners_give_the_credit_of_the_page(tmp_path, method, rankers, outcome):
    rows, expected = {"token": [], "rankings": [], "owners": []}, {}
    times = 60 if METHODS.configure(method).component.compiled else 8
    for k, (rankings, page, clicks) in enumerate(pages(method, rankers, outcome, times=times)):
        shown = [str(document) for document in page.shown]
        base = {"shown": shown, "clicks": clicks}
        named = {"rankers": list(rankings), "method": method, "outcome": page.outcome, "owners": list(page.owners)}
        rows["token"].append({**base, "page": page.to_json()})
        rows["rankings"].append({**base, **named, "rankings": [list(map(str, one)) for one in rankings.values()]})
        rows["owners"].append({**base, **named})
        for pair, y in page.credit([page.shown[c - 1] for c in clicks]).items():
            first, second = sorted(pair)
            expected[str(k), first, second] = y if (first, second) == pair else -y
    forms = ["token", "rankings"] + ["owners"] * (method == "team_draft" or outcome == "sampled")
    for form in forms:
        found = outcomes_of(write(tmp_path, rows[form]))
        assert found.keys() == expected.keys()
        assert all(found[key] == pytest.approx(expected[key], abs=1 / UNIT) for key in expected), form
    assert any(expected.values())


TOSSED = {"method": "probabilistic", "outcome": "marginal_bernoulli", "rankings": [["y", "x"], ["x", "y"]]}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"rankers": ["a", "x"]}, "'x' is not a ranker of this experiment (a, b)"),
        ({"method": "balanced"}, "'balanced' (credit) cannot credit by owners: give rankings, or the page token"),
        ({"method": "nonsense"}, "no comparison method 'nonsense'"),
        ({"outcome": "nonsense"}, "no outcome rule of team_draft called 'nonsense'"),
        ({"rankers": ["a", "a"]}, "'rankers' must name from 2 to 200 different rankers, not ['a', 'a']"),
        ({"rankers": ["a"], "owners": [0, 0]}, "'rankers' must name from 2 to 200 different rankers, not ['a']"),
        ({"rankers": None}, "'rankers' is missing"),
        (
            {"owners": None},
            "clicks cannot be credited: there is no page token, no rankings and no owners; an A/B test (one ranker",
        ),
        ({"page": "hello"}, "not a page: the text is not valid JSON"),
        (TOSSED, "the rule 'marginal_bernoulli' of 'probabilistic' needs the coin of the list: give the page token"),
        (
            {"method": "probabilistic", "rankings": [["y", "x"], ["x", "z"]]},
            "method 'probabilistic' (marginal_sign), but",
        ),
        ({"rankings": [["y", "x"], ["x", "z"]]}, "the rankings differ in their documents"),
        ({"rankings": [["y", "z"], ["z", "y"]]}, "the shown document 'x' is in no ranking"),
        ({"rankings": [["x", "y"]]}, "1 rankings for 2 rankers"),
    ],
)
def test_what_cannot_be_credited_is_said_by_line(tmp_path, change, says):
    row = {"shown": ["x", "y"], "clicks": [1], "rankers": ["a", "b"], "owners": [0, 1]}
    path = write(tmp_path, [row, row | change, row])
    with pytest.raises(InputError) as error:
        compare_log(ClickLog(path), rankers=("a", "b"))
    assert str(error.value).startswith(f"{path}:2: {says}")
    assert compare_log(ClickLog(path, skip_bad=1), rankers=("a", "b")).wins.tolist() == [2]


def test_a_token_of_another_list_is_refused(tmp_path):
    (_, page, _), (_, other, _) = pages("team_draft", ("a", "b"), times=2)
    rows = [{"shown": list(p.shown), "clicks": [], "page": page.to_json()} for p in (page, other)]
    with pytest.raises(InputError, match=r":2: the page token belongs to another list than 'shown'"):
        compare_log(ClickLog(write(tmp_path, rows)))


def test_repeated_clicks_count_once_and_a_log_without_credit_is_refused(tmp_path):
    row = {"shown": ["x", "y", "z"], "rankers": ["a", "b"], "owners": [0, 1, 1]}
    path = write(tmp_path, [row | {"clicks": [1, 1, 1, 2, 3]}])
    assert compare_log(ClickLog(path)).losses.tolist() == [1]
    path = write(tmp_path, [{"shown": ["x"], "clicks": []}])
    with pytest.raises(InputError, match=r"clicks\.jsonl: clicks cannot be credited"):
        compare_log(ClickLog(path, skip_bad=None))


def test_the_error_by_clusters_is_the_formula():
    rng = np.random.default_rng(1)
    user, y = rng.integers(0, 30, 400), rng.choice([-1.0, 0.0, 1.0], 400)
    count, total = np.bincount(user, minlength=64)[None].astype(float), np.bincount(user, y, 64)[None]
    means = clustered_means(count, total)
    expected = 0.0
    for one in range(30):
        mine = user == one
        expected += (y[mine] - y.mean()).sum() ** 2 / (1 - mine.mean())
    assert means.mean[0] == pytest.approx(y.mean())
    assert means.error[0] == pytest.approx(np.sqrt(expected) / 400)
    # clusters of one impression: the variance of a mean, exactly
    single = clustered_means(np.ones((1, 400)), y[None])
    assert single.error[0] == pytest.approx(y.std(ddof=1) / 20)
    assert naive_means(np.array([400.0]), np.array([y.sum()]), np.array([(y**2).sum()])).error[0] == single.error[0]


def test_one_cluster_says_nothing_and_both_ways_are_at_least_each():
    alone = clustered_means(np.array([[7.0, 0.0]]), np.array([[3.0, 0.0]]))
    assert np.isinf(alone.error[0]) and alone.freedom[0] == 0
    few, many = (
        clustered_means(np.ones((1, 4)), np.array([[1.0, -1, 1, 0]])),
        clustered_means(np.ones((1, 9)), np.ones((1, 9))),
    )
    assert two_way(few, many, few).error[0] >= few.error[0]


def summed_outcomes(cluster, **columns):
    """Return the sums of outcomes of one pair, given as columns."""
    n = len(columns["y"])
    y = np.array(columns["y"], float)
    given = {"line": range(n), "time": [0.0] * n, "user": [f"u{k}" for k in range(n)], "query": ["q"] * n}
    given |= {"pair": [0] * n} | columns
    given |= {"y": (y * UNIT).astype(int), "square": (y**2 * UNIT).astype(int)}
    engine = Engine(InputError)
    return pair_sums(engine, engine.small({name: list(values) for name, values in given.items()}), Grouping(1, cluster))


def test_sequences_part_wins_losses_and_ties_from_other_outcomes():
    y = np.array([1, -1, 0.5, 0, 1, -0.25, 1, 0])
    for cluster in ("impression", "query", "user"):
        seen = summed_outcomes(cluster, y=y).sequences
        assert [float(part[0]) for part in seen] == [3, 1, 2, 2, 0.25, 0.3125]
        assert seen.n[0] == 8 and seen.mean[0] == y.mean() == -seen.mirrored().mean[0]


def repeated(clusters):
    *each, number = clusters
    return [np.repeat(values, number.astype(int)) for values in each]


def test_a_user_counts_once_in_the_sequence_by_the_first_line_and_impressions_without_user_each():
    sums = summed_outcomes("user", line=[5, 3, 9, 1, 2], user=["a", "a", "b", None, None], y=[1, -1, 1, 0.5, 0])
    assert [float(part[0]) for part in sums.sequences] == [1, 1, 1, 1, 0.5, 0.25]
    n, total = repeated(sums.kinds[0].of(0))
    assert sorted(zip(n.tolist(), total.tolist(), strict=True)) == [(1, 0), (1, 0.5), (1, 1), (2, 0)]
    assert (sums.wins[0], sums.losses[0], sums.ties[0], sums.square[0]) == (3, 1, 1, 3.25)


def test_sums_of_all_users_are_kept_apart_however_many_there_are():
    users = np.repeat(np.arange(30_000), 2)
    sums = summed_outcomes("user", user=[f"u{k}" for k in users], y=np.where(np.arange(60_000) % 6 < 2, 1, 0))
    assert sums.kinds[0].number.tolist() == [20_000, 10_000]  # users with two ties, and with two wins
    means = sums.means()
    assert means.freedom[0] == pytest.approx(30_000 - 1)
    assert means.error[0] == pytest.approx(np.sqrt(2 / 9 / 29_999))  # error of the mean of 30,000 users, each 0 or 1


def reference(path):
    """Return wins, losses and ties of each pair's first ranker, users' first outcomes and sums, row by row."""
    score, fresh, users = {}, {}, {}
    for batch in ClickLog(path).batches():
        for row in batch.table.to_pylist():
            owned = [row["owners"][place - 1] for place in set(row["clicks"])]
            for a in range(len(row["rankers"])):
                for b in range(a + 1, len(row["rankers"])):
                    first, second = sorted((a, b), key=lambda k: row["rankers"][k])
                    pair = row["rankers"][first], row["rankers"][second]
                    y = int(np.sign(owned.count(first) - owned.count(second)))
                    score.setdefault(pair, []).append(y)
                    fresh.setdefault((pair, row["user"]), y)
                    users.setdefault((pair, row["user"]), []).append(y)
    return score, fresh, users


def test_sums_are_those_of_going_through_the_log_row_by_row(tmp_path):
    rankings = random_rankings(4, 10, 8)
    path = tmp_path / "clicks.parquet"
    simulate_log(path, rankings, policy="mdb", slates="team_draft", top=5, horizon=1500, users=80, seed=4)
    score, fresh, users = reference(path)
    found = summed(ClickLog(path))
    names, sums = found.creditor.names, found.sums
    assert len(found.creditor.pairs) == 6 and max(map(len, score.values())) > 100
    for p, (a, b) in enumerate(found.creditor.pairs):
        pair = tuple(sorted((names[a], names[b])))
        sign = 1 if pair == (names[a], names[b]) else -1
        y, once = (np.array(values) * sign for values in (score[pair], [v for (q, _), v in fresh.items() if q == pair]))
        assert [sums.wins[p], sums.losses[p], sums.ties[p]] == [(y == k).sum() for k in (1, -1, 0)]
        assert [float(part[p]) for part in sums.sequences[:3]] == [(once == k).sum() for k in (1, -1, 0)]
        n, total = repeated(sums.kinds[0].of(p))
        expected = sorted((len(v), sign * sum(v)) for (q, _), v in users.items() if q == pair)
        assert sorted(zip(n.tolist(), total.tolist(), strict=True)) == expected
    last = found.looks[-1]
    assert last.impressions == found.impressions
    assert [part.tolist() for part in last.sequences] == [part.tolist() for part in sums.sequences]
    assert last.mean == pytest.approx(sums.means().mean) and last.outcomes.tolist() == sums.counts().tolist()
    assert last.cautious.mean == pytest.approx(sums.cautious().mean)
    assert last.cautious.error == pytest.approx(sums.cautious().error, rel=0.02)  # corrected by the mean size of users


def test_a_user_with_most_of_the_log_is_named(tmp_path):
    row = {"shown": ["x", "y"], "clicks": [1], "rankers": ["a", "b"], "owners": [0, 1]}
    path = write(tmp_path, [row | {"user": "robot" if k % 4 else k} for k in range(400)])
    found = compare_log(ClickLog(path))
    assert found.warnings[0] == "user 'robot' has 300 of 400 impressions (75%)"
    assert "few clusters" in found.warnings[1]
    assert found.sequences.n[0] == 101


def alike(tmp_path, clicks, n, cluster=""):
    row = {"shown": ["x", "y"], "clicks": clicks, "rankers": ["a", "b"], "owners": [0, 1]}
    return compare_log(ClickLog(write(tmp_path, [row | {"user": k} for k in range(n)])), cluster=cluster)


@pytest.mark.parametrize("cluster", ["user", "query", "both", "impression"])
def test_two_impressions_are_no_evidence(tmp_path, cluster):
    found = alike(tmp_path, [1], 2, cluster)
    assert found.p[0] >= 0.5 and found.means.mean[0] == 1  # both won: of the four signs, two are as clear
    assert found.low[0] <= 0 and found.high[0] == 1
    assert found.preferences.standard_error[0, 1] > 0.2
    assert condorcet_confidence(found.preferences).max() <= 0.875  # Pr(a share is above 1/2) after two of two: 1 - 1/8


@pytest.mark.parametrize("cluster", ["user", "impression"])
def test_impressions_without_a_click_leave_room_for_doubt(tmp_path, cluster):
    found = alike(tmp_path, [], 3, cluster)
    assert found.p[0] == 1 and found.low[0] < -0.3 and found.high[0] > 0.3
    assert condorcet_confidence(found.preferences).tolist() == [0.5, 0.5]


def test_an_interval_leaves_out_0_just_where_the_test_does(tmp_path):
    for n in (5, 6, 7):  # all won: 2 / 2^n
        found = alike(tmp_path, [1], n)
        assert found.p[0] >= 2 / 2**n and (found.low[0] > 0) == (found.p[0] < 0.05) == (n > 5)


def test_users_decide_the_cluster_wherever_in_the_log_they_are(tmp_path):
    """10,000 rows without a user, then 1,200 rows of one robot: more rows than one batch."""
    rows = [ROW | {"clicks": [[1], [2], []][k % 3]} for k in range(10_000)]
    rows += [ROW | {"clicks": [1], "user": "robot"} for _ in range(1200)]
    path = write(tmp_path, rows)
    found = compare_log(ClickLog(path))
    assert found.cluster == "user" and found.sequences.n[0] == 10_001
    assert found.means.error[0] > 3 * found.naive.error[0]


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_an_impression_that_is_repeated_anywhere_is_named(tmp_path, suffix):
    path = tmp_path / f"clicks.{suffix}"
    names = [f"i{k}" for k in range(9)] + ["i3"]
    columns = {"impression": names, "time": [0.0] * 10, "query": ["q"] * 10, "shown": [["a", "b"]] * 10}
    columns |= {"clicks": [[1]] * 9 + [[2]], "rankers": [["a", "b"]] * 10, "owners": [[0, 1]] * 10}
    with write_log(path, tuple(columns)) as log:
        log.write(columns)
    with pytest.raises(InputError) as error:
        compare_log(ClickLog(path))
    assert str(error.value) == f"{path}:10: impression 'i3' repeats line 4{SHOWN_AGAIN}"
    assert compare_log(ClickLog(path, skip_bad=1)).wins.tolist() == [9]


@pytest.mark.parametrize("cluster", ["user", "both"])
def test_without_users_errors_are_not_said_to_be_by_user(tmp_path, cluster):
    path = write(tmp_path, [{key: value for key, value in ROW.items() if key != "user"}] * 4)
    with pytest.raises(InputError, match=f"no impression of .* has a user, so errors cannot be .* by {cluster}"):
        compare_log(ClickLog(path), cluster=cluster)


def test_where_few_queries_hide_what_their_impressions_show_the_way_to_see_it_is_named(tmp_path):
    """Each of ten queries has a taste; in total, new wins 60 % of their 1,000 impressions."""
    hint = "a and b: no difference is shown for queries in general"
    for shares, hints in (([0.9] * 6 + [0.15] * 4, 1), ([0.6] * 10, 0), ([0.5] * 10, 0)):
        rows = [ROW | {"query": k % 10, "clicks": [1 + (k // 10 >= 100 * shares[k % 10])]} for k in range(1000)]
        rows = [{name: value for name, value in row.items() if name != "user"} for row in rows]
        path = write(tmp_path, [row | {"rankers": ["a", "b"]} for row in rows])
        found = compare_log(ClickLog(path), looks=False)
        assert sum(note.startswith(hint) and "--cluster impression" in note for note in found.warnings) == hints
        assert "the log has no user ids: if users return, the errors are too small" in found.warnings
        found = compare_log(ClickLog(path), looks=False, cluster="impression")
        assert not any(note.startswith(hint) for note in found.warnings)


def test_each_user_counts_once_for_the_ranker_with_more_credit(tmp_path):
    """Users u and v prefer a, w prefers b, x is a tie, and the impression without a user and a click is a tie."""
    seen = {"u": "aab", "v": "a", "w": "bb-", "x": "ab", None: "-"}
    rows = [
        ROW | {"user": user, "clicks": {"a": [1], "b": [2], "-": []}[y]} for user, y in seen.items() for y in seen[user]
    ]
    path = write(tmp_path, rows)
    found = compare_log(ClickLog(path), per="user")
    assert (found.wins[0], found.losses[0], found.ties[0], found.impressions) == (2, 1, 2, 10)
    assert (found.means.mean[0], found.unit) == (pytest.approx(1 / 5), "user")
    assert found.means.error[0] == pytest.approx(np.std([1, 1, -1, 0, 0], ddof=1) / 5**0.5)
    assert (found.p[0], found.to_frame()["users"][0], found.preferences.p[0, 1]) == (1.0, 5, 0.6)
    assert not found.looks
    printed = CliRunner().invoke(cli, ["logs", "compare", str(path), "--per", "user", "--no-checks"])
    assert "the mean is the share of users who prefer" in printed.output and "+0.2000" in printed.output
    wrong = CliRunner().invoke(cli, ["logs", "compare", str(path), "--per", "user", "--stop-at", ".95"])
    assert isinstance(wrong.exception, InputError) and "valid for one look only" in str(wrong.exception)


@pytest.mark.parametrize("settings", [{"cluster": "query"}, {"per": "day"}])
def test_what_does_not_go_with_users_who_count_once_is_refused(tmp_path, settings):
    log = ClickLog(write(tmp_path, [ROW | {"user": "u"}]))
    with pytest.raises(InputError, match="user"):
        compare_log(log, **{"per": "user"} | settings)


def test_users_count_once_only_where_a_log_names_them_and_no_policy_reacts(tmp_path):
    with pytest.raises(InputError, match="has a user"):
        compare_log(ClickLog(write(tmp_path, [ROW])), per="user")
    with pytest.raises(InputError, match="no policy reacts"):
        compare_log(ClickLog(write(tmp_path, [ROW | {"user": "u", "policy": "rucb"}])), per="user")
