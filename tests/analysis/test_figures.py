"""Figures draw the numbers of the tables, with the colours, labels and order that were chosen."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from ltr_duel import analysis
from ltr_duel.core import InputError
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.simulation import simulate
from tests.conftest import ROCK_PAPER_SCISSORS, bradley_terry, coins

BOUND = "lower bound (asymptotic, pairs)"
NOBODY = "no ranker is shown to beat all others"


@pytest.fixture(scope="module")
def results():
    return simulate(coins(bradley_terry(5)), ["rucb", "mdb"], horizon=2000, repetitions=3)


def runs(**columns):
    """Return one row for each of three runs of two policies."""
    return pd.DataFrame({"policy": ["rucb"] * 3 + ["mdb"] * 3, "repetition": [0, 1, 2] * 2, "t": 1000, **columns})


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_lines_of_regret_are_means_and_the_bound_is_c_ln_t_over_the_last_decade(results):
    frame = results.to_frame()
    late = frame[frame["t"] >= 200].groupby(["t", "policy"])["regret_average"].mean()
    ratio = late / np.log(late.index.get_level_values("t"))
    constant = 0.95 * ratio.min()
    rucb, mdb, bound = (ax := analysis.plot_regret(frame.assign(lower_bound=constant))).get_lines()
    mean = frame[frame["policy"] == "rucb"].groupby("t")["regret_average"].mean()
    assert rucb.get_ydata() == pytest.approx(mean[mean.index >= 100].to_numpy()) and mdb.get_label() == "mdb"
    assert bound.get_ydata() == pytest.approx(constant * np.log(bound.get_xdata())) and min(bound.get_xdata()) == 200
    assert ax.get_legend().get_title().get_text() == "mean of 3 runs,\nband: 10th to 90th percentile"
    assert 1.02 * ratio.min() < ratio.loc[2000].min()  # no policy ends below this bound, but one is below it before
    assert BOUND not in legend(analysis.plot_regret(frame.assign(lower_bound=1.02 * ratio.min())))


def test_a_policy_that_often_loses_nothing_is_within_the_figure_and_one_that_never_loses_is_named():
    frame = pd.concat(runs(regret_average=[0.0, 0.0, 30.0, 0.0, 0.0, 0.0]).assign(t=t) for t in (1, 10))
    ax = analysis.plot_regret(frame, start=1)
    assert ax.get_ylim()[0] < 10 and ax.get_xlabel().endswith("\nalways 0: mdb")


@pytest.mark.parametrize(("spread", "low"), [("quantiles", 3 + 0.2 * (9 - 3)), ("standard error", 9 - 2 * 6 / 3**0.5)])
def test_the_band_shows_the_spread_of_the_runs(spread, low):  # a decile of 3 runs is .2 of the way to the second run
    frame = pd.concat(runs(regret_average=[3.0, 9.0, 15.0] * 2).assign(t=t) for t in (1, 10))
    band = analysis.plot_regret(frame[frame["policy"] == "rucb"], spread=spread, start=1).collections[0]
    assert band.get_paths()[0].vertices[:, 1].min() == pytest.approx(low)


def test_more_than_ten_policies_have_no_bands_and_a_legend_in_the_order_of_their_ends():
    names = [f"rucb:alpha={k / 100}" for k in range(51, 81)]
    names.append("savage")  # knows its horizon, and is drawn there only
    rows = [(name, run, t, (1.0 + k + run) * t) for k, name in enumerate(names) for run in (0, 1) for t in (1, 10)]
    ax = analysis.plot_regret(pd.DataFrame(rows, columns=["policy", "repetition", "t", "regret_average"]), start=1)
    assert legend(ax) == ["savage (knows T)", *names[-2::-1]] and not ax.collections and ax.figure.get_figheight() > 6
    assert ax.get_lines()[-1].get_xdata().tolist() == [10] and len(ax.get_lines()[0].get_xdata()) == 2
    assert ax.get_legend().get_title().get_text() == "mean of 2 runs"


def test_regret_can_be_drawn_against_the_outcomes_that_were_received(results):
    last = results.to_frame().query("t == 2000").groupby("policy")["outcomes"].mean()
    lines = analysis.plot_regret(results, x="outcomes").get_lines()  # no lower bound, which is a function of steps
    assert [line.get_xdata()[-1] for line in lines] == [last["rucb"], last["mdb"]]
    with pytest.raises(InputError, match="these results do not contain the number of outcomes"):
        analysis.plot_regret(results.to_frame().assign(outcomes=np.nan), x="outcomes")


@pytest.mark.parametrize(("error", "known"), [(0.001, True), (0.2, False)])
def test_a_matrix_has_a_bound_if_its_winner_is_known(error, known):
    matrix = PreferenceMatrix(bradley_terry(5).p, standard_error=error * ~np.eye(5, dtype=bool))
    assert (analysis.drawn_bound(matrix) > 0) == known
    drawn = [plot(simulate(matrix, "rucb", horizon=100)) for plot in (analysis.plot_regret, analysis.plot_accuracy)]
    assert ["winner\xa0undecided" in ax.get_xlabel() for ax in drawn] == [not known] * 2


def test_without_a_winner_copeland_regret_is_drawn_and_no_bound():
    ax = analysis.plot_regret(simulate(ROCK_PAPER_SCISSORS, "rucb", horizon=500, repetitions=2))
    assert ax.get_ylabel() == "cumulative Copeland regret" and ax.get_title(loc="left") == NOBODY
    assert BOUND not in legend(ax)


def test_a_second_study_on_given_axes_adds_its_lines_and_no_second_remark(results):
    left, right = Figure().subplots(1, 2)
    assert analysis.plot_regret(results, left) is left and analysis.plot_preferences(results.matrix, right) is right
    analysis.plot_regret(simulate(coins(bradley_terry(5)), "rmed1", horizon=2000, repetitions=3), left)
    assert sorted(legend(left)) == sorted(["rucb", "mdb", "rmed1"])
    assert left.get_xlabel().count("independent coins") == 1


def test_regret_against_arms_is_the_mean_for_each_size_and_sizes_are_written_where_there_is_room():
    frame = pd.concat(runs(rankers=[100, 101, 136] * 2, regret_average=[1.0 + k, 3, 9, 4, 6, 7]) for k in (0, 2))
    rucb = analysis.plot_against_arms(frame, spread="none").get_lines()[0]
    assert rucb.get_xdata().tolist() == [100, 101, 136] and rucb.get_ydata().tolist() == [2, 3, 9]
    assert [text.get_text() for text in rucb.axes.get_xticklabels()] == ["100", "136"]


def test_identification_shows_the_median_and_counts_the_runs_that_never_do():
    ax = analysis.plot_identification(runs(identified_at=[10.0, 100.0, 1000.0, 50.0, np.inf, np.inf]))
    assert ax.get_lines()[1].get_xdata()[0] == 100 and [text.get_text() for text in ax.texts] == ["2 of 3 never"]


def test_sensitivity_is_the_mean_over_pairs_with_two_standard_errors():
    frame = pd.concat(
        pd.DataFrame({"method": m, "better": b, "worse": "w", "impressions": [1, 10], "accuracy": [0.5, a]})
        for m, b, a in (("balanced", "a", 0.7), ("balanced", "b", 0.7), ("sosm", "a", 0.8), ("sosm", "b", 1.0))
    )
    ax = analysis.plot_sensitivity(frame, accuracy=0.9, labels={"sosm": "ours"})
    assert [line.get_ydata()[-1] for line in ax.get_lines()] == [pytest.approx(y) for y in (0.7, 0.9, 0.9)]
    error = 0.1 * 2**0.5 / 2**0.5  # standard deviation of .8 and 1, divided by the root of two pairs
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert sorted({*band.tolist()}) == pytest.approx([0.5, 0.9 - 2 * error, 1.0])  # no share is above 1
    assert legend(ax) == ["balanced", "ours"]


def test_the_heat_map_is_in_copeland_order_and_hides_what_is_not_known():
    error = np.full((4, 4), 0.001)
    error[0, 1] = error[1, 0] = 1.0
    ax = analysis.plot_preferences(PreferenceMatrix(bradley_terry(4).p[::-1, ::-1], ("d", "c", "b", "a"), error))
    drawn = ax.get_images()[0].get_array()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["★ a", "b", "c", "d"]
    assert drawn.mask[2, 3] and drawn.mask[3, 2] and drawn[0, 3] == pytest.approx(bradley_terry(4).p[0, 3])


def test_lines_bands_and_names_take_the_chosen_colours_labels_and_order():
    results = simulate(bradley_terry(5), ["rucb", "double_thompson", "random"], horizon=300, repetitions=3)
    choices = {"colors": {"rucb": "#ff0000"}, "labels": {"rucb": "ours"}, "order": ["random", "rucb"]}
    ax = analysis.plot_regret(results, bound=False, **choices)
    assert legend(ax) == [line.get_label() for line in ax.get_lines()] == ["random", "ours", "double_thompson"]
    assert ax.get_lines()[1].get_color() == "#ff0000"
    assert ax.collections[1].get_facecolor()[0][:3].tolist() == [1, 0, 0]
    assert legend(analysis.plot_accuracy(results, **choices)) == legend(ax)
    names = analysis.plot_identification(results, **choices).get_yticklabels()
    assert [name.get_text() for name in names] == legend(ax)


@pytest.mark.parametrize(
    ("choices", "sentence"),
    [
        ({"colors": {"rubc": "red"}}, "no line in the figure called 'rubc'; did you mean 'rucb'"),
        ({"colors": {"rucb": "reddish"}}, "the colour of 'rucb' must be"),
        ({"colors": ["red"]}, r"colors must be a dictionary, such as \{'rucb': 'red'\}, not a list"),
        ({"colours": {}}, "no choice 'colours'; did you mean 'colors'"),
        ({"spread": "quantile"}, "no spread 'quantile'; did you mean 'quantiles'"),
        ({"x": "outcome"}, "no abscissa 'outcome'; did you mean 'outcomes'"),
    ],
)
def test_a_choice_that_cannot_be_drawn_is_refused(results, choices, sentence):
    with pytest.raises(InputError, match=sentence):
        analysis.plot_regret(results, **choices)


@pytest.mark.parametrize("suffix", [".png", ".pdf", ".svg"])
def test_the_same_figure_gives_the_same_bytes(tmp_path, results, suffix):
    drawn = [analysis.save_figure(analysis.plot_regret(results), tmp_path / f"{name}{suffix}") for name in "ab"]
    assert drawn[0].read_bytes() == drawn[1].read_bytes() and drawn[0].stat().st_size > 1000
    with pytest.raises(InputError, match=r"\.png, \.pdf or \.svg"):
        analysis.save_figure(analysis.plot_regret(results), tmp_path / "a.bmp")
    assert b"/Type3" not in drawn[0].read_bytes()  # journals refuse this kind of font


LONG = ["multi_self_sparring:size=10", "winner_stays_strong", "double_thompson", "self_sparring", "rucb", "savage"]


def overlapping(figure):
    """Return the texts and axes that overlap each other or are cut; titles, ticks and labels belong to their axes."""
    figure.draw_without_rendering()
    boxes = [ax.get_tightbbox() for ax in figure.axes] + [legend.get_window_extent() for legend in figure.legends]
    right, top = figure.bbox.x1 + 1, figure.bbox.y1 + 1
    cut = [box for box in boxes if min(box.x0, box.y0) < -1 or box.x1 > right or box.y1 > top]
    return cut + [(one, two) for k, one in enumerate(boxes) for two in boxes[:k] if one.overlaps(two)]


@pytest.mark.parametrize(("width", "inches"), [("column", 3.3), ("text", 7.0)])
def test_nothing_is_cut_or_overlaps_in_a_figure_for_a_paper(width, inches):
    coins_and_error = {"answers": "independent_coins", "slates": "sosm", "reference_error": 123.0, "lower_bound": 3.0}
    rows = [(p, k, t, (k + 1.0) * t) for k, p in enumerate(LONG) for t in (1, 10, 100, 1000) for run in range(2)]
    frame = pd.DataFrame(rows, columns=["policy", "repetition", "t", "regret_average"])
    frame = frame.assign(problem="MSLR-WEB10K-Fold1", horizon=1000, correct=1.0, rankers=5, **coins_and_error)
    ends = frame.assign(identified_at=np.inf)
    panels = [frame.assign(problem=f"NP2004/Fold{k} navigational", regret_copeland=frame["t"]) for k in range(3)]
    panels[1]["regret_average"] = np.nan
    figures = [
        analysis.plot_regret(frame, title="MSLR-WEB10K-Fold1 navigational, horizon 1,000", width=width).figure,
        analysis.plot_accuracy(frame, width=width).figure,
        analysis.plot_identification(ends, width=width).figure,
        analysis.plot_against_arms(frame, width=width).figure,
        analysis.plot_facets(pd.concat(panels), width=width),
    ]
    assert [overlapping(figure) for figure in figures] == [[]] * 5
    assert [figure.get_figwidth() for figure in figures] == [inches] * 5
    for ax in (*figures[0].axes, *figures[4].axes[::2]):
        assert "error of the reference matrix: up to ± 123" in " ".join(ax.get_xlabel().split())
    assert min(ax.get_window_extent().height for ax in figures[4].axes) > 1.19 * figures[4].dpi


def test_a_legend_on_the_axes_of_a_small_figure_is_within_them():
    figure = Figure(figsize=(3.4, 2.4))
    ax = analysis.plot_regret(runs(regret_average=[1.0, 2, 3] * 2), figure.subplots())
    figure.draw_without_rendering()
    box, axes = ax.get_legend().get_window_extent(), ax.get_window_extent()
    assert axes.x0 <= box.x0 and box.x1 <= axes.x1


def test_the_shares_of_few_runs_are_dots_and_say_what_one_run_counts():
    frame = pd.concat(runs(correct=[1.0, 0.0, 0.0] * 2).assign(t=t) for t in range(100, 1000, 10))
    few, many = (
        analysis.plot_accuracy(pd.concat(frame.assign(repetition=lambda f, k=k: f["repetition"] + k) for k in range(n)))
        for n in (1, 7)
    )
    assert "one run is 33%" in few.get_legend().get_title().get_text()
    assert [ax.get_lines()[0].get_linestyle() for ax in (few, many)] == ["None", "-"]
    assert len(few.get_lines()[0].get_xdata()) == 3 and len(many.get_lines()[0].get_xdata()) == 90


def test_a_heat_map_names_its_origin_and_the_rankers_of_its_headline():
    about = {"corpus": "MQ2008", "clicks": "navigational", "method": "sosm"}
    matrix = PreferenceMatrix(bradley_terry(136).p, [f"ranker {k}" for k in range(136)], provenance=about)
    title = analysis.plot_preferences(matrix).get_title(loc="left")
    assert title == "★ Condorcet winner: ranker 0; strongest rival: ranker 1\nMQ2008, navigational clicks, method sosm"
    unsure = PreferenceMatrix(bradley_terry(4).p, standard_error=0.2 * ~np.eye(4, dtype=bool))
    assert analysis.plot_preferences(unsure).get_title(loc="left").startswith("★ Undecided, ahead: 0; ")
