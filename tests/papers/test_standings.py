"""Standings: order, ratios, bounds and marks, on tables with exactly known results."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ltr_duel.papers.pages.state_of_the_art import best_lines
from ltr_duel.papers.standings import standings


def table(**paid) -> pd.DataFrame:
    """Make one problem with a row for each run; the winner is named by the first policy only."""
    rows = [
        {"problem": "p", "rankers": 6, "policy": policy, "horizon": 100, "repetition": k, "t": 100}
        | {"regret_average": value, "correct": float(place == 0), "lower_bound": 2.0}
        for place, (policy, values) in enumerate(paid.items())
        for k, value in enumerate(values)
    ]
    return pd.DataFrame(rows)


def noisy(mean, seed):
    return mean * np.random.default_rng(seed).uniform(0.8, 1.2, 20)


def test_the_best_comes_first_with_ratios_to_it_and_to_the_bound():
    ranked = standings(table(b=[40, 60], a=[10, 30]))
    assert list(ranked["policy"]) == ["a", "b"] and list(ranked["place"]) == [1, 2]
    assert list(ranked["to_best"]) == [1.0, 2.5]
    assert ranked["to_bound"].to_numpy() == pytest.approx(np.array([20, 50]) / (2 * np.log(100)))
    assert list(ranked["accuracy"]) == [0, 1]


def test_the_bound_on_average_regret_divides_no_other_regret_and_no_sets():
    frame = table(rucb=[10, 30], mdb=[1, 3]).assign(regret_ndcg=5.0)
    assert standings(frame, "regret_ndcg")["to_bound"].isna().all()
    ranked = standings(frame).set_index("policy")
    assert ranked.loc["rucb", "to_bound"] == pytest.approx(20 / (2 * np.log(100)))
    assert np.isnan(ranked.loc["mdb", "to_bound"])


def test_the_bound_is_blank_where_the_winner_is_not_known():
    frame = table(rucb=[10, 30])
    assert standings(frame.assign(winner_probability=0.94))["to_bound"].isna().all()
    assert standings(frame.assign(winner_probability=0.95))["to_bound"].notna().all()


def test_pairs_and_sets_are_compared_among_themselves():
    ranked = standings(table(rucb=[100], mdb=[1], rmed1=[50], multi_self_sparring=[4]))
    assert list(zip(ranked["compares"], ranked["policy"], ranked["to_best"], strict=True)) == [
        ("pairs", "rmed1", 1), ("pairs", "rucb", 2), ("sets", "mdb", 1), ("sets", "multi_self_sparring", 4),
    ]  # fmt: skip


def test_only_a_policy_that_no_other_may_equal_is_called_best():
    apart = best_lines(standings(table(a=noisy(10, 1), b=noisy(30, 2), c=noisy(40, 3))))
    assert len(apart) == 1
    best = "p (K = 6, pairs): a has the lowest mean; with 95 % confidence every other mean is at least 2."
    assert apart[0].startswith(best)
    even = best_lines(standings(table(a=noisy(10, 1), b=noisy(10.2, 2), c=noisy(40, 3))))
    assert even == ["p (K = 6, pairs): not told apart: a, b."]


def test_few_runs_call_nothing_best():
    few = table(a=[1, 2, 3], b=[10, 20, 30])
    assert best_lines(standings(pd.concat([few, few.assign(problem="q")]))) == [
        "Not compared, as 3 runs are too few: p (K = 6, pairs), q (K = 6, pairs)."
    ]


def test_only_runs_to_the_longest_horizon_count():
    short = table(a=[1, 1]).assign(horizon=10, t=10)
    ranked = standings(pd.concat([table(b=[40, 60]), short]))
    assert list(ranked["policy"]) == ["b"]


def test_a_problem_without_such_regret_is_left_out():
    assert standings(pd.concat([table(a=[1, 2]), table(a=[np.nan, np.nan]).assign(problem="circle")]))[
        "problem"
    ].tolist() == ["p"]
