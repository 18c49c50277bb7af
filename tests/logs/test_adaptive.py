"""Logs that a policy collected: the printed numbers hold, and such logs are distinguished from others."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ltr_duel.logs import (
    ClickLog,
    compare_log,
    comparison_lines,
    comparison_table,
    confidence_sequence,
    decide,
    simulate_log,
)
from tests.conftest import random_rankings
from tests.logs.collected import Case, coverage

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
    given = {"policy": ["rucb"] * 80, "propensity": [0.5] * 80}
    found = compare_log(log_of(tmp_path / "log.jsonl", y, **given))
    always = confidence_sequence(*found.sequences)
    assert (found.low[0], found.high[0]) == (always.low[0], always.high[0])
    assert found.low[0] < plain.low[0] and found.high[0] > plain.high[0] and found.p[0] > plain.p[0]
    assert found.means.mean[0] == plain.means.mean[0]
    note = comparison_lines(found)[3]
    assert note.startswith(
        "note: 'rucb' chose the rankers by earlier outcomes, so the plain mean of a pair that was dropped"
    )
    assert "; the table has a confidence sequence of users' first impressions; if users return, the" in note
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


def test_tables_of_adaptive_logs_name_what_a_mean_is_of_and_give_no_counts_of_another(tmp_path):
    given = {"policy": ["versatile_db"] * 400}
    y, users = np.random.default_rng(0).choice([-1, 0, 1], 400), np.arange(400) // 2
    counts = {"wins", "losses", "ties"}
    log = log_of(tmp_path / "users.jsonl", y, user=users.tolist(), **given)
    for stop_at in (None, 0.95):
        found = compare_log(log)
        table = comparison_table(found, decide(found, stop_at, checks=False))
        assert not counts & set(table) and table["first impressions"].tolist() == ["200"]
        (mean,) = table["mean, first impressions"]
        assert abs(float(mean)) == pytest.approx(abs(y[::2].mean()), abs=1e-4)
    found = compare_log(log_of(tmp_path / "plain.jsonl", y))
    table = comparison_table(found, decide(found, checks=False))
    assert counts <= set(table) and "mean" in table


@pytest.mark.parametrize(("policy", "notes"), [("winner_stays_strong", 1), ("random", 0)])
def test_a_simulated_log_names_its_policy(tmp_path, policy, notes):
    simulate_log(tmp_path / "log.parquet", RANKINGS, policy=policy, pairs="team_draft", horizon=300)
    found = compare_log(ClickLog(tmp_path / "log.parquet"))
    assert sum("chose the rankers" in one for one in found.warnings) == notes
