"""Standings: order, ratios and ties, on tables whose answer is arithmetic."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ltr_duel.papers.standings import standings
from ltr_duel.simulation.summary import student_interval


def table(**paid) -> pd.DataFrame:
    """Make one problem with a row for each run; the winner is named by the first policy only."""
    rows = [
        {"problem": "p", "rankers": 6, "policy": policy, "horizon": 100, "repetition": k, "t": 100}
        | {"regret_average": value, "correct": float(place == 0), "lower_bound": 2.0}
        for place, (policy, values) in enumerate(paid.items())
        for k, value in enumerate(values)
    ]
    return pd.DataFrame(rows)


def test_the_best_comes_first_with_ratios_to_it_and_to_the_bound():
    ranked = standings(table(b=[40, 60], a=[10, 30]))
    assert list(ranked["policy"]) == ["a", "b"] and list(ranked["place"]) == [1, 2]
    assert list(ranked["to_best"]) == [1.0, 2.5]
    assert ranked["to_bound"].to_numpy() == pytest.approx(np.array([20, 50]) / (2 * np.log(100)))
    assert list(ranked["accuracy"]) == [0, 1]


def test_the_interval_is_that_of_student():
    # t(0.975, 1) = 12.7062; the standard error of (10, 30) is 10.
    assert student_interval(pd.Series([10.0, 30.0])) == pytest.approx((20 - 127.062, 20 + 127.062), abs=0.01)
    assert np.isnan(student_interval(pd.Series([10.0]))).all()


def test_an_interval_of_regret_does_not_begin_below_zero():
    ranked = standings(table(a=[10, 30], b=[-10, 90])).set_index("policy")
    assert ranked.loc["a", "low"] == 0 and ranked.loc["a", "high"] > 100
    assert ranked.loc["b", "low"] < -500  # what was negative may be


def test_runs_are_compared_pairwise():
    # Luck that both share does not hide a difference that is the same in every run ...
    apart = standings(table(a=[10, 20, 30], b=[11, 21.1, 31]))
    assert list(apart["tied"]) == [True, False]
    # ... and a difference that changes its sign is none.
    even = standings(table(a=[10, 20, 30], b=[31, 11, 21]))
    assert list(even["tied"]) == [True, True]


def test_only_runs_to_the_longest_horizon_count():
    short = table(a=[1, 1]).assign(horizon=10, t=10)
    ranked = standings(pd.concat([table(b=[40, 60]), short]))
    assert list(ranked["policy"]) == ["b"]


def test_a_problem_without_such_regret_is_left_out():
    assert standings(pd.concat([table(a=[1, 2]), table(a=[np.nan, np.nan]).assign(problem="circle")]))[
        "problem"
    ].tolist() == ["p"]
