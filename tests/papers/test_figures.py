"""Drawings: the lines are the table's means, and every panel names the source of its numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ltr_duel.analysis.regret import BOUND
from ltr_duel.analysis.style import save_figure
from ltr_duel.core.errors import InputError
from ltr_duel.papers.figures import DRAWINGS
from ltr_duel.papers.standings import standings
from tests.papers.synthetic_tables import about, runs

RUCB = "rucb:alpha=0.51"


def texts(figure) -> str:
    """Return all text of a figure."""
    parts = [figure._suptitle, figure._supxlabel, *(legend.get_title() for legend in figure.legends)]
    written = [part.get_text() for part in parts if part is not None]
    for axes in figure.axes:
        written += [axes.get_title(loc="left"), *(text.get_text() for text in axes.texts)]
    return "\n".join(written)


def line(axes, label):
    return next(one for one in axes.get_lines() if one.get_label() in (label, f"{label} (knows T)"))


def table() -> pd.DataFrame:
    cells = [("MSLR", clicks, size, size / 7, size / 8) for clicks in ("perfect", "noisy") for size in (3, 10)]
    columns = ["data", "clicks", "rankers", "value", "printed"]
    return pd.DataFrame(cells, columns=columns).assign(standard_error=0.25, source="surrogate")


SAMPLES = {
    "regret": (runs(lower_bound=8.0), {}),
    "regret_and_accuracy": (runs(separate=("savage",)), {}),
    "size": (runs([(f"made K={k}", k) for k in (5, 50, 500)]).assign(study=1), {}),
    "gamma": (pd.concat([runs([(f"g{g}", 50)], gamma=g, source="surrogate") for g in (1.0, 1.5)]), {}),
    "curves": (table(), {"line": "clicks"}),
    "table": (table(), {"rows": ["data"], "columns": ["clicks", "rankers"]}),
    "frontier": (runs(), {}),
}


def test_every_drawing_has_a_sample():
    assert set(SAMPLES) == set(DRAWINGS)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_drawing_says_its_source_and_scale_and_is_the_same_bytes_each_time(name, tmp_path):
    frame, options = SAMPLES[name]
    for suffix in ("png", "svg"):
        one, two = (
            save_figure(DRAWINGS[name](frame, about(), **options), tmp_path / f"{k}.{suffix}").read_bytes()
            for k in "ab"
        )
        assert one == two
        assert b"Software" not in one and b"dc:date" not in one
    written = texts(DRAWINGS[name](frame, about(), **options)).replace("\n", " ")
    if name == "frontier":
        figure = DRAWINGS[name](frame, about())
        written += "".join(label.get_text() for label in figure.axes[0].get_yticklabels())
    assert "surrogate" in written and "quick scale" in written and "a synthetic corpus in place of NP2004" in written
    assert "RUCB (Zoghi et al. 2014), Figure 4" in written


def test_each_panel_names_its_own_source():
    first, second = DRAWINGS["regret"](runs(), about()).axes
    assert "published matrix" in first.texts[0].get_text() and "surrogate" not in first.texts[0].get_text()
    assert "surrogate" in second.texts[0].get_text()


def test_without_the_column_the_source_is_what_is_said_of_the_problem():
    frame = runs().drop(columns="source")
    said = [{"problem": "sixteen", "source": "real data"}, {"problem": "sixty-four", "source": "surrogate"}]
    first, second = DRAWINGS["regret"](frame, about(sources=said)).axes
    assert "real data" in first.texts[0].get_text() and "surrogate" in second.texts[0].get_text()


def test_a_line_is_the_mean_over_the_runs_and_a_policy_told_the_horizon_has_one_marker_for_each():
    frame = runs(separate=("savage",))
    axes = DRAWINGS["regret"](frame, about(), start=1000).axes[0]
    mine = frame[(frame["problem"] == "sixteen") & (frame["t"] >= 1000)]
    mean = mine[mine["policy"] == RUCB].groupby("t")["regret_average"].mean()
    drawn = line(axes, RUCB)
    assert list(drawn.get_xdata()) == list(mean.index) and drawn.get_ydata() == pytest.approx(mean.to_numpy())
    ends = mine[(mine["policy"] == "savage") & (mine["t"] == mine["horizon"])].groupby("horizon")["regret_average"]
    drawn = line(axes, "savage")
    assert list(drawn.get_xdata()) == [1000, 10_000, 100_000]
    assert drawn.get_ydata() == pytest.approx(ends.mean().to_numpy())


def test_a_band_reaches_from_the_best_to_the_worst_run():
    frame = runs(policies=(RUCB,))
    (band,) = DRAWINGS["regret"](frame, about(), spread="range", start=1).axes[0].collections
    by_time = frame[frame["problem"] == "sixteen"].groupby("t")["regret_average"]
    corners = band.get_paths()[0].vertices
    last = corners[corners[:, 0] == corners[:, 0].max()][:, 1]
    assert (last.min(), last.max()) == pytest.approx((by_time.min().iloc[-1], by_time.max().iloc[-1]))


def test_the_bound_is_drawn_where_the_table_carries_it():
    axes = DRAWINGS["regret"](runs(lower_bound=8.0), about()).axes[0]
    bound = line(axes, BOUND)
    assert bound.get_ydata() == pytest.approx(8 * np.log(bound.get_xdata()))
    labels = [one.get_label() for one in DRAWINGS["regret"](runs(), about()).axes[0].get_lines()]
    assert BOUND not in labels


@pytest.mark.parametrize("problems, columns, shape", [(15, 3, (5, 3)), (3, None, (1, 3)), (4, None, (2, 2))])
def test_panels_stand_as_in_the_papers(problems, columns, shape):
    frame = runs([(f"problem {k}", 6) for k in range(problems)], policies=(RUCB,), runs=2)
    figure = DRAWINGS["regret"](frame, about(), columns=columns)
    places = [axes.get_subplotspec() for axes in figure.axes]
    assert len(places) == problems
    assert (1 + max(one.rowspan.stop - 1 for one in places), 1 + max(one.colspan.stop - 1 for one in places)) == shape


def test_regret_stands_above_accuracy():
    figure = DRAWINGS["regret_and_accuracy"](runs([(f"{k}", k) for k in (16, 32, 64)]), about())
    assert len(figure.axes) == 6
    assert figure.axes[0].get_yscale() == "log" and figure.axes[3].get_yscale() == "linear"
    share = line(figure.axes[3], RUCB).get_ydata()
    assert share.min() >= 0 and share.max() == 1


@pytest.mark.parametrize("drawing", ["regret", "regret_and_accuracy", "size"])
def test_without_a_winner_a_panel_shows_copeland_regret_and_names_it(drawing):
    frame = runs()
    frame["regret_copeland"] = 2 * frame["regret_average"]
    undecided = frame["problem"] == "sixteen"
    frame.loc[undecided, "regret_average"] = np.nan
    axes = DRAWINGS[drawing](frame, about()).axes
    named = [any("Copeland regret (no Condorcet winner)" in text.get_text() for text in ax.texts) for ax in axes[:2]]
    assert named == [True, False], "the first panel alone has no winner"
    assert line(axes[0], RUCB).get_ydata().size, "the panel is not blank"
    assert axes[0].get_ylabel().startswith("cumulative Copeland regret")


def test_where_there_is_no_winner_accuracy_says_so():
    figure = DRAWINGS["regret_and_accuracy"](runs(correct=np.nan), about())
    assert "no Condorcet winner" in texts(figure)


def test_size_takes_the_end_of_the_longest_runs():
    frame = runs([(f"made K={k}", k) for k in (5, 50)], separate=("savage",)).assign(study=1)
    axes = DRAWINGS["size"](frame, about()).axes[0]
    for policy in (RUCB, "savage"):
        ends = frame[(frame["policy"] == policy) & (frame["t"] == 100_000) & (frame["horizon"] == 100_000)]
        expected = ends.groupby("rankers")["regret_average"].mean()
        assert line(axes, policy).get_ydata() == pytest.approx(expected.to_numpy())
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["5", "50"]


def test_names_are_not_formulas(tmp_path):
    frame = runs([("a $x^$ b", 4)], policies=("rucb", "their_own:x=$1$"))
    for name in ("regret", "frontier", "size"):
        save_figure(
            DRAWINGS[name](frame, about(), **({"titles": ["$_$"]} if name == "size" else {})), tmp_path / "a.png"
        )


def test_measured_stands_beside_printed():
    figure = DRAWINGS["table"](table(), about(), rows=["data"], columns=["clicks", "rankers"])
    assert "0.429 ± 0.25 (0.375)" in texts(figure) and "in brackets: as printed" in texts(figure)


def test_the_frontier_divides_by_the_best_of_each_problem():
    frame = runs(lower_bound=8.0)
    ranked = standings(frame)
    figure = DRAWINGS["frontier"](frame, about())
    cells = [text.get_text() for text in figure.axes[0].texts]
    assert sorted(cells) == sorted(f"{one:.2f}" if one < 9.95 else f"{one:,.0f}" for one in ranked["to_best"])
    kinds = ranked.groupby(["problem", "compares"]).ngroups
    assert cells.count("1.00") == kinds == 4  # pairs and sets on two problems
    bold = sum(text.get_weight() == "bold" for text in figure.axes[0].texts)
    assert bold == ((ranked["low"] == 1).groupby([ranked["problem"], ranked["compares"]]).sum() == 1).sum()


def test_the_frontier_has_nothing_bold_where_policies_are_not_told_apart():
    frame = runs(lower_bound=8.0)
    one = frame[frame["policy"] == frame["policy"].iloc[0]]
    figure = DRAWINGS["frontier"](pd.concat([one, one.assign(policy="rmed1")]), about())
    assert {text.get_text() for text in figure.axes[0].texts} == {"1.00"}
    assert all(text.get_weight() == "normal" for text in figure.axes[0].texts)


def test_an_unknown_spread_is_named():
    with pytest.raises(InputError, match="no spread 'variance'"):
        DRAWINGS["regret"](runs(), about(), spread="variance")
