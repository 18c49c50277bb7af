"""One figure of a study: a panel for each problem and regret, one legend, and one colour per policy in all panels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ltr_duel.analysis import plot_facets, plot_regret


def study(problems=("one", "two"), policies=("mdb", "self_sparring"), **columns):
    rows = [
        {"problem": problem, "policy": policy, "horizon": 1000, "repetition": run, "t": t}
        | {"regret_average": (k + 1.0) * t, "regret_ndcg": float(t) if problem == "one" else np.nan}
        for problem in problems
        for k, policy in enumerate(policies)
        for run in range(2)
        for t in (1, 10, 100, 1000)
    ]
    return pd.DataFrame(rows).assign(**{"lower_bound": 3.0, **columns})


def titles(figure):
    return [ax.get_title(loc="left").replace("\n", " ") for ax in figure.axes]


def test_each_problem_has_a_panel_and_the_figure_one_legend():
    figure = plot_facets(study(), start=10, labels={"mdb": "ours"}, order=["self_sparring"])
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert titles(figure) == ["one", "two"] and names == ["self_sparring", "ours", "lower bound (asymptotic, pairs)"]
    assert legend.get_title().get_text() == "mean of 2 runs, band: 10th to 90th percentile"
    assert figure.axes[0].get_lines()[0].get_xdata().tolist() == [10, 100, 1000]


@pytest.mark.parametrize(
    ("problems", "regrets", "ordinates"),
    [
        ("abcd", ["regret_average"], ["cumulative\naverage regret", "", "cumulative\naverage regret", ""]),
        (["one"], ["regret_average", "regret_ndcg"], ["cumulative\naverage regret", "cumulative\nNDCG regret"]),
        (["two", "one"], ["regret_ndcg"], ["cumulative\nNDCG regret", ""]),  # there is no NDCG regret on "two"
    ],
)
def test_a_panel_has_an_ordinate_unless_it_is_that_of_the_panel_to_the_left(problems, regrets, ordinates):
    assert [ax.get_ylabel() for ax in plot_facets(study(problems), regrets).axes] == ordinates


def test_without_a_condorcet_winner_a_panel_shows_copeland_regret_unless_that_has_a_panel():
    frame = study(regret_copeland=study()["t"] / 2)
    frame.loc[frame["problem"] == "one", "regret_average"] = np.nan
    figure = plot_facets(frame, start=1)
    assert titles(figure) == ["one (no ranker is shown to beat all others)", "two"]
    assert figure.axes[0].get_lines()[0].get_ydata().tolist() == [0.5, 5, 50, 500]
    both = plot_facets(frame, ["regret_average", "regret_copeland"])
    assert titles(both)[:2] == ["one", "one"] and not both.axes[0].get_lines()
    assert [text.get_text() for text in both.axes[0].texts] == ["no average regret"]


@pytest.mark.parametrize(("constant", "within"), [(20.0, True), (3.0, False)])
def test_the_bound_is_drawn_and_named_where_it_is_within_a_panel(constant, within):
    figure = plot_facets(study(lower_bound=constant), start=100)
    assert [len(figure.legends[0].get_texts()), len(figure.axes[0].get_lines())] == [2 + within] * 2


def test_a_policy_keeps_its_colour_in_all_figures_of_a_study():
    frame, among = study(["one"]), ["mdb", "self_sparring", "rucb"]
    drawn = [plot_regret(rows, among=among, bound=False) for rows in (frame, frame[frame["policy"] != "mdb"])]
    both, alone = ({line.get_label(): line.get_color() for line in ax.get_lines()} for ax in drawn)
    assert both["self_sparring"] == alone["self_sparring"] != both["mdb"]


def looks(policies):
    """Return dashes with markers, and colours, of the lines of these policies."""
    lines = plot_regret(study(["one"], policies), bound=False).get_lines()
    return [(line._dash_pattern, line.get_marker()) for line in lines], [line.get_color() for line in lines]


def test_forty_lines_differ_without_any_colour_and_eight_in_colour_too():
    without_colour, _ = looks([f"policy {k}" for k in range(40)])
    dashes, colours = looks([f"rucb:alpha=0.{k}" for k in range(1, 9)])
    assert len(set(map(str, without_colour))) == 40 and len(set(map(str, dashes))) == len(set(colours)) == 8
