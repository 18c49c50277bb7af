"""Figures of whole experiments: plots match the tables, and files have the same bytes each time."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex, to_rgb

from ltr_duel.analysis.facets import plot_facets
from ltr_duel.analysis.identification import plot_accuracy, plot_identification
from ltr_duel.analysis.regret import plot_against_arms, plot_regret
from ltr_duel.analysis.style import save_figure
from ltr_duel.core.errors import InputError
from ltr_duel.preferences.properties.bounds import lower_bound
from ltr_duel.simulation.run import simulate
from tests.conftest import bradley_terry, coins


def final(**columns):
    return pd.DataFrame({"policy": ["rucb"] * 3 + ["mdb"] * 3, "t": 1000, **columns})


def test_accuracy_is_the_share_of_runs_that_are_right():
    frame = pd.DataFrame({"policy": "rucb", "t": [1, 1, 10, 10], "correct": [0.0, 1.0, 1.0, 1.0]})
    (line,) = plot_accuracy(frame).get_lines()
    assert line.get_xdata().tolist() == [1, 10] and line.get_ydata().tolist() == [0.5, 1.0]


def test_identification_shows_the_median_and_counts_those_that_never_do():
    axes = plot_identification(final(identified_at=[10.0, 100.0, 1000.0, 50.0, np.inf, np.inf]))
    assert axes.get_lines()[1].get_xdata()[0] == 100
    assert [text.get_text() for text in axes.texts] == ["2 of 3 never"]


def test_regret_against_arms_is_the_mean_for_each_size():
    frame = final(rankers=[4, 4, 8] * 2, regret_average=[1.0, 3.0, 9.0, 4.0, 6.0, 7.0])
    rucb, mdb = plot_against_arms(frame).get_lines()
    assert rucb.get_xdata().tolist() == [4, 8] and rucb.get_ydata().tolist() == [2, 9]
    assert mdb.get_ydata().tolist() == [5, 7]


def test_numbers_of_arms_are_written_out_where_there_is_room():
    frame = final(rankers=[16, 64, 136] * 2, regret_average=1.0)
    axes = plot_against_arms(frame)
    assert [text.get_text() for text in axes.get_xticklabels()] == ["16", "64", "136"]
    crowded = plot_against_arms(final(rankers=[100, 101, 136] * 2, regret_average=1.0))
    assert [text.get_text() for text in crowded.get_xticklabels()] == ["100", "136"]


def ending_at(values):
    rows = [{"policy": name, "repetition": 0, "t": t, "regret_average": v * t} for name, v in values for t in (1, 10)]
    return pd.DataFrame(rows).assign(lower_bound=lower_bound(bradley_terry(3)))


def test_many_policies_stand_in_a_legend_in_the_order_of_their_ends():
    names = [f"rucb:alpha={k / 100}" for k in range(51, 81)]
    axes = plot_regret(ending_at([(name, 1.0 + k) for k, name in enumerate(names)]))
    named = [text.get_text() for text in axes.get_legend().get_texts() if "rucb" in text.get_text()]
    assert named == names[::-1] and axes.figure.get_figheight() > 6


def test_the_band_is_quantiles_or_two_standard_errors():
    results = simulate(bradley_terry(4), "rucb", horizon=300, repetitions=4)
    last = results.to_frame().query("t == 300")["regret_average"]
    for spread, low in (("quantiles", last.quantile(0.1)), ("standard error", last.mean() - 2 * last.sem())):
        (shade,) = plot_regret(results, spread=spread).collections
        corners = shade.get_paths()[0].vertices
        assert corners[corners[:, 0] == 300][:, 1].min() == pytest.approx(low)
    with pytest.raises(InputError, match="no spread 'quantile'; did you mean 'quantiles'"):
        plot_regret(results, spread="quantile")


@pytest.mark.parametrize("suffix", [".png", ".pdf", ".svg"])
def test_figures_are_written_as_the_same_bytes(tmp_path, suffix):
    results = simulate(coins(bradley_terry(4)), ["rucb", "mdb"], horizon=300, repetitions=2)
    one, two = (save_figure(plot_regret(results), tmp_path / f"{name}{suffix}").read_bytes() for name in "ab")
    assert one == two and len(one) > 1000
    with pytest.raises(InputError, match=r"\.png, \.pdf or \.svg"):
        save_figure(plot_regret(results), tmp_path / "a.bmp")


def test_lines_bands_and_names_take_the_chosen_colours_labels_and_order():
    results = simulate(bradley_terry(5), ["rucb", "double_thompson", "random"], horizon=300, repetitions=3)
    mine = {"colors": {"rucb": "red"}, "labels": {"rucb": "ours"}, "order": ["random", "rucb"]}
    axes = plot_regret(results, bound=False, **mine)
    assert [line.get_label() for line in axes.get_lines()] == ["random", "ours", "double_thompson"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["random", "ours", "double_thompson"]
    assert axes.get_lines()[1].get_color() == to_hex("red")
    assert to_rgb(axes.collections[1].get_facecolor()[0][:3]) == to_rgb("red"), "the band follows"
    frame = results.to_frame().assign(rankers=5, problem="one", horizon=300)
    for drawn in (plot_accuracy(results, **mine), plot_against_arms(frame, **mine)):
        labels = [str(line.get_label()) for line in drawn.get_lines()]
        assert [one for one in labels if one[0] != "_"] == ["random", "ours", "double_thompson"]
    assert [tick.get_text() for tick in plot_identification(results, **mine).get_yticklabels()][:2] == [
        "random",
        "ours",
    ]
    legend = plot_facets(frame, **mine).legends[0]
    assert [text.get_text() for text in legend.get_texts()] == ["random", "ours", "double_thompson"]


@pytest.mark.parametrize("choice", ["colors", "labels", "order"])
def test_a_choice_for_a_line_that_is_not_in_the_figure_is_refused(choice):
    results = simulate(bradley_terry(5), "rucb", horizon=100, repetitions=2)
    with pytest.raises(InputError, match="no line in the figure called 'rubc'; did you mean 'rucb'"):
        plot_regret(results, **{choice: ["rubc"] if choice == "order" else {"rubc": "red"}})
    with pytest.raises(InputError, match="the colour of 'rucb' must be"):
        plot_regret(results, colors={"rucb": "reddish"})


def test_a_list_of_colours_is_refused_with_an_example_of_what_is_wanted():
    results = simulate(bradley_terry(4), "rucb", horizon=100, repetitions=1)
    with pytest.raises(InputError, match=r"colors must be a dictionary of names, such as \{'rucb': 'red'\}, not a "):
        plot_regret(results, colors=["red"])
