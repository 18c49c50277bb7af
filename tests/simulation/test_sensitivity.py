"""Sensitivity: accuracy against impressions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ltr_duel.clicks import ClickModel, click_model
from ltr_duel.core import InputError, Streams, interpreted, stream
from ltr_duel.interleaving import Comparer
from ltr_duel.rankers import measure_by_query
from ltr_duel.simulation import measure_sensitivity, sensitivity_table
from ltr_duel.simulation.sensitivity import count_pairs, count_sets, draw_pairs
from tests.conftest import make_rankings, random_rankings

SOME = ("optimized", "sosm")  # a method for pairs and one for sets
GOOD_AND_BAD = make_rankings([[0, 1, 2, 3], [3, 2, 1, 0]], 2, [1, 0, 0, 0])


@pytest.mark.parametrize("method", SOME)
def test_perfect_clicks_name_the_good_ranker_and_no_clicks_name_none(method):
    given = {"methods": [method], "pairs": 1, "top": 3}
    frame = measure_sensitivity(GOOD_AND_BAD, clicks="perfect", impressions=60, repetitions=10, **given)
    last = frame.iloc[-1]
    assert (last["better"], last["worse"], last["impressions"]) == ("ranker 0", "ranker 1", 60)
    assert last["gap"] == pytest.approx(1 - 1 / np.log2(5))
    assert last["accuracy"] == 1
    silent = ClickModel("silent", (0.0, 0.0), (0.0, 0.0))
    frame = measure_sensitivity(GOOD_AND_BAD, clicks=silent, impressions=5, repetitions=2, **given)
    assert (frame["accuracy"] == 0.5).all()


@pytest.mark.parametrize(("method", "count"), [("probabilistic", count_pairs), ("sosm", count_sets)])
def test_compiled_and_interpreted_comparisons_count_alike(method, count):
    comparer = Comparer(random_rankings(3, 4, 12), click_model("informational", 5), method)
    times, counts = np.array([1, 2, 5, 40]), []
    for run in (count, interpreted(count)):
        correct, won = np.zeros(4), np.zeros((2, 2), np.int8)
        for repetition in range(5):
            streams = Streams(*(stream(0, repetition, name) for name in Streams._fields))
            run(comparer.open(), np.array([2, 0]), won, times, correct, streams)
        counts.append(correct.tolist())
    assert counts[0] == counts[1] and set(np.array(counts[0]) * 2 % 1) == {0}
    assert all(0 <= correct <= 5 for correct in counts[0])


def test_accuracy_grows_and_the_number_of_workers_changes_nothing():
    # Ranker k puts the one relevant document at rank k + 1.
    orders = [[*range(1, k + 1), 0, *range(k + 1, 12)] for k in range(6)]
    rankings = make_rankings(orders, 2, [1] + [0] * 11)
    given = {"methods": ["probabilistic", "sosm"], "pairs": 5, "impressions": 600, "repetitions": 20, "seed": 2}
    first, second = (measure_sensitivity(rankings, clicks="informational", jobs=jobs, **given) for jobs in (1, 2))
    pd.testing.assert_frame_equal(first, second)
    curve = first.groupby(["method", "impressions"])["accuracy"].mean()
    for method in ("probabilistic", "sosm"):
        assert curve[method, 1] < 0.85 and curve[method, 600] > 0.9
    assert len(first[["better", "worse"]].drop_duplicates()) == 5


def test_pairs_are_different_and_the_better_ranker_has_the_higher_ndcg():
    quality = np.array([0.1, 0.5, 0.105, 0.3])
    legal = {(1, 0), (1, 2), (1, 3), (3, 0), (3, 2)}
    assert set(draw_pairs(quality, 100, 0.01, 0)) == legal
    assert len(set(draw_pairs(quality, 3, 0.01, 1))) == 3
    rankings = random_rankings(5, 4, 10)
    ndcg = dict(zip(rankings.names, measure_by_query(rankings).mean(axis=1), strict=True))
    for row in measure_sensitivity(rankings, methods=["sosm"], pairs=8, impressions=2, repetitions=1).itertuples():
        assert ndcg[row.better] - ndcg[row.worse] == pytest.approx(row.gap) and row.gap > 0.01


def test_the_table_is_the_median_over_pairs_of_the_first_checkpoint_from_which_on_the_accuracy_is_reached():
    curves = {
        ("late", "a"): [0.5, 1.0, 0.9, 1.0],
        ("late", "b"): [0.5, 1.0, 1.0, 1.0],
        ("late", "c"): [0.5, 0.7, 0.9, 0.4],
        ("early", "a"): [1.0, 1.0, 1.0, 1.0],
        ("never", "a"): [0.5, 0.6, 0.99, 0.7],
    }
    firsts = [1, 10, 10, 10, 10, 10, 100, 100, 1000]  # two are cut off: 1 or fewer heads of 9 coins have p = 10/512
    curves |= {("nine", k): [float(step >= first) for step in (1, 10, 100, 1000)] for k, first in enumerate(firsts)}
    parts = [
        pd.DataFrame({"method": m, "better": pair, "worse": "w", "impressions": [1, 10, 100, 1000], "accuracy": values})
        for (m, pair), values in curves.items()
    ]
    table = sensitivity_table(pd.concat(parts)).set_index("method")
    assert table["impressions"].tolist()[:2] == [1000, 1] and np.isnan(table.loc["never", "impressions"])
    assert table.loc["nine", ["low", "impressions", "high"]].tolist() == [10, 10, 100]
    assert table.loc["late", "low"] == 10, "the least of fewer than six pairs"
    assert table["pairs_sure"].tolist() == pytest.approx([2 / 3, 1, 0, 1])
    assert table.loc["late", "accuracy"] == pytest.approx((1 + 1 + 0.4) / 3)
    assert table.loc["late", "standard_error"] == pytest.approx(np.sqrt((0.2**2 + 0.2**2 + 0.4**2) / 2 / 3))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"methods": ["sosn"]}, "did you mean 'sosm'"),
        ({"pairs": 0}, r"number of pairs must be between 1 and 1e\+09, not 0"),
        ({"least_gap": 0.9}, r"no two of the 2 rankers differ by more than 0\.9"),
    ],
)
def test_bad_choices_are_refused_in_one_sentence(given, sentence):
    with pytest.raises(InputError, match=sentence):
        measure_sensitivity(GOOD_AND_BAD, **given)
