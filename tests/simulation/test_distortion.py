"""Distortion: the counts, and their dependence on the seed alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ltr_duel.clicks.model import ClickModel, click_model
from ltr_duel.core import interpreted
from ltr_duel.core.errors import InputError
from ltr_duel.core.random import Streams, stream
from ltr_duel.interleaving.comparison import Comparer
from ltr_duel.interleaving.method import METHODS
from ltr_duel.simulation.distortion import distortion_table, measure_distortion, multileave_often
from tests.conftest import make_rankings, random_rankings

SLATES = [method.name for method in METHODS if method.slates]
QUICK = {"comparisons": 200, "multileavings": 40, "repetitions": 3, "top": 4}


def ladder(rankers=5, documents=8):
    """Return rankers in falling order of quality: ranker k puts the only relevant document at rank k + 1."""
    others = list(range(1, documents))
    orders = [[*others[:k], 0, *others[k:]] for k in range(rankers)]
    return make_rankings(orders, 2, [1] + [0] * (documents - 1))


def lead_of(comparer, slate, times, run=multileave_often):
    size = len(slate)
    lead = np.zeros(size, np.int64)
    streams = Streams(*(stream(0, name) for name in Streams._fields))
    run(comparer.open(), np.array(slate), times, np.zeros((size, size), np.int8), lead, streams)
    return lead.tolist()


def test_the_lead_is_wins_minus_losses_of_the_first_ranker():
    comparer = Comparer(ladder(3), click_model("perfect", 2), "sosm")
    assert lead_of(comparer, [0, 1, 2], 50) == [0, 50, 50]
    assert lead_of(comparer, [2, 0, 1], 50) == [0, -50, -50]


def test_tied_multileavings_are_coins():
    silent = ClickModel("silent", (0.0, 0.0), (0.0, 0.0))
    wins = np.array(lead_of(Comparer(ladder(4), silent, "sosm"), [0, 1, 2, 3], 10_000)[1:])
    assert (wins != 0).any() and len(set(wins.tolist())) > 1, "a coin for each pair"
    assert (np.abs(wins) < 5 * np.sqrt(10_000)).all()


@pytest.mark.parametrize("method", [name for name in SLATES if METHODS[name].compiled])
def test_compiled_and_interpreted_give_the_same_lead(method):
    comparer = Comparer(random_rankings(5, 3, 12), click_model("informational", 5), method)
    compiled, plain = (
        lead_of(comparer, [3, 0, 4], 60, run) for run in (multileave_often, interpreted(multileave_often))
    )
    assert compiled == plain


def test_the_matrix_can_be_estimated_with_less_variance():
    given = QUICK | {"clicks": ["perfect"], "methods": ["sosm"], "sizes": [3]}
    fewer = given | {"comparisons": 20, "variance_reduction": "auto"}
    reduced = measure_distortion(ladder(), **fewer)
    assert reduced["winner"].tolist() == measure_distortion(ladder(), **given)["winner"].tolist()


def test_nobody_beats_the_winner_of_a_ladder():
    # Four documents are shown, the relevant one always among them, and no two rankers place it alike.
    frame = measure_distortion(ladder(4), clicks=["perfect"], methods=["sosm"], sizes=[2, 3, 4], **QUICK)
    assert (frame["percent"] == 0).all() and (frame["percent_clear"] == 0).all()
    assert set(frame.loc[frame["rankers"] == 4, "winner"]) == {"ranker 0"}


def test_the_share_counts_who_is_ahead_of_the_winner_and_who_clearly_is():
    silent = ClickModel("silent", (0.01, 0.01), (1.0, 1.0))  # nearly all outcomes are coins
    frame = measure_distortion(
        ladder(5), clicks=[silent], methods=["sosm"], sizes=[5], comparisons=20_000, multileavings=400, repetitions=200
    )
    percent = frame["percent"].dropna()
    assert set(percent) <= {0, 25, 50, 75, 100}
    assert 30 < percent.mean() < 55, "ahead by coins, about half of the time"
    assert frame["percent_clear"].mean() < 7, "by two standard errors, about one in 44"


@pytest.mark.parametrize("method", SLATES)
def test_every_method_runs_and_the_number_of_workers_changes_nothing(method):
    rankings = random_rankings(6, 3, 8)
    one, two = (
        measure_distortion(
            rankings, clicks=["perfect", "navigational"], methods=[method], sizes=[2, 4], seed=3, jobs=jobs, **QUICK
        )
        for jobs in (1, 2)
    )
    pd.testing.assert_frame_equal(one, two)
    assert len(one) == 2 * 2 * 3 and one["percent"].dropna().between(0, 100).all()


def test_a_cell_does_not_depend_on_the_other_cells_and_all_methods_meet_the_same_sets():
    rankings = random_rankings(6, 3, 8)
    all_of_it = measure_distortion(
        rankings, clicks=["perfect", "navigational"], methods=["sosm", "team_draft"], sizes=[2, 4], **QUICK
    )
    alone = measure_distortion(rankings, clicks=["navigational"], methods=["team_draft"], sizes=[4], **QUICK)
    same = all_of_it.query("method == 'team_draft' and clicks == 'navigational' and rankers == 4")
    pd.testing.assert_frame_equal(same.reset_index(drop=True), alone)
    for one in ("navigational", click_model("navigational", rankings.grades)):  # a single click model needs no list
        found = measure_distortion(rankings, clicks=one, methods=["team_draft"], sizes=[4], **QUICK)
        pd.testing.assert_frame_equal(alone, found)
    winners = [list(part["winner"]) for _, part in all_of_it.groupby("method")]
    assert winners[0] == winners[1]


def test_sizes_without_a_winner_are_said_to_be_so():
    twins = make_rankings([[0, 1], [0, 1]], 2, [1, 0])  # each comparison ties, p is exactly 1/2
    frame = measure_distortion(twins, clicks=["perfect"], methods=["sosm"], sizes=[2], **QUICK)
    assert (frame["winner"] == "").all() and frame["percent"].isna().all()
    table = distortion_table(frame)
    assert table["repetitions"].tolist() == [0] and table["percent"].isna().all()


def test_the_table_is_mean_and_standard_error_over_repetitions():
    frame = pd.DataFrame(
        {"method": "m", "clicks": "c", "rankers": 3, "percent": [0.0, 50, 100, 50], "percent_clear": [0.0, 0, 50, 0]}
    )
    (row,) = distortion_table(frame).to_dict("records")
    assert row["percent"] == 50 and row["percent_clear"] == 12.5 and row["repetitions"] == 4
    assert row["standard_error"] == pytest.approx(np.sqrt((50**2 + 50**2) / 3) / np.sqrt(4))


def test_bad_choices_are_refused_in_one_sentence():
    for wrong, complaint in (
        ({"methods": ["balanced"]}, "'balanced' does not compare sets of rankers; methods that do: .*sosm"),
        ({"sizes": [7]}, "between 2 and 6, not 7"),
        ({"clicks": ["navigationl"]}, "did you mean 'navigational'"),
        ({"multileavings": 0}, r"number of multileavings must be between 1 and 1e\+09, not 0"),
        ({"variance_reduction": "fewer"}, "'fewer'"),
    ):
        with pytest.raises(InputError, match=complaint):
            measure_distortion(random_rankings(6, 2, 5), **{"sizes": [3], **wrong})
