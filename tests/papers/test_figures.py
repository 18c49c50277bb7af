"""Drawings: the lines are the table's means, and every panel names the source of its numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ltr_duel.analysis import save_figure
from ltr_duel.core import InputError
from ltr_duel.papers.figures import DRAWINGS, draw_figure
from tests.papers.tables import about, runs

TWO = pd.concat(
    [
        runs(policy, level * np.ones(4), problem=problem, source=source, lower_bound=8.0)
        for problem, source in (("K=5", "published matrix"), ("big", "excerpt"))
        for policy, level in (("rucb", 100), ("mdb", 20))
    ]
)
GROWING = pd.concat([runs("rucb", 2 * k * np.ones(3), problem=f"{k}", rankers=k) for k in (5, 10, 40)])
GAMMAS = pd.concat([runs(f"beat_the_mean:gamma={g}", [g, g], problem=f"{g}", gamma=g) for g in (1.0, 1.5, 2.0)])
SHARES = pd.DataFrame(
    {"item": ["order"] * 3 + ["winner"] * 3, "rankers": [1, 2, 3] * 2, "value": [1, 0.5, 0.1, 1, 1, 0.9]}
).assign(low=0.0, high=1.0, source="published matrix")
TABLES = {"regret": TWO, "regret_and_accuracy": TWO, "size": GROWING, "gamma": GAMMAS, "curves": SHARES}


def draw(name, frame=None, **options):
    facts = about(note="36 queries", drawing=name, options=options)
    return draw_figure(TABLES[name] if frame is None else frame, facts)


def words(figure) -> str:
    """Return all text of a figure on one line."""
    written = [figure._suptitle.get_text(), *(legend.get_title().get_text() for legend in figure.legends)]
    for axes in figure.axes:
        written += [axes.get_title(loc="left"), *(text.get_text() for text in axes.texts)]
    return " ".join(written).replace("\n", " ")


def test_every_drawing_has_a_table():
    assert set(TABLES) == set(DRAWINGS)


@pytest.mark.parametrize("name", TABLES)
def test_a_drawing_names_paper_source_and_scale_and_is_the_same_bytes_each_time(name, tmp_path):
    one, two = (save_figure(draw(name), tmp_path / f"{k}.svg").read_bytes() for k in "ab")
    assert one == two
    text = words(draw(name))
    source = TABLES[name]["source"].iloc[0]
    assert "RUCB (Zoghi et al. 2014), Figure 4: Regret" in text and "quick scale" in text and "36 queries" in text
    assert source in text


def test_the_lines_are_the_means_and_each_panel_names_its_own_source():
    first, second = draw("regret").axes
    (line,) = (line for line in first.get_lines() if line.get_label() == "rucb")
    assert line.get_ydata()[-1] == pytest.approx(100)
    assert "published matrix" in first.texts[0].get_text() and "excerpt" in second.texts[0].get_text()
    assert first.get_ylim() == second.get_ylim(), "panels side by side have one scale"


def test_random_subsets_of_a_problem_share_a_panel():
    parts = [runs("rucb", [level] * 2, problem=f"NP K=5 #{n}") for n, level in ((1, 10), (2, 30))]
    figure = draw("regret", pd.concat(parts))
    (axes,) = figure.axes
    assert axes.get_lines()[0].get_ydata()[-1] == pytest.approx(20) and "2 random subsets" in words(figure)
    assert "mean of 4 runs" in words(figure)


def test_regret_against_size_has_a_point_for_each_size():
    (axes,) = draw("size").axes
    assert axes.get_lines()[0].get_xydata().tolist() == [[5, 10], [10, 20], [40, 80]]


def test_the_points_of_a_policy_whose_gamma_changes_are_one_line():
    (axes,) = draw("gamma").axes
    assert axes.get_lines()[0].get_xydata().tolist() == [[1, 1], [1.5, 1.5], [2, 2]]


def test_without_a_winner_copeland_regret_is_drawn_and_named():
    figure = draw("regret", TWO.assign(regret_copeland=TWO["regret_average"] / 2, regret_average=np.nan))
    assert "Copeland regret (no ranker is shown to beat all others)" in words(figure)
    assert figure.axes[0].get_lines()[0].get_ydata()[-1] == pytest.approx(50)


def test_an_unknown_drawing_is_named():
    with pytest.raises(InputError, match="no drawing 'regrets'; did you mean 'regret'"):
        draw("regrets", TWO)
