"""Sensitivity: accuracy against impressions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ltr_duel.clicks.model import ClickModel, click_model
from ltr_duel.core import interpreted
from ltr_duel.core.errors import InputError
from ltr_duel.core.random import Streams, stream
from ltr_duel.interleaving.comparison import Comparer
from ltr_duel.rankers import measure_by_query
from ltr_duel.simulation.sensitivity import (
    draw_pairs,
    lead_of_pair,
    lead_of_set,
    measure_sensitivity,
    sensitivity_table,
)
from tests.conftest import make_rankings, random_rankings

SOME = ("probabilistic", "optimized", "sosm", "roughly_optimized")  # pairs and sets, compiled and not
GOOD_AND_BAD = make_rankings([[0, 1, 2, 3], [3, 2, 1, 0]], 2, [1, 0, 0, 0])


@pytest.mark.parametrize("method", SOME)
def test_perfect_clicks_name_the_good_ranker_at_last(method):
    frame = measure_sensitivity(
        GOOD_AND_BAD, clicks="perfect", methods=[method], pairs=1, impressions=60, repetitions=10, top=3
    )
    last = frame.iloc[-1]
    assert (last["better"], last["worse"], last["impressions"]) == ("ranker 0", "ranker 1", 60)
    assert last["gap"] == pytest.approx(1 - 1 / np.log2(5))
    assert last["accuracy"] == 1


@pytest.mark.parametrize("method", SOME)
def test_users_who_never_click_leave_every_method_at_one_half(method):
    silent = ClickModel("silent", (0.0, 0.0), (0.0, 0.0))
    frame = measure_sensitivity(GOOD_AND_BAD, clicks=silent, methods=[method], impressions=5, repetitions=2, top=2)
    assert (frame["accuracy"] == 0.5).all()


@pytest.mark.parametrize(("walk", "method"), [(lead_of_pair, "probabilistic"), (lead_of_set, "sosm")])
def test_compiled_and_interpreted_comparisons_lead_alike_at_the_checkpoints(walk, method):
    comparer = Comparer(random_rankings(3, 4, 12), click_model("informational", 5), method)
    times, counts = np.array([1, 2, 5, 40]), []
    for run in (walk, interpreted(walk)):
        correct = np.zeros(4)
        for repetition in range(5):
            streams = Streams(*(stream(0, repetition, name) for name in Streams._fields))
            run(comparer.open(), np.array([2, 0]), np.zeros((2, 2), np.int8), times, correct, streams)
        counts.append(correct.tolist())
    assert counts[0] == counts[1] and set(np.array(counts[0]) * 2 % 1) == {0}
    assert all(0 <= correct <= 5 for correct in counts[0])


def test_accuracy_grows_and_the_number_of_workers_changes_nothing():
    # Ranker k puts the one relevant document at rank k + 1.
    orders = [[*range(1, k + 1), 0, *range(k + 1, 12)] for k in range(6)]
    rankings = make_rankings(orders, 2, [1] + [0] * 11)
    one, two = (
        measure_sensitivity(
            rankings, clicks="informational", methods=["probabilistic", "sosm"], pairs=5, impressions=600,
            repetitions=20, jobs=jobs, seed=2,
        )
        for jobs in (1, 2)
    )  # fmt: skip
    pd.testing.assert_frame_equal(one, two)
    curve = one.groupby(["method", "impressions"])["accuracy"].mean()
    for method in ("probabilistic", "sosm"):
        assert curve[method, 1] < 0.85 and curve[method, 600] > 0.9
    assert len(one[["better", "worse"]].drop_duplicates()) == 5


def test_pairs_are_different_better_first_and_apart_enough():
    quality = np.array([0.1, 0.5, 0.105, 0.3])
    legal = {(1, 0), (1, 2), (1, 3), (3, 0), (3, 2)}
    assert set(draw_pairs(quality, 100, 0.01, 0)) == legal
    assert len(set(draw_pairs(quality, 3, 0.01, 1))) == 3
    with pytest.raises(InputError, match=r"no two of the 4 rankers differ by more than 0\.9"):
        draw_pairs(quality, 3, 0.9, 0)


def test_the_better_ranker_has_the_higher_ndcg():
    rankings = random_rankings(5, 4, 10)
    quality = dict(zip(rankings.names, measure_by_query(rankings).mean(axis=1), strict=True))
    frame = measure_sensitivity(rankings, methods=["sosm"], pairs=8, impressions=2, repetitions=1)
    for row in frame.itertuples():
        assert quality[row.better] - quality[row.worse] == pytest.approx(row.gap) and row.gap > 0.01


def test_the_table_is_the_median_over_pairs_of_the_first_checkpoint_from_which_on_the_accuracy_is_reached():
    def curve(method, pair, values):
        return pd.DataFrame(
            {"method": method, "better": pair, "worse": "w", "impressions": [1, 10, 100, 1000], "accuracy": values}
        )

    frame = pd.concat(
        [
            curve("late", "a", [0.5, 1.0, 0.9, 1.0]),
            curve("late", "b", [0.5, 1.0, 1.0, 1.0]),
            curve("late", "c", [0.5, 0.7, 0.9, 0.4]),
            curve("early", "a", [1.0, 1.0, 1.0, 1.0]),
            curve("never", "a", [0.5, 0.6, 0.99, 0.7]),
        ]
    )
    table = sensitivity_table(frame).set_index("method")
    assert table["impressions"].tolist()[:2] == [1000, 1] and np.isnan(table.loc["never", "impressions"])
    assert table["pairs_sure"].tolist() == pytest.approx([2 / 3, 1, 0])
    assert table.loc["late", "accuracy"] == pytest.approx((1 + 1 + 0.4) / 3)
    assert table.loc["late", "standard_error"] == pytest.approx(np.sqrt((0.2**2 + 0.2**2 + 0.4**2) / 2 / 3))


def test_bad_choices_are_refused_in_one_sentence():
    for wrong, complaint in (
        ({"methods": ["sosn"]}, "did you mean 'sosm'"),
        ({"pairs": 0}, r"number of pairs must be between 1 and 1e\+09, not 0"),
        ({"least_gap": -1}, "must be between 0 and 1, not -1"),
    ):
        with pytest.raises(InputError, match=complaint):
            measure_sensitivity(GOOD_AND_BAD, **wrong)
