"""One figure of a study: a panel for each problem and regret, one legend, and one colour per policy in all panels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ltr_duel.analysis import plot_facets, plot_regret
from ltr_duel.core import InputError


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


def ordinates(figure):
    return [ax.get_ylabel() for ax in figure.axes]


def test_each_problem_has_a_panel_and_the_figure_one_legend():
    figure = plot_facets(study(), start=1, labels={"mdb": "ours"}, order=["self_sparring"])
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert titles(figure) == ["one", "two"]
    assert names == ["self_sparring", "ours", "lower bound (asymptotic, pairs)"]
    assert legend.get_title().get_text() == "mean of 2 runs, band: 10th to 90th percentile"
    assert plot_facets(study(), start=10).axes[0].get_lines()[0].get_xdata().tolist() == [10, 100, 1000]


def test_several_regrets_have_a_row_for_each_problem_and_one_without_data_a_note():
    figure = plot_facets(study(), ["regret_average", "regret_ndcg"])
    assert titles(figure) == ["one, average regret", "one, NDCG regret", "two, average regret", "two, NDCG regret"]
    assert [text.get_text() for text in figure.axes[3].texts] == ["no NDCG regret"]
    assert not figure.axes[3].get_lines()


@pytest.mark.parametrize(
    ("problems", "regrets", "expected"),
    [
        ("abcd", ["regret_average"], ["cumulative average regret", "", "", "cumulative average regret"]),
        (["one"], ["regret_average", "regret_ndcg"], ["cumulative average regret", "cumulative NDCG regret"]),
        (["two", "one"], ["regret_ndcg"], ["cumulative NDCG regret", ""]),  # there is no NDCG regret on "two"
    ],
)
def test_a_panel_has_an_ordinate_unless_it_is_that_of_the_panel_to_the_left(problems, regrets, expected):
    assert ordinates(plot_facets(study(problems), regrets)) == expected


def test_without_a_condorcet_winner_a_panel_shows_copeland_regret_and_says_so():
    frame = study(regret_copeland=study()["t"] / 2)
    frame.loc[frame["problem"] == "one", "regret_average"] = np.nan
    figure = plot_facets(frame, start=1)
    assert titles(figure) == ["one, Copeland regret (no Condorcet winner)", "two"]
    assert figure.axes[0].get_lines()[0].get_ydata().tolist() == [0.5, 5, 50, 500]
    both = plot_facets(frame, ["regret_average", "regret_copeland"])  # the second regret has a separate panel
    assert [text.get_text() for text in both.axes[0].texts] == ["no average regret"]


@pytest.mark.parametrize(("constant", "within"), [(30.0, True), (3.0, False)])
def test_the_bound_is_drawn_and_named_where_it_is_within_a_panel(constant, within):
    figure = plot_facets(study(lower_bound=constant), start=100)
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert ("lower bound (asymptotic, pairs)" in named) == within == (len(figure.axes[0].get_lines()) == 3)


def test_a_long_title_stays_within_the_figure():
    figure = plot_facets(study(["MSLR-WEB10K-Fold1 informational team draft"]), ["regret_average"] * 2)
    figure.draw_without_rendering()
    assert all(ax._left_title.get_window_extent().x1 <= figure.bbox.width for ax in figure.axes)


def test_a_regret_that_does_not_exist_is_named():
    with pytest.raises(InputError, match="no column 'regret_borda'"):
        plot_facets(study(), ["regret_borda"])


def test_a_policy_keeps_its_colour_in_all_figures_of_a_study():
    frame, among = study(["one"]), ["mdb", "self_sparring", "rucb"]
    drawn = [plot_regret(rows, among=among, bound=False) for rows in (frame, frame[frame["policy"] != "mdb"])]
    both, alone = ({line.get_label(): line.get_color() for line in ax.get_lines()} for ax in drawn)
    assert both["self_sparring"] == alone["self_sparring"] != both["mdb"]
