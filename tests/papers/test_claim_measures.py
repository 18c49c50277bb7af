"""The measures behind the ledger: the rows that they use, their results, and the uncertainty."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ltr_duel.papers.claim_measures import MEASURES
from ltr_duel.papers.claim_measures.measure import Group, Missing, Sample, format_value, in_words, means, reading
from ltr_duel.papers.claim_measures.rows import is_policy, select
from tests.papers.claim_tables import jittered, runs


def test_places_are_taken_among_variants_of_a_policy_too():
    frame = pd.concat([runs({}, "savage", jittered(800)), runs({}, "rucb:alpha=0.51", jittered(100))])
    more = frame[frame["policy"] == "savage"].assign(policy="rucb:alpha=4.0")
    found = MEASURES["place"].run(pd.concat([frame, more]), policy="savage", counted_from="greatest")
    assert found.value == 1
    found = MEASURES["place"].run(pd.concat([frame, more]), policy="rucb:alpha=0.51")
    assert found == (1, 1, 1)


@pytest.mark.parametrize(
    "measure, settings, words",
    [
        ("growth", {"policy": "mdb", "along": "rankers"}, "log rankers: mdb"),
        ("growth", {"policy": {}, "to": "mdb", "along": "rankers"}, "log rankers: each, divided by mdb"),
        ("ratio", {"of": {"clicks": "perfect", "policy": "mdb"}, "to": "mdb"}, ": mdb at clicks perfect, divided by"),
        ("value", {"take": "least"}, "least value"),
        ("late", {"policy": "rcs"}, "share of the final average regret of rcs"),
        ("late", {"policy": "rcs", "column": "regret_ndcg"}, "share of the final NDCG regret of rcs"),
    ],
)
def test_measures_are_put_in_words(measure, settings, words):
    assert words in in_words(measure, settings)
    assert format_value({"policy": ["a", "b"], "rankers": {"at_least": 51}}) == "a, b at rankers at least 51"


def test_a_policy_is_its_name_and_the_parameters_that_are_given():
    assert is_policy("rucb:alpha=0.51", "rucb") and is_policy("rucb", "rucb:alpha=0.51")
    assert is_policy("mdb", "mdb:beta=1.50,alpha=.5")
    assert not is_policy("rucb:alpha=0.7", "rucb:alpha=0.51") and not is_policy("rmed2fh", "rmed2")


def test_rows_are_selected_by_value_list_range_and_extreme():
    frame = pd.DataFrame({"rankers": [6, 51, 201], "gamma": [1.0, 1.1 + 0.2, 2.0]})
    assert select(frame, {"rankers": {"at_least": 51}})["rankers"].tolist() == [51, 201]
    assert select(frame, {"rankers": "greatest"})["rankers"].tolist() == [201]
    assert select(frame, {"rankers": [6, 7]})["rankers"].tolist() == [6]
    assert select(frame, {"gamma": 1.3})["rankers"].tolist() == [51]
    with pytest.raises(Missing, match="rankers 7"):
        select(frame, {"rankers": 7})


def one_problem(values):
    return Group(values, np.zeros(len(values), np.int64), drawn=False)


def test_fixed_problems_are_kept_and_drawn_ones_are_drawn():
    """Two problems, at 0 and 10, have four runs each that differ by at most 1: the error is 10 or 1."""
    values = np.array([0, 1, 0, 1, 10, 11, 10, 11.0])[:, None]
    problem = np.repeat([0, 1], 4)
    fixed, drawn = (means(Sample((Group(values, problem, one),)))[1:, 0] for one in (False, True))
    assert fixed.min() >= 5 and fixed.max() <= 6
    assert sorted(set(drawn)) == [0.5, 5.5, 10.5]
    assert (Group(values, problem, False).units, Group(values, problem, True).units) == (7, 2)


def test_the_interval_has_the_width_of_students_t():
    """For means of normal numbers, the bootstrap must be close to the textbook interval, even with 8 runs."""
    values = np.random.default_rng(1).normal(10, 1, (8, 1))
    found = reading(means(Sample((one_problem(values),)))[:, 0], 8)
    half = 2.3646 * values.std(ddof=1) / np.sqrt(8)  # t quantile for 7 degrees of freedom
    assert found.high - found.low == pytest.approx(2 * half, rel=0.2)


def test_intervals_cover_as_often_as_they_say():
    rng = np.random.default_rng(2)
    hits = 0
    for _ in range(200):
        found = reading(means(Sample((one_problem(rng.exponential(1, (10, 1))),)))[:, 0], 10)
        hits += found.low <= 1 <= found.high
    assert 0.87 <= hits / 200 <= 0.995


def test_runs_are_paired_over_several_problems_and_over_those_with_the_same_luck():
    """The ratio of every pair of runs is 5, so its error is zero if the right runs are paired."""

    def side(problem, policy, level, clicks):
        luck = jittered(level)
        return runs({"problem": problem, "clicks": clicks}, policy, luck)

    both = [side(problem, *one) for problem in "ab" for one in (("savage", 500, "perfect"), ("rucb", 100, "perfect"))]
    found = MEASURES["ratio"].run(pd.concat(both), of="savage", to="rucb")
    assert found == pytest.approx((5, 5, 5))
    across = pd.concat([side("a", "mdb", 500, "perfect"), side("b", "mdb", 100, "navigational")])
    found = MEASURES["ratio"].run(across, of={"clicks": "perfect"}, to={"clicks": "navigational"})
    assert found == pytest.approx((5, 5, 5))
    strangers = across[(across["clicks"] == "perfect") | (across["repetition"] > 0)]
    found = MEASURES["ratio"].run(strangers, of={"clicks": "perfect"}, to={"clicks": "navigational"})
    assert found.high - found.low > 0.01


def test_growth_finds_the_exponent():
    parts = [runs({"problem": f"{k}", "rankers": k}, "mdb", jittered(3 * k**1.7)) for k in (10, 20, 40, 80)]
    found = MEASURES["growth"].run(pd.concat(parts), policy="mdb", along="rankers")
    assert found.value == pytest.approx(1.7) and 1.6 < found.low < 1.7 < found.high < 1.8


def test_the_transition_is_the_steepest_step_and_its_interval_holds_it():
    heights = {1.0: 100, 1.1: 110, 1.2: 120, 1.3: 300, 1.4: 320}
    parts = [runs({"problem": f"{g}", "gamma": g}, "mdb", jittered(h)) for g, h in heights.items()]
    found = MEASURES["transition"].run(pd.concat(parts), policy="mdb", along="gamma")
    assert found == pytest.approx((1.25, 1.2, 1.3))
    wide = [runs({"problem": "wide", "gamma": 2.4}, "mdb", jittered(1300))]  # four times as much, but over a long step
    found = MEASURES["transition"].run(pd.concat(parts + wide), policy="mdb", along="gamma")
    assert found == pytest.approx((1.25, 1.2, 1.3))


def test_the_time_to_a_level_is_read_between_checkpoints():
    """Accuracy 0, 1/2, 1 at t = 10, 100, 1000 passes 3/4 at the geometric middle of 100 and 1000."""

    def named(policy, correct, ends):
        rows = [
            {"problem": "one", "policy": policy, "horizon": h, "repetition": r, "t": h, "correct": c[r]}
            for h, c in zip(ends, correct, strict=True)
            for r in range(2)
        ]
        return pd.DataFrame(rows)

    half = [(0.0, 0.0), (0.0, 1.0), (1.0, 1.0)]
    frame = pd.concat([named("rucb", half, (10, 100, 1000)), named("savage", half, (100, 1000, 10_000))])
    found = MEASURES["time_ratio"].run(frame, of="rucb", to="savage", levels=[0.75])
    assert found.value == pytest.approx(0.1)
    alone = MEASURES["time_ratio"].run(
        pd.concat([frame[frame["policy"] == "rucb"], named("savage", [(0.0, 0.0)] * 3, (100, 1000, 10_000))]),
        of="rucb",
        to="savage",
        levels=[0.75],
    )
    assert alone.value == pytest.approx(np.sqrt(100 * 1000) / 10_000)


def test_the_least_the_greatest_and_the_mean_of_cells_have_their_errors():
    frame = pd.DataFrame({"value": [1.0, 3.0], "standard_error": [0.1, 0.2]})
    found = {take: MEASURES["value"].run(frame, take=take) for take in ("least", "greatest", "mean")}
    assert found["least"] == pytest.approx((1, 1 - 0.196, 1 + 0.196), abs=1e-4)
    assert found["greatest"] == pytest.approx((3, 3 - 0.392, 3 + 0.392), abs=1e-4)
    assert found["mean"] == pytest.approx((2, 2 - 1.96 * 0.05**0.5 / 2, 2 + 1.96 * 0.05**0.5 / 2), abs=1e-4)
    with pytest.raises(Missing, match="one cell was expected, but there are 2"):
        MEASURES["value"].run(frame)


def test_a_valley_needs_an_inside():
    def shape(*values):
        return (
            MEASURES["valley"]
            .run(pd.DataFrame({"rankers": range(len(values)), "value": values}), along="rankers")
            .value
        )

    assert shape(1, 0.5, 0.2, 0.9) == 1
    assert shape(1, 0.5, 0.2) == 0
    assert shape(1, 0.5, 0.6, 0.2, 0.7) == pytest.approx(1 - 0.1 / 1.5)


@pytest.mark.parametrize("column", ["draw", "subset"])
def test_problems_are_draws_where_the_table_numbers_them(column):
    """Two problems have runs near 100 and near 300: sampled problems determine the mean poorly, fixed problems well."""
    for numbers, wide in (((1, 2), True), ((1, 1), False)):
        parts = []
        for problem, number, level in zip("ab", numbers, (100, 300), strict=True):
            parts += [runs({"problem": problem, column: number}, "savage", jittered(level))]
            parts += [runs({"problem": problem, column: number}, "rucb", jittered(100)[::-1])]
        found = MEASURES["ratio"].run(pd.concat(parts), of="savage", to="rucb")
        assert found.value == pytest.approx(2)
        assert (found.high - found.low > 1) == wide
