"""Distortion: the counts, and their dependence on the seed alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ltr_duel.clicks import ClickModel, click_model
from ltr_duel.core import InputError, Streams, interpreted, stream
from ltr_duel.interleaving import METHODS, Comparer
from ltr_duel.simulation import distortion_table, measure_distortion
from ltr_duel.simulation.distortion import multileave_often
from tests.conftest import make_rankings, random_rankings

SLATES = [method.name for method in METHODS if method.slates]
SILENT = ClickModel("silent", (0.0, 0.0), (0.0, 0.0))
QUICK = {"comparisons": 200, "multileavings": 40, "repetitions": 3, "top": 4}


def ladder(rankers=5, documents=8):
    """Return rankers in falling order of quality: ranker k puts the only relevant document at rank k + 1."""
    others = list(range(1, documents))
    orders = [[*others[:k], 0, *others[k:]] for k in range(rankers)]
    return make_rankings(orders, 2, [1] + [0] * (documents - 1))


def lead_of(comparer, slate, times, run=multileave_often):
    lead, won = np.zeros(len(slate), np.int64), np.zeros((len(slate), len(slate)), np.int8)
    run(comparer.open(), np.array(slate), times, won, lead, Streams(*(stream(0, name) for name in Streams._fields)))
    return lead.tolist()


def test_the_lead_is_wins_minus_losses_of_the_first_ranker_and_ties_are_coins():
    comparer = Comparer(ladder(3), click_model("perfect", 2), "sosm")
    assert lead_of(comparer, [0, 1, 2], 50) == [0, 50, 50]
    assert lead_of(comparer, [2, 0, 1], 50) == [0, -50, -50]
    wins = np.array(lead_of(Comparer(ladder(4), SILENT, "sosm"), [0, 1, 2, 3], 10_000)[1:])
    assert len(set(wins.tolist())) > 1, "a coin for each pair"
    assert (wins != 0).any() and (np.abs(wins) < 5 * np.sqrt(10_000)).all()


def test_compiled_and_interpreted_give_the_same_lead():
    comparer = Comparer(random_rankings(5, 3, 12), click_model("informational", 5), "sosm")
    plain = lead_of(comparer, [3, 0, 4], 60, interpreted(multileave_often))
    assert lead_of(comparer, [3, 0, 4], 60) == plain


@pytest.mark.parametrize("reduction", ["none", "auto"])
def test_distortion_is_0_where_the_winner_beats_every_ranker(reduction):
    # Four documents are shown, the relevant one always among them, and no two rankers place it alike.
    given = QUICK | {"sizes": [2, 3, 4], "variance_reduction": reduction}
    frame = measure_distortion(ladder(4), clicks="perfect", methods=["sosm"], **given)
    assert (frame["percent"] == 0).all() and (frame["percent_clear"] == 0).all()
    assert set(frame.loc[frame["rankers"] == 4, "winner"]) == {"ranker 0"}


def test_the_share_counts_rankers_that_are_ahead_of_the_winner_and_clearly_ahead():
    chance = ClickModel("chance", (0.01, 0.01), (1.0, 1.0))  # nearly all outcomes are coins
    given = {"sizes": [5], "comparisons": 20_000, "multileavings": 400, "repetitions": 200}
    frame = measure_distortion(ladder(5), clicks=chance, methods=["sosm"], **given)
    percent = frame["percent"].dropna()
    assert set(percent) <= {0, 25, 50, 75, 100}
    assert 30 < percent.mean() < 55, "ahead by coins, about half of the time"
    assert frame["percent_clear"].mean() < 7, "by two standard errors, about one in 44"


def test_a_row_depends_neither_on_the_other_rows_nor_on_the_number_of_workers():
    rankings = random_rankings(6, 3, 8)
    clicks = ["perfect", "navigational"]
    frame = measure_distortion(rankings, clicks=clicks, methods=SLATES, sizes=[2, 4], jobs=1, **QUICK)
    assert len(frame) == len(SLATES) * 2 * 2 * 3 and frame["percent"].dropna().between(0, 100).all()
    model = click_model("navigational", rankings.grades)
    few = measure_distortion(rankings, clicks=model, methods=["team_draft"], sizes=[4], jobs=2, **QUICK)
    same = frame.query("method == 'team_draft' and clicks == 'navigational' and rankers == 4")
    pd.testing.assert_frame_equal(same.reset_index(drop=True), few)
    winners = {tuple(part["winner"]) for _, part in frame.groupby("method")}
    assert len(winners) == 1, "all methods compare the same sets"


def test_sizes_without_a_winner_have_no_share():
    twins = make_rankings([[0, 1], [0, 1]], 2, [1, 0])  # each comparison ties, p is exactly 1/2
    frame = measure_distortion(twins, clicks=["perfect"], methods=["sosm"], sizes=[2], **QUICK)
    assert (frame["winner"] == "").all() and frame["percent"].isna().all()
    assert distortion_table(frame)["repetitions"].tolist() == [0]


def test_the_table_is_mean_and_standard_error_over_repetitions():
    shares = {"percent": [0.0, 50, 100, 50], "percent_clear": [0.0, 0, 50, 0]}
    (row,) = distortion_table(pd.DataFrame({"method": "m", "clicks": "c", "rankers": 3} | shares)).to_dict("records")
    assert row["percent"] == 50 and row["percent_clear"] == 12.5 and row["repetitions"] == 4
    assert row["standard_error"] == pytest.approx(np.sqrt((50**2 + 50**2) / 3) / np.sqrt(4))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"methods": ["balanced"]}, "'balanced' does not compare sets of rankers; methods that do: .*sosm"),
        ({"sizes": [7]}, "between 2 and 6, not 7"),
        ({"multileavings": 0}, r"number of multileavings must be between 1 and 1e\+09, not 0"),
    ],
)
def test_bad_choices_are_refused_in_one_sentence(given, sentence):
    with pytest.raises(InputError, match=sentence):
        measure_distortion(random_rankings(6, 2, 5), **{"sizes": [3], **given})
