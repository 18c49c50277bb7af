"""The figure of sensitivity matches the measurements."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ltr_duel.analysis.methods import plot_sensitivity


@pytest.fixture
def sensitivity() -> pd.DataFrame:
    times = np.array([1, 10, 100])
    return pd.concat(
        pd.DataFrame({"method": m, "better": b, "worse": "w", "impressions": times, "accuracy": [0.5, a, 0.9]})
        for m, b, a in (("balanced", "a", 0.7), ("balanced", "b", 0.7), ("sosm", "a", 0.6), ("sosm", "b", 0.8))
    )


def test_curves_take_the_chosen_colours_labels_and_order(sensitivity):
    axes = plot_sensitivity(sensitivity, colors={"sosm": "red"}, labels={"sosm": "ours"}, order=["balanced", "sosm"])
    handles, labels = axes.get_legend_handles_labels()
    assert labels == ["balanced", "ours"] and handles[1].lines[0].get_color() == "#ff0000"


def test_the_curve_is_the_mean_over_pairs_and_the_level_is_drawn(sensitivity):
    axes = plot_sensitivity(sensitivity, title="title", accuracy=0.9)
    curves = {container.get_label(): container for container in axes.containers}
    line, *_ = curves["balanced"]
    assert line.get_ydata() == pytest.approx([0.5, 0.7, 0.9])
    line, _, (bars,) = curves["sosm"]
    assert line.get_ydata() == pytest.approx([0.5, 0.7, 0.9])
    spread = 0.1 * np.sqrt(2) / np.sqrt(2)  # standard deviation of .6 and .8, over the root of two pairs
    (bar,) = bars.get_segments()  # at every second place only, as there are two methods
    assert bar.tolist() == [pytest.approx([10, 0.7 - spread]), pytest.approx([10, 0.7 + spread])]
    assert any(list(line.get_ydata()) == [0.9, 0.9] for line in axes.get_lines())
    assert axes.get_xscale() == "log"
