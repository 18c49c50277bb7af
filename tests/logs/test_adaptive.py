"""Logs that a policy collected: the printed numbers hold, and such logs are distinguished from others."""

from __future__ import annotations

import numpy as np
import pytest

from ltr_duel.logs import compare_log, comparison_lines, comparison_table, confidence_sequence, decide, simulate_log
from tests.conftest import random_rankings
from tests.logs.collected import Case, coverage
from tests.logs.written import log_of


@pytest.mark.parametrize("policy", ["rucb", "double_thompson", "winner_stays_strong", "versatile_db"])
@pytest.mark.parametrize("separated", [False, True])
def test_intervals_of_every_pair_shown_hold_though_a_policy_chose_the_pairs(policy, separated):
    held = coverage(Case(policy, 4, 150, separated), 12)
    pairs = held.pairs.sum()
    assert held.valid.sum() / pairs > 0.95 - 3 * np.sqrt(0.05 * 0.95 / pairs)


def test_a_log_of_a_policy_that_reacts_has_the_intervals_of_the_sequence_and_a_note(tmp_path):
    y = np.random.default_rng(0).choice([-1, 0, 1], 80, p=[0.2, 0.3, 0.5])
    plain = compare_log(log_of(tmp_path / "plain.jsonl", y))
    found = compare_log(log_of(tmp_path / "log.jsonl", y, policy=["rucb"] * 80, propensity=[0.5] * 80))
    always = confidence_sequence(*found.sequences)
    assert (found.low[0], found.high[0]) == (always.low[0], always.high[0])
    assert found.low[0] < plain.low[0] and found.high[0] > plain.high[0] and found.p[0] > plain.p[0]
    assert found.means.mean[0] == plain.means.mean[0]
    assert found.warnings[0] == (
        "the table has a confidence sequence of users' first impressions, because 'rucb' chose the rankers by earlier"
        " outcomes, so that the plain mean of a pair that was dropped early is biased; if users return, the results are"
        " approximate"
    )
    assert found.preferences.standard_error[0, 1] > plain.preferences.standard_error[0, 1]
    assert found.provenance["policies"] == ["rucb"] and "policies" not in plain.provenance


@pytest.mark.parametrize(("policy", "reacts"), [("random", 0), ("random_slate", 0), (None, 0), ("our bandit", 1)])
def test_a_policy_that_is_not_known_may_react_and_one_at_random_does_not(tmp_path, policy, reacts):
    plain, found = (
        compare_log(log_of(tmp_path / f"{n}.jsonl", [1, 0, -1, 1, 1, 0] * 5, **given))
        for n, given in enumerate(({}, {"policy": [policy] * 30}))
    )
    assert (found.low.tolist() != plain.low.tolist()) == (found.warnings != plain.warnings) == bool(reacts)


@pytest.mark.parametrize(
    ("users", "cluster"), [(40, ""), (40, "query"), (40, "both"), (40, "impression"), (0, ""), (0, "query")]
)
def test_of_a_reacting_policy_each_known_user_counts_once_whatever_the_cluster(tmp_path, users, cluster):
    """Without users, impressions count as independent, and the answer is for the queries of the log."""
    rng = np.random.default_rng(0)
    user = rng.integers(0, 40, 1000)
    y = np.where(rng.random(1000) < 0.7, rng.choice([-1, 1], 40)[user], rng.choice([-1, 1], 1000))
    given = {
        "policy": ["rucb"] * 1000,
        "query": (user % 30).tolist(),
        "user": user.tolist() if users else [None] * 1000,
    }
    found = compare_log(log_of(tmp_path / "log.jsonl", y, **given), cluster=cluster)
    assert found.sequences.n.tolist() == [40 if users and cluster != "impression" else 1000]
    whose = "users who ask these 30" if users and cluster != "impression" else "these 30"
    assert comparison_lines(found)[2].startswith(f"the answer is for {whose} queries: intervals of 95%")
    assert not any("queries in general" in line for line in comparison_lines(found))


def test_tables_of_adaptive_logs_name_what_a_mean_is_of_and_give_no_counts_of_another(tmp_path):
    y, users = np.random.default_rng(0).choice([-1, 0, 1], 400), np.arange(400) // 2
    found = compare_log(log_of(tmp_path / "users.jsonl", y, user=users.tolist(), policy=["versatile_db"] * 400))
    for stop_at in (None, 0.95):
        table = comparison_table(found, decide(found, stop_at, checks=False))
        assert not {"wins", "losses", "ties"} & set(table) and table["first impressions"].tolist() == ["200"]
        (mean,) = table["mean, first impressions"]
        assert abs(float(mean)) == pytest.approx(abs(y[::2].mean()), abs=1e-4)


@pytest.mark.parametrize(("policy", "notes"), [("winner_stays_strong", 1), ("random", 0)])
def test_a_simulated_log_names_its_policy(tmp_path, policy, notes):
    rankings = random_rankings(3, 20, 6)
    simulate_log(tmp_path / "log.parquet", rankings, policy=policy, pairs="team_draft", horizon=300)
    assert sum("chose the rankers" in one for one in compare_log(tmp_path / "log.parquet").warnings) == notes
