"""Numbers of a table and their intervals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ltr_duel.papers import cell, late_share, rank, ratio, slope, spread, steepest, time_ratio
from ltr_duel.papers.estimates import Missing, select
from tests.papers.tables import runs

NEAR = np.linspace(0.98, 1.02, 8)


def test_the_ratio_of_paired_runs_has_no_error_if_each_pair_has_the_same_ratio():
    frame = pd.concat([runs("savage", 500 * NEAR), runs("rucb", 100 * NEAR)])
    assert ratio("savage", "rucb").estimate(frame) == pytest.approx((5, 5, 5, 8))


def test_the_interval_of_a_mean_has_the_width_of_students_t():
    values = np.random.default_rng(1).normal(10, 1, 8)
    frame = pd.concat([runs("savage", values), runs("rucb", np.ones(8))])
    found = ratio("savage", "rucb").estimate(frame)
    half = 2.3646 * values.std(ddof=1) / np.sqrt(8)  # t quantile for 7 degrees of freedom
    assert found.value == pytest.approx(values.mean())
    assert found.high - found.low == pytest.approx(2 * half, rel=0.2)


def test_intervals_cover_as_often_as_they_say():
    rng, hits = np.random.default_rng(2), 0
    for _ in range(50):
        frame = pd.concat([runs("savage", rng.exponential(1, 10)), runs("rucb", np.ones(10))])
        found = ratio("savage", "rucb").estimate(frame)
        hits += found.low <= 1 <= found.high
    assert 0.86 <= hits / 50 <= 1


@pytest.mark.parametrize("column", ["draw", "subset"])
def test_random_problems_are_resampled_as_a_whole_and_fixed_ones_are_kept(column):
    """Two problems have runs near 100 and near 300: random problems determine the mean poorly, fixed problems well."""
    for numbers, wide in (((1, 2), True), ((1, 1), False)):
        parts = []
        for problem, number, level in zip("ab", numbers, (100, 300), strict=True):
            parts += [runs("savage", level * NEAR, problem=problem, **{column: number})]
            parts += [runs("rucb", 100 * NEAR[::-1], problem=problem, **{column: number})]
        found = ratio("savage", "rucb").estimate(pd.concat(parts))
        assert found.value == pytest.approx(2) and (found.high - found.low > 1) == wide


def test_over_unknown_subsets_the_interval_is_the_range_of_the_number():
    levels = {"a": 200, "b": 500, "c": 300}
    parts = [runs("savage", level * NEAR, problem=problem) for problem, level in levels.items()]
    parts += [runs("rucb", 100 * NEAR, problem=problem) for problem in levels]
    assert ratio("savage", "rucb", subsets=True).estimate(pd.concat(parts)) == pytest.approx((3, 2, 5, 24))


def test_the_spread_is_a_ratio_of_standard_deviations():
    rng = np.random.default_rng(3)
    wide, narrow = rng.normal(10, 3, 30), rng.normal(10, 1, 30)
    found = spread("rcs", "rucb").estimate(pd.concat([runs("rcs", wide), runs("rucb", narrow)]))
    assert found.value == pytest.approx(wide.std() / narrow.std()) and found.low < found.value < found.high


def test_a_rank_is_counted_from_the_least_or_the_most_regret():
    frame = pd.concat([runs(name, level * NEAR) for name, level in (("a", 100), ("b", 200), ("c", 300))])
    assert rank("b", ["a", "c"]).estimate(frame)[:3] == (2, 2, 2)
    assert rank("c", ["a", "b"], most=True).estimate(frame)[:3] == (1, 1, 1)


def test_the_slope_is_the_exponent_of_growth():
    sizes = (10, 20, 40, 80)
    parts = [runs("mdb", 3 * size**1.7 * NEAR, problem=f"{size}", rankers=size) for size in sizes]
    found = slope("mdb").estimate(pd.concat(parts))
    assert found.value == pytest.approx(1.7, abs=1e-6) and 1.6 < found.low < 1.7 < found.high < 1.8
    with pytest.raises(Missing, match="needs three points, but there are 2"):
        slope("mdb").estimate(pd.concat(parts[:2]))


def test_the_interval_of_the_steepest_rise_holds_the_whole_step():
    heights = {1.0: 100, 1.1: 110, 1.2: 120, 1.3: 300, 1.4: 320, 2.4: 1300}  # the last step is long, and less steep
    parts = [runs("mdb", height * NEAR, problem=f"{gamma}", gamma=gamma) for gamma, height in heights.items()]
    assert steepest("mdb", along="gamma").estimate(pd.concat(parts))[:3] == pytest.approx((1.25, 1.2, 1.3))


def test_half_of_a_linear_regret_is_in_the_last_half_of_the_steps():
    assert late_share("rcs").estimate(runs("rcs", 100 * NEAR))[:3] == pytest.approx((0.5, 0.5, 0.5))


def test_the_time_to_a_level_is_read_between_checkpoints():
    """Accuracy 0, 1/2, 1 at t = 10, 100, 1000 passes 3/4 at the geometric middle of 100 and 1000."""

    def named(policy, correct, ends):
        rows = [
            {"problem": "one", "policy": policy, "horizon": end, "repetition": number, "t": end, "correct": named}
            for end, pair in zip(ends, correct, strict=True)
            for number, named in enumerate(pair)
        ]
        return pd.DataFrame(rows)

    half, never = [(0.0, 0.0), (0.0, 1.0), (1.0, 1.0)], [(0.0, 0.0)] * 3
    rucb, late = named("rucb", half, (10, 100, 1000)), (100, 1000, 10_000)
    check = time_ratio("rucb", "savage", levels=[0.75])
    assert check.estimate(pd.concat([rucb, named("savage", half, late)])).value == pytest.approx(0.1)
    unreached = check.estimate(pd.concat([rucb, named("savage", never, late)]))
    assert unreached.value == pytest.approx(np.sqrt(100 * 1000) / 10_000)
    with pytest.raises(Missing, match="neither policy reaches"):
        check.estimate(pd.concat([named("rucb", never, late), named("savage", never, late)]))


def test_cells_are_read_with_their_ends():
    frame = pd.DataFrame({"value": [1.0, 3.0], "low": [0.5, 2.0], "high": [2.0, 5.0]})
    assert cell(take="least").estimate(frame)[:3] == (1, 0.5, 2)
    assert cell(take="mean").estimate(frame)[:3] == (2, 1.25, 3.5)
    with pytest.raises(Missing, match="one value was expected, but there are 2"):
        cell().estimate(frame)


def test_rows_are_selected_by_value_list_extreme_and_label():
    frame = pd.DataFrame({"rankers": [6, 51, 201], "policy": ["mdb", "mdb:beta=2.0", "rucb:alpha=0.51"]})
    assert select(frame, {"rankers": "greatest"})["rankers"].tolist() == [201]
    assert select(frame, {"rankers": [6, 51, 7]})["rankers"].tolist() == [6, 51]
    assert select(frame, "mdb")["rankers"].tolist() == [6], "the label itself comes before its variants"
    assert select(frame, "rucb")["rankers"].tolist() == [201]
    for wanted, words in (({"rankers": 7}, "no rows with rankers 7"), ({"size": 7}, "no column 'size'")):
        with pytest.raises(Missing, match=words):
            select(frame, wanted)


@pytest.mark.parametrize(
    "frame, words",
    [
        (pd.concat([runs("a:x=1", [1, 2]), runs("a:x=2", [1, 2]), runs("b", [1, 2])]), "more than one policy fits"),
        (pd.concat([runs("a", [1]), runs("b", [1])]), "one run is not enough"),
        (pd.concat([runs("a", [1, np.nan]), runs("b", [1, 2])]), "average regret is not defined"),
    ],
)
def test_an_estimate_names_the_runs_that_it_lacks(frame, words):
    with pytest.raises(Missing, match=words):
        ratio("a", "b").estimate(frame)
