"""Figures of distortion and sensitivity: plots match the measurements."""

from __future__ import annotations

import io
import itertools

import numpy as np
import pandas as pd
import pytest

from ltr_duel.analysis.methods import plot_distortion, plot_sensitivity
from ltr_duel.analysis.style import method_look
from ltr_duel.interleaving.method import METHODS
from ltr_duel.simulation.distortion import distortion_table


@pytest.fixture
def distortion() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    cells = itertools.product(["sosm", "team_draft"], ["perfect", "informational"], [3, 100], range(5))
    frame = pd.DataFrame(list(cells), columns=["method", "clicks", "rankers", "repetition"])
    return frame.assign(winner="w", percent=100 * rng.random(len(frame)), percent_clear=10 * rng.random(len(frame)))


@pytest.fixture
def sensitivity() -> pd.DataFrame:
    times = np.array([1, 10, 100])
    return pd.concat(
        pd.DataFrame({"method": m, "better": b, "worse": "w", "impressions": times, "accuracy": [0.5, a, 0.9]})
        for m, b, a in (("balanced", "a", 0.7), ("balanced", "b", 0.7), ("sosm", "a", 0.6), ("sosm", "b", 0.8))
    )


def test_marks_and_curves_take_the_chosen_colours_labels_and_order(distortion, sensitivity):
    for plot, frame, other in (
        (plot_distortion, distortion, "team_draft"),
        (plot_sensitivity, sensitivity, "balanced"),
    ):
        axes = plot(frame, colors={"sosm": "red"}, labels={"sosm": "ours"}, order=[other, "sosm"])
        handles, labels = axes.get_legend_handles_labels()
        assert labels == [other, "ours"] and handles[1].lines[0].get_color() == "#ff0000"


def test_marks_are_means_and_bars_two_standard_errors(distortion):
    axes = plot_distortion(distortion, title="title")
    table = distortion_table(distortion)
    assert [container.get_label() for container in axes.containers] == ["sosm", "team_draft"]
    for container in axes.containers:
        mine = table[table["method"] == container.get_label()]
        marks, _, (bars,) = container
        assert np.asarray(marks.get_xdata(), float) == pytest.approx(mine["percent"].to_numpy())
        right = np.array([segment[1, 0] for segment in bars.get_segments()])
        assert right == pytest.approx((mine["percent"] + 2 * mine["standard_error"]).to_numpy())
        assert all(segment[0, 0] >= 0 for segment in bars.get_segments())
    hollow = [line.get_xdata() for line in axes.get_lines() if line.get_markerfacecolor() == "white"]
    assert np.concatenate(hollow) == pytest.approx(table["percent_clear"].to_numpy())
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "perfect\n3 rankers", "perfect\n100 rankers", "informational\n3 rankers", "informational\n100 rankers",
    ]  # fmt: skip


def test_cells_without_a_winner_and_single_repetitions_still_draw(distortion):
    distortion.loc[distortion["rankers"] == 100, ["percent", "percent_clear"]] = np.nan
    assert plot_distortion(distortion).containers
    assert plot_distortion(distortion.query("method == 'sosm' or rankers == 3")).containers, (
        "a cell that was not measured"
    )
    assert plot_distortion(distortion[distortion["repetition"] == 0]).containers


def test_the_curve_is_the_mean_over_pairs_and_the_level_is_drawn(sensitivity):
    axes = plot_sensitivity(sensitivity, title="title", accuracy=0.9)
    curves = {container.get_label(): container for container in axes.containers}
    line, *_ = curves["balanced"]
    assert line.get_ydata() == pytest.approx([0.5, 0.7, 0.9]) and line.get_color() == method_look("balanced").color
    line, _, (bars,) = curves["sosm"]
    assert line.get_ydata() == pytest.approx([0.5, 0.7, 0.9])
    spread = 0.1 * np.sqrt(2) / np.sqrt(2)  # standard deviation of .6 and .8, over the root of two pairs
    (bar,) = bars.get_segments()  # at every second place only, as there are two methods
    assert bar.tolist() == [pytest.approx([10, 0.7 - spread]), pytest.approx([10, 0.7 + spread])]
    assert any(list(line.get_ydata()) == [0.9, 0.9] for line in axes.get_lines())
    assert axes.get_xscale() == "log"


def test_methods_look_different_from_each_other_and_the_same_in_every_figure():
    looks = [method_look(name) for name in METHODS.names()]
    assert len({(look.color, look.marker) for look in looks}) == len(looks)
    assert method_look("sosm:tau=1") == method_look("sosm")


def test_figures_are_the_same_bytes_each_time(distortion, sensitivity):
    def png(axes):
        data = io.BytesIO()
        axes.figure.savefig(data, format="png")
        return data.getvalue()

    assert png(plot_distortion(distortion)) == png(plot_distortion(distortion))
    assert png(plot_sensitivity(sensitivity)) == png(plot_sensitivity(sensitivity))
