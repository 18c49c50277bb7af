"""Figures draw the numbers of the tables, with the colours, labels and order that were chosen."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from ltr_duel.analysis import (
    plot_accuracy,
    plot_against_arms,
    plot_identification,
    plot_measures,
    plot_preferences,
    plot_regret,
    plot_sensitivity,
    save_figure,
)
from ltr_duel.core import InputError
from ltr_duel.data import make_corpus
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.rankers import evaluate_rankers, feature_rankers
from ltr_duel.simulation import simulate
from tests.conftest import ROCK_PAPER_SCISSORS, bradley_terry, coins

BOUND = "lower bound (asymptotic, pairs)"


@pytest.fixture(scope="module")
def results():
    return simulate(coins(bradley_terry(5)), ["rucb", "mdb"], horizon=2000, repetitions=3)


def runs(**columns):
    """Return one row for each of three runs of two policies."""
    return pd.DataFrame({"policy": ["rucb"] * 3 + ["mdb"] * 3, "t": 1000, **columns})


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_lines_of_regret_are_means_and_the_bound_is_c_ln_t_over_the_last_decade(results):
    frame = results.to_frame().assign(lower_bound=5.0)
    ax = plot_regret(frame)
    rucb, mdb, bound = ax.get_lines()
    mean = frame[frame["policy"] == "rucb"].groupby("t")["regret_average"].mean()
    assert rucb.get_ydata() == pytest.approx(mean[mean.index >= 100].to_numpy())
    steps = np.asarray(bound.get_xdata())
    assert bound.get_ydata() == pytest.approx(5 * np.log(steps)) and steps.min() == pytest.approx(200)
    assert ax.get_xscale() == ax.get_yscale() == "log" and mdb.get_label() == "mdb"
    assert ax.get_legend().get_title().get_text() == "mean of 3 runs,\nband: 10th to 90th percentile"


@pytest.mark.parametrize(
    ("spread", "low"),
    [
        ("quantiles", 3 + 0.2 * (9 - 3)),  # the first decile of three runs is a fifth of the way to the second run
        ("standard error", 9 - 2 * 6 / 3**0.5),
        ("sd", 9 - 6),
        ("range", 3),
    ],
)
def test_the_band_shows_the_spread_of_the_runs(spread, low):
    frame = pd.concat(runs(repetition=[0, 1, 2] * 2, regret_average=[3.0, 9.0, 15.0] * 2).assign(t=t) for t in (1, 10))
    band = plot_regret(frame[frame["policy"] == "rucb"], spread=spread, start=1).collections[0]
    assert band.get_paths()[0].vertices[:, 1].min() == pytest.approx(low)


def test_more_than_ten_policies_have_no_bands_and_a_legend_in_the_order_of_their_ends():
    names = [f"rucb:alpha={k / 100}" for k in range(51, 81)]
    rows = [(name, run, t, (1.0 + k + run) * t) for k, name in enumerate(names) for run in (0, 1) for t in (1, 10)]
    ax = plot_regret(pd.DataFrame(rows, columns=["policy", "repetition", "t", "regret_average"]))
    assert legend(ax) == names[::-1] and ax.figure.get_figheight() > 6 and not ax.collections
    assert ax.get_legend().get_title().get_text() == "mean of 2 runs"


def test_a_policy_that_knows_its_horizon_is_a_point():
    frame = pd.DataFrame({"policy": "savage", "repetition": 0, "t": [1, 10, 100], "regret_average": [1.0, 9.0, 50.0]})
    ax = plot_regret(frame, start=1)
    assert ax.get_lines()[0].get_xdata().tolist() == [100] and legend(ax) == ["savage (knows T)"]


def test_regret_can_be_drawn_against_the_outcomes_that_were_received(results):
    frame = results.to_frame()
    rucb, mdb = plot_regret(results, x="outcomes").get_lines()  # no lower bound, which is a function of steps
    last = frame[frame["t"] == 2000].groupby("policy")["outcomes"].mean()
    assert rucb.get_xdata()[-1] == last["rucb"] <= 2000 and mdb.get_xdata()[-1] == last["mdb"]


def test_without_a_winner_copeland_regret_is_drawn_and_no_bound():
    ax = plot_regret(simulate(ROCK_PAPER_SCISSORS, "rucb", horizon=500, repetitions=2))
    assert ax.get_ylabel() == "cumulative Copeland regret" and ax.get_title(loc="left") == "no Condorcet winner"
    assert BOUND not in legend(ax)


def test_a_second_study_on_the_same_axes_adds_its_lines_to_the_legend(results):
    ax = plot_regret(results)
    texts = [text.get_text() for text in ax.texts]
    plot_regret(simulate(coins(bradley_terry(5)), "rmed1", horizon=2000, repetitions=3), ax)
    assert [text.get_text() for text in ax.texts] == texts, "remarks are written once"
    assert sorted(legend(ax)) == sorted(["rucb", "mdb", "rmed1", BOUND])


def test_regret_against_arms_is_the_mean_for_each_size_and_sizes_are_written_where_there_is_room():
    ax = plot_against_arms(runs(rankers=[100, 101, 136] * 2, regret_average=[1.0, 3.0, 9.0, 4.0, 6.0, 7.0]))
    rucb, mdb = ax.get_lines()[0], ax.get_lines()[1]
    assert rucb.get_xdata().tolist() == [100, 101, 136] and rucb.get_ydata().tolist() == [1, 3, 9]
    assert mdb.get_ydata().tolist() == [4, 6, 7]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["100", "136"]


def test_accuracy_is_the_share_of_runs_that_are_right():
    frame = pd.DataFrame({"policy": "rucb", "t": [1, 1, 10, 10], "correct": [0.0, 1.0, 1.0, 1.0]})
    (line,) = plot_accuracy(frame).get_lines()
    assert line.get_xdata().tolist() == [1, 10] and line.get_ydata().tolist() == [0.5, 1.0]


def test_identification_shows_the_median_and_counts_the_runs_that_never_do():
    ax = plot_identification(runs(identified_at=[10.0, 100.0, 1000.0, 50.0, np.inf, np.inf]))
    assert ax.get_lines()[1].get_xdata()[0] == 100
    assert [text.get_text() for text in ax.texts] == ["2 of 3 never"]


def test_sensitivity_is_the_mean_over_pairs_with_two_standard_errors():
    frame = pd.concat(
        pd.DataFrame({"method": m, "better": b, "worse": "w", "impressions": [1, 10], "accuracy": [0.5, a]})
        for m, b, a in (("balanced", "a", 0.7), ("balanced", "b", 0.7), ("sosm", "a", 0.6), ("sosm", "b", 0.8))
    )
    ax = plot_sensitivity(frame, accuracy=0.9, labels={"sosm": "ours"})
    balanced, sosm, target = ax.get_lines()
    assert balanced.get_ydata() == pytest.approx([0.5, 0.7]) and sosm.get_ydata() == pytest.approx([0.5, 0.7])
    assert list(target.get_ydata()) == [0.9, 0.9] and legend(ax) == ["balanced", "ours"]
    error = 0.1 * 2**0.5 / 2**0.5  # standard deviation of .6 and .8, divided by the root of two pairs
    assert ax.collections[0].get_paths()[0].vertices[:, 1].min() == pytest.approx(0.7 - 2 * error)


def test_the_heat_map_is_in_copeland_order_and_hides_what_is_not_known():
    error = np.full((4, 4), 0.001)
    error[0, 1] = error[1, 0] = 1.0
    ax = plot_preferences(PreferenceMatrix(bradley_terry(4).p[::-1, ::-1], ("d", "c", "b", "a"), error))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["★ a", "b", "c", "d"]
    drawn = ax.get_images()[0].get_array()
    assert drawn.mask[2, 3] and drawn.mask[3, 2] and not drawn.mask[0, 1]
    assert drawn[0, 3] == pytest.approx(bradley_terry(4).p[0, 3])


def test_the_legend_of_measures_covers_no_interval():
    ax = plot_measures(evaluate_rankers(feature_rankers(make_corpus(queries=30, documents=8, features=4)), ["NDCG@10"]))
    ax.figure.draw_without_rendering()
    assert not ax.get_legend().get_window_extent().overlaps(ax.get_window_extent())


def test_lines_bands_and_names_take_the_chosen_colours_labels_and_order():
    results = simulate(bradley_terry(5), ["rucb", "double_thompson", "random"], horizon=300, repetitions=3)
    choices = {"colors": {"rucb": "red"}, "labels": {"rucb": "ours"}, "order": ["random", "rucb"]}
    ax = plot_regret(results, bound=False, **choices)
    assert legend(ax) == [line.get_label() for line in ax.get_lines()] == ["random", "ours", "double_thompson"]
    assert ax.get_lines()[1].get_color() == to_hex("red")
    assert to_rgb(ax.collections[1].get_facecolor()[0][:3]) == to_rgb("red")
    assert legend(plot_accuracy(results, **choices)) == ["random", "ours", "double_thompson"]
    names = [tick.get_text() for tick in plot_identification(results, **choices).get_yticklabels()]
    assert names == ["random", "ours", "double_thompson"]


@pytest.mark.parametrize(
    ("choices", "sentence"),
    [
        ({"colors": {"rubc": "red"}}, "no line in the figure called 'rubc'; did you mean 'rucb'"),
        ({"labels": {"rubc": "ours"}}, "no line in the figure called 'rubc'"),
        ({"order": ["rubc"]}, "no line in the figure called 'rubc'"),
        ({"colors": {"rucb": "reddish"}}, "the colour of 'rucb' must be"),
        ({"colors": ["red"]}, r"colors must be a dictionary, such as \{'rucb': 'red'\}, not a list"),
        ({"colours": {}}, "no choice 'colours'; did you mean 'colors'"),
        ({"spread": "quantile"}, "no spread 'quantile'; did you mean 'quantiles'"),
        ({"x": "outcome"}, "no abscissa 'outcome'; did you mean 'outcomes'"),
    ],
)
def test_a_choice_that_cannot_be_drawn_is_refused(results, choices, sentence):
    with pytest.raises(InputError, match=sentence):
        plot_regret(results, **choices)


def test_tables_that_are_no_results_of_one_problem_are_refused(results):
    with pytest.raises(InputError, match=r"pass the table of one problem from .to_frame\(\)"):
        plot_regret(type("StudyResults", (), {"to_frame": None})())
    with pytest.raises(InputError, match="these results do not contain the number of outcomes"):
        plot_regret(results.to_frame().assign(outcomes=np.nan), x="outcomes")


def test_a_plot_is_drawn_on_the_axes_that_are_given(results):
    left, right = Figure().subplots(1, 2)
    assert plot_regret(results, left) is left and plot_preferences(results.matrix, right) is right
    assert left.get_lines() and right.get_images()


@pytest.mark.parametrize("suffix", [".png", ".pdf", ".svg"])
def test_the_same_figure_gives_the_same_bytes(tmp_path, results, suffix):
    one, two = (save_figure(plot_regret(results), tmp_path / f"{name}{suffix}").read_bytes() for name in "ab")
    assert one == two and len(one) > 1000
    with pytest.raises(InputError, match=r"\.png, \.pdf or \.svg"):
        save_figure(plot_regret(results), tmp_path / "a.bmp")
