"""One figure of a study: a panel for each problem and regret, one legend, and one colour per policy in all panels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ltr_duel.analysis.facets import plot_facets
from ltr_duel.analysis.regret import plot_regret
from ltr_duel.analysis.style import line_styles
from ltr_duel.core.errors import InputError


def study(policies=("mdb", "self_sparring", "savage"), problems=("one", "two"), steps=(1, 10, 100, 1000)):
    rows = [
        {"problem": problem, "policy": policy, "horizon": steps[-1], "repetition": run, "t": t}
        | {"regret_average": (place + 1.0) * t, "regret_ndcg": float(t) if problem == "one" else np.nan}
        for problem in problems
        for place, policy in enumerate(policies)
        for run in range(2)
        for t in steps
    ]
    return pd.DataFrame(rows).assign(lower_bound=3.0)


def test_each_problem_has_a_panel_and_the_figure_one_legend():
    figure = plot_facets(study(), start=1)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["one", "two"]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "mdb", "self_sparring", "savage (knows T)", "lower bound (asymptotic, pairs)",
    ]  # fmt: skip
    assert legend.get_title().get_text() == "mean of 2 runs, band: 10th to 90th percentile"


def test_two_regrets_stand_side_by_side_and_one_that_is_missing_says_so():
    axes = plot_facets(study(), ["regret_average", "regret_ndcg"]).axes
    assert [ax.get_title(loc="left") for ax in axes] == [
        "one, average regret", "one, NDCG regret", "two, average regret", "two, NDCG regret",
    ]  # fmt: skip
    assert [text.get_text() for text in axes[3].texts] == ["no NDCG regret"] and not axes[3].get_lines()


def ordinates(figure):
    return [ax.get_ylabel() for ax in figure.axes]


def test_the_first_panel_of_each_row_names_the_ordinate_and_others_where_theirs_differs():
    four = study(problems=["one", "two", "three", "four"])
    assert ordinates(plot_facets(four)) == ["cumulative average regret", "", "", "cumulative average regret"]
    both = plot_facets(study(), ["regret_average", "regret_ndcg"])
    assert ordinates(both) == ["cumulative average regret", "cumulative NDCG regret"] * 2
    empty = study(problems=["two", "one"])  # there is no NDCG regret on "two"
    assert ordinates(plot_facets(empty, ["regret_ndcg"])) == ["cumulative NDCG regret", ""]


def test_without_a_condorcet_winner_a_panel_shows_copeland_regret_and_says_so():
    frame = study().assign(regret_copeland=lambda table: table["t"] / 2)
    frame.loc[frame["problem"] == "one", "regret_average"] = np.nan
    figure = plot_facets(frame, start=1)
    titles = [ax.get_title(loc="left").replace("\n", " ") for ax in figure.axes]
    assert titles == ["one, Copeland regret (no Condorcet winner)", "two"]
    assert ordinates(figure) == ["cumulative Copeland regret", "cumulative average regret"]
    assert figure.axes[0].get_lines()[0].get_ydata().tolist() == [0.5, 5, 50, 500]
    named = plot_facets(frame, ["regret_average", "regret_copeland"])  # the second regret has a separate panel
    assert [text.get_text() for text in named.axes[0].texts] == ["no average regret"]


@pytest.mark.parametrize("bound, seen", [(30.0, True), (3.0, False)])
def test_the_legend_names_the_bound_where_a_panel_shows_it(bound, seen):
    (legend,) = plot_facets(study().assign(lower_bound=bound), start=100).legends
    assert ("lower bound (asymptotic, pairs)" in [text.get_text() for text in legend.get_texts()]) == seen


def test_a_long_title_stays_within_the_figure():
    figure = plot_facets(study(problems=["MSLR-WEB10K-Fold1 informational team draft"] * 2), ["regret_average"] * 2)
    width = figure.bbox.width
    figure.draw_without_rendering()
    assert all(ax._left_title.get_window_extent().x1 <= width for ax in figure.axes)


def test_a_regret_that_does_not_exist_is_named():
    with pytest.raises(InputError, match="no column 'regret_borda'"):
        plot_facets(study(), ["regret_borda"])


def test_the_first_step_can_be_chosen():
    line = plot_facets(study(), start=10).axes[0].get_lines()[0]
    assert line.get_xdata().tolist() == [10, 100, 1000]


def test_a_policy_that_knows_its_horizon_is_a_point_and_the_bound_a_decade():
    axes = plot_regret(study(problems=["one"]), start=1)
    lines = {str(line.get_label()): np.asarray(line.get_xdata()) for line in axes.get_lines()}
    assert lines["savage (knows T)"].tolist() == [1000] and len(lines["mdb"]) == 4
    assert lines["lower bound (asymptotic, pairs)"].min() == pytest.approx(100)


def test_a_table_without_horizons_has_the_last_step_as_horizon():
    axes = plot_regret(study(problems=["one"]).drop(columns="horizon"))
    assert axes.get_lines()[2].get_xdata().tolist() == [1000]


def test_a_policy_keeps_its_colour_in_all_figures_of_a_study():
    among = ["mdb", "self_sparring", "rucb", "double_thompson"]
    frame = study(policies=["double_thompson", "self_sparring"], problems=["one"])
    drawn = [plot_regret(rows, among=among, bound=False) for rows in (frame, frame[frame["policy"] == "self_sparring"])]
    colours = [{line.get_label(): line.get_color() for line in ax.get_lines()} for ax in drawn]
    assert colours[1].items() <= colours[0].items()
    assert colours[0] == {name: line_styles(among)[name].color for name in frame["policy"].unique()}
