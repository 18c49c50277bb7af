"""Means with a spread, and the comparable parts of a table: on tables small enough to check by eye."""

from __future__ import annotations

import pandas as pd
import pytest

from ltr_duel.simulation.statistics import averaged, comparable_rows


def test_of_a_policy_with_two_horizons_only_the_ends_are_comparable():
    rows = [("savage", 10, 1), ("savage", 10, 10), ("savage", 100, 10), ("savage", 100, 100), ("rucb", 100, 10)]
    frame = comparable_rows(pd.DataFrame(rows, columns=["policy", "horizon", "t"]))
    assert frame["t"].tolist() == [10, 100, 10]
    assert frame["separate"].tolist() == [True, True, False]


def test_of_a_policy_that_knows_its_horizon_only_the_end_is_comparable():
    rows = [(policy, horizon, t) for policy in ("savage:delta=0.1", "mine") for horizon in (10,) for t in (1, 5, 10)]
    frame = pd.DataFrame(rows, columns=["policy", "horizon", "t"])
    for table in (frame, frame.drop(columns="horizon")):
        kept = comparable_rows(table)
        assert list(zip(kept["policy"], kept["t"], strict=True)) == [
            ("savage:delta=0.1", 10), ("mine", 1), ("mine", 5), ("mine", 10),
        ]  # fmt: skip


def test_quantiles_are_the_tenth_and_the_ninetieth_percentile():
    frame = pd.DataFrame({"policy": "rucb", "t": 5, "regret": [float(k) for k in range(11)]})
    (row,) = averaged(frame, ["policy", "t"], "regret", "quantiles").itertuples()
    assert (row.runs, row.mean, row.low, row.high) == pytest.approx((11, 5, 1, 9))


def test_groups_are_named_by_all_keys_in_the_order_of_appearance_and_sorted_by_the_last():
    rows = [("b", "x", 2, 1.0), ("b", "x", 1, 3.0), ("a", "y", 1, 5.0), ("a", "y", 1, 7.0), ("a", "x", 1, 9.0)]
    table = averaged(
        pd.DataFrame(rows, columns=["problem", "policy", "t", "r"]), ["problem", "policy", "t"], "r", "none"
    )
    assert table[["problem", "policy", "t", "mean"]].to_numpy().tolist() == [
        ["b", "x", 1, 3.0], ["b", "x", 2, 1.0], ["a", "y", 1, 6.0], ["a", "x", 1, 9.0],
    ]  # fmt: skip
    assert table["runs"].tolist() == [1, 1, 2, 1]
