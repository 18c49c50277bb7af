"""Logs that a policy collected: the printed numbers hold, and such logs are distinguished from others."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ltr_duel.logs import (
    ClickLog,
    Evidence,
    compare_log,
    comparison_lines,
    comparison_table,
    confidence_sequence,
    simulate_log,
    stopping_decisions,
)
from tests.conftest import random_rankings
from tests.logs.collected import Case, coverage, misses_of_a_pair_left_to_chance

RANKINGS = random_rankings(3, 20, 6)


def log_of(path, outcomes, **given):
    """Write impressions of two rankers that the first ranker wins (1), loses (-1) or ties."""
    rows = []
    for k, y in enumerate(outcomes):
        row = {"impression": k, "time": k, "query": k, "user": k, "shown": ["a", "b"], "rankers": ["old", "new"]}
        rows.append(
            row | {"owners": [0, 1], "clicks": {1: [1], -1: [2], 0: []}[y]} | {n: v[k] for n, v in given.items()}
        )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return ClickLog(path)


@pytest.mark.parametrize("policy", ["rucb", "double_thompson", "winner_stays_strong", "versatile_db"])
@pytest.mark.parametrize("separated", [False, True])
def test_intervals_of_every_pair_shown_hold_though_a_policy_chose_the_pairs(policy, separated):
    held = coverage(Case(policy, 4, 150, separated), 12)
    pairs = held.pairs.sum()
    assert held.valid.sum() / pairs > 0.95 - 3 * np.sqrt(0.05 * 0.95 / pairs)


def test_a_log_of_a_policy_that_reacts_has_the_intervals_of_the_sequence_and_a_note(tmp_path):
    y = np.random.default_rng(0).choice([-1, 0, 1], 80, p=[0.2, 0.3, 0.5])
    plain = compare_log(log_of(tmp_path / "plain.jsonl", y))
    found = compare_log(log_of(tmp_path / "log.jsonl", y, policy=["rucb"] * 80))
    always = confidence_sequence(*found.sequences)
    assert (found.low[0], found.high[0]) == (always.low[0], always.high[0])
    assert found.low[0] < plain.low[0] and found.high[0] > plain.high[0] and found.p[0] > plain.p[0]
    assert found.means.mean[0] == plain.means.mean[0] and np.isnan(found.bootstrap).all()
    note = comparison_lines(found)[3]
    assert note.startswith(
        "note: 'rucb' chose the rankers by earlier outcomes, so the plain mean of a pair that was dropped"
    )
    assert found.preferences.standard_error[0, 1] > plain.preferences.standard_error[0, 1]
    assert found.provenance["policies"] == ["rucb"] and "policies" not in plain.provenance


@pytest.mark.parametrize("policy", ["random", "random_slate", None])
def test_a_log_of_a_policy_that_does_not_react_is_like_one_without(tmp_path, policy):
    y = [1, 0, -1, 1, 1, 0] * 5
    plain, found = (
        compare_log(log_of(tmp_path / f"{n}.jsonl", y, **given))
        for n, given in enumerate(({}, {"policy": [policy] * 30}))
    )
    assert found.low.tolist() == plain.low.tolist() and found.warnings == plain.warnings


def differing_queries(n=2500, queries=30):
    """Return a log that shows a difference by impressions, but not by its few dissimilar queries."""
    rng = np.random.default_rng(1)
    query = rng.integers(0, queries, n)
    wins = (1 + np.clip(0.1 + rng.normal(0, 0.5, queries), -1, 1)) / 2
    return np.where(rng.random(n) < wins[query], 1, -1), query.tolist()


def test_of_a_reacting_policy_without_users_the_answer_is_for_these_queries(tmp_path):
    """Regression: the header said "queries like these", a note "no difference is shown for queries in general"."""
    y, query = differing_queries()
    given = {"policy": ["rucb"] * len(y), "query": query, "user": [None] * len(y)}
    for cluster in ("", "query", "impression"):
        found = compare_log(log_of(tmp_path / "log.jsonl", y, **given), cluster=cluster)
        lines = comparison_lines(found)
        assert lines[2].endswith("errors as if all impressions were independent: the answer is for these 30 queries")
        assert "the results assume that impressions are independent of each other" in found.warnings[0]
        assert not any("queries in general" in line or "few clusters" in line for line in lines)
    given["policy"] = ["random"] * len(y)
    notes = comparison_lines(compare_log(log_of(tmp_path / "plain.jsonl", y, **given)))
    assert any("queries in general" in line for line in notes)


@pytest.mark.parametrize("cluster", ["query", "both"])
def test_of_a_reacting_policy_each_known_user_counts_once_whatever_the_cluster(tmp_path, cluster):
    """Regression: `--cluster query` took all impressions of 40 returning users for independent."""
    rng = np.random.default_rng(0)
    user = rng.integers(0, 40, 2000)
    own = rng.choice([-1, 1], 40)
    y = np.where(rng.random(2000) < 0.7, own[user], rng.choice([-1, 1], 2000))
    given = {"policy": ["rucb"] * 2000, "user": user.tolist(), "query": (3 * user + rng.integers(0, 3, 2000)).tolist()}
    by_user, found = (compare_log(log_of(tmp_path / "log.jsonl", y, **given), cluster=c) for c in ("", cluster))
    assert found.sequences.n.tolist() == [40]
    assert (found.low[0], found.high[0], found.p[0]) == (by_user.low[0], by_user.high[0], by_user.p[0])
    assert comparison_lines(found) == comparison_lines(by_user)
    assert "users who ask these" in comparison_lines(found)[2]


def test_a_policy_that_is_not_known_may_react(tmp_path):
    found = compare_log(log_of(tmp_path / "log.jsonl", [1, 0, -1] * 20, policy=["our bandit"] * 60))
    assert found.warnings[0].startswith("'our bandit' chose the rankers by earlier outcomes")


def test_means_are_weighted_by_one_over_the_root_of_the_propensity(tmp_path):
    rng = np.random.default_rng(0)
    y, e = rng.choice([-1, 0, 1], 400), rng.choice([0.25, 1.0], 400)
    given = {"policy": ["versatile_db"] * 400, "propensity": e.tolist()}
    found = compare_log(log_of(tmp_path / "log.jsonl", y, **given))
    weight = np.where(e == 0.25, 2.0, 1.0)
    mean = weight @ y / weight.sum()
    assert found.means.mean[0] == pytest.approx(mean)
    error = np.sqrt(weight**2 @ (y - mean) ** 2) / weight.sum()  # no user returns
    assert (found.high[0] - found.low[0]) / 2 == pytest.approx(1.96 * error, rel=0.1)
    assert "weigh impressions by the propensity" in found.warnings[0]
    given["propensity"][7] = None
    found = compare_log(log_of(tmp_path / "lacks.jsonl", y, **given))
    assert "confidence sequence" in found.warnings[0]


def test_tables_of_adaptive_logs_name_what_a_mean_is_of_and_give_no_counts_of_another(tmp_path):
    given = {"policy": ["versatile_db"] * 400}
    y, users = np.random.default_rng(0).choice([-1, 0, 1], 400), np.arange(400) // 2
    counts = {"wins", "losses", "ties"}
    log = log_of(tmp_path / "users.jsonl", y, user=users.tolist(), **given)
    for stop in (False, True):
        found = compare_log(log)
        table = comparison_table(Evidence(found, 0.95, stopping_decisions(found) if stop else None))
        assert not counts & set(table) and table["first impressions"].tolist() == ["200"]
        (mean,) = table["mean, first impressions"]
        assert abs(float(mean)) == pytest.approx(abs(y[::2].mean()), abs=1e-4)
    log = log_of(tmp_path / "weighed.jsonl", y, **given, propensity=[0.5] * 400)
    table = comparison_table(Evidence(compare_log(log), 0.95))
    assert not counts & set(table) and "mean, weighted" in table
    table = comparison_table(Evidence(compare_log(log_of(tmp_path / "plain.jsonl", y)), 0.95))
    assert counts <= set(table) and "mean" in table


@pytest.mark.parametrize(
    ("often", "seldom", "steps", "others", "dropped", "weighed"),
    [
        (0.9, 0.005, 1000, 1, False, (0, 10)),
        (0.9, 0.1, 1200, 1, False, (290, 300)),
        (0.4, 0.0, 800, 2, True, (200, 290)),
        (0.4, 0.1, 1100, 2, False, (290, 300)),
    ],
)
def test_intervals_of_logs_with_propensities_hold_on_both_sides(often, seldom, steps, others, dropped, weighed):
    """If weights were used from 30 users on, 12 % of the intervals of a dropped pair would be below the truth."""
    above, below, weights = misses_of_a_pair_left_to_chance(often, seldom, steps, others, 300, dropped=dropped)
    assert max(above, below) <= 300 * 0.025 + 2.5 * (300 * 0.025) ** 0.5
    assert weighed[0] <= weights <= weighed[1]


def test_propensities_too_small_for_the_length_of_the_log_give_no_weights_and_a_note(tmp_path):
    y = np.random.default_rng(1).choice([-1, 0, 1], 400)
    for least, says in ((0.5, "weigh impressions by the propensity"), (0.2, "some pairs had propensities of 0.2 or")):
        e = np.where(np.arange(400) % 40 == 0, least, 0.5).tolist()
        found = compare_log(log_of(tmp_path / "log.jsonl", y, policy=["versatile_db"] * 400, propensity=e))
        assert says in found.warnings[0]


def test_few_outcomes_have_the_interval_of_the_sequence_though_their_propensities_are_known(tmp_path):
    given = {"policy": ["versatile_db"] * 20, "propensity": [0.5] * 20}
    found = compare_log(log_of(tmp_path / "log.jsonl", [1] * 20, **given))
    assert found.low[0] == confidence_sequence([20], [0], [0]).low[0]


@pytest.mark.parametrize(("policy", "notes"), [("winner_stays_strong", 1), ("random", 0)])
def test_a_simulated_log_names_its_policy(tmp_path, policy, notes):
    simulate_log(tmp_path / "log.parquet", RANKINGS, policy=policy, pairs="team_draft", horizon=300)
    found = compare_log(ClickLog(tmp_path / "log.parquet"))
    assert sum("chose the rankers" in one for one in found.warnings) == notes


@pytest.mark.parametrize("y", [0, 1])
def test_weighted_outcomes_that_are_all_equal_are_not_certain(tmp_path, y):
    found = compare_log(log_of(tmp_path / "log.jsonl", [y] * 40, policy=["rucb"] * 40, propensity=[0.5] * 40))
    assert found.means.mean[0] == y and found.low[0] < y - 0.05 and found.p[0] > 0
    assert found.preferences.standard_error[0, 1] > 0


@pytest.mark.parametrize(("users", "propensity", "why"), [
    (400, [0.2] + [0.5] * 399, "some pairs had propensities of 0.2 or less, too low for 400 impressions"),
    (20, [0.5] * 400, "there are too few users: 30 are needed"),
    (399, [0.5] * 400, "a pair was sometimes shown with a lower propensity than its rows report"),
])  # fmt: skip
def test_the_note_names_the_one_reason_for_which_there_are_no_weights(tmp_path, users, propensity, why):
    """Regression: the note always named both small propensities and few users; in the last log a pair has ten rows."""
    rankers = [["old", "other" if users == 399 and k < 10 else "new"] for k in range(400)]
    y, who = np.random.default_rng(1).choice([-1, 0, 1], 400), (np.arange(400) % users).tolist()
    found = compare_log(
        log_of(
            tmp_path / "log.jsonl",
            y,
            user=who,
            policy=["versatile_db"] * 400,
            propensity=propensity,
            rankers=rankers,
        )
    )
    assert f", without weights, because {why}; if users return" in found.warnings[0]


@pytest.mark.parametrize("weighed", [False, True])
def test_the_note_above_a_table_of_first_impressions_says_what_the_table_has(tmp_path, weighed):
    """Regression: above a table of users' first impressions, without weights, a line mentioned weighted means."""
    y, e = np.random.default_rng(1).choice([-1, 0, 1], 400), 0.5 if weighed else 0.1
    found = compare_log(log_of(tmp_path / "log.jsonl", y, policy=["versatile_db"] * 400, propensity=[e] * 400))
    now, always = ("".join(comparison_lines(found, always=one)) for one in (False, True))
    assert ("weigh impressions" in now) == weighed
    assert "; the table has a confidence sequence of users' first impressions, without weights; if users" in always
    assert "weigh impressions" not in always and "weights, because" not in always
