"""Figures: plots match the measurements."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from ltr_duel.analysis.html import render_page
from ltr_duel.analysis.identification import plot_accuracy, plot_identification
from ltr_duel.analysis.matrix import plot_preferences
from ltr_duel.analysis.matrix_words import property_lines, rankers_table, winner_sentence
from ltr_duel.analysis.measures import plot_measures
from ltr_duel.analysis.regret import BOUND, plot_against_arms, plot_regret
from ltr_duel.analysis.report import render_report, save_study, study_answer
from ltr_duel.analysis.tables import latex_table, policies_table, spread_sentence
from ltr_duel.core.errors import InputError
from ltr_duel.data.synthetic import make_corpus
from ltr_duel.preferences.matrix import PreferenceMatrix
from ltr_duel.preferences.properties.bounds import lower_bound
from ltr_duel.rankers.features import feature_rankers
from ltr_duel.rankers.measures import evaluate_rankers
from ltr_duel.simulation.results import Results
from ltr_duel.simulation.run import simulate
from ltr_duel.simulation.simulated_users import Live
from tests.conftest import ROCK_PAPER_SCISSORS, bradley_terry, coins


@pytest.fixture(scope="module")
def results():
    return simulate(coins(bradley_terry(5)), ["rucb", "mdb"], horizon=2000, repetitions=3)


def test_the_line_is_the_mean_and_the_bound_is_c_ln_t(results):
    frame = results.to_frame()
    axes = plot_regret(results)
    rucb, mdb, bound = axes.get_lines()
    mean = frame[frame["policy"] == "rucb"].groupby("t")["regret_average"].mean()
    assert rucb.get_ydata() == pytest.approx(mean[mean.index >= 100].to_numpy())
    steps = np.asarray(bound.get_xdata())
    assert bound.get_ydata() == pytest.approx(lower_bound(results.matrix) * np.log(steps))
    assert axes.get_xscale() == axes.get_yscale() == "log" and mdb.get_label() == "mdb"


def test_regret_can_be_drawn_against_the_outcomes_that_were_received(results):
    frame, axes = results.to_frame(), plot_regret(results, x="outcomes")
    rucb, mdb = axes.get_lines()  # no lower bound, because the bound is a function of steps
    last = frame[frame["t"] == 2000].groupby("policy")["outcomes"].mean()
    assert rucb.get_xdata()[-1] == last["rucb"] <= 2000 and mdb.get_xdata()[-1] == last["mdb"]
    assert "outcomes" in axes.get_xlabel()
    with pytest.raises(InputError, match="no abscissa 'outcome'; did you mean 'outcomes'"):
        plot_regret(results, x="outcome")
    with pytest.raises(InputError, match="an earlier version did not record it"):
        plot_regret(frame.assign(outcomes=np.nan), x="outcomes")


def test_a_page_says_by_what_simulated_users_compared_sets():
    users = Live(feature_rankers(make_corpus(queries=8, documents=6, features=3)), "perfect")
    for policy, named in (("mdb", True), ("rucb", False)):
        page = render_report(
            simulate(users, policy, preferences=PreferenceMatrix(bradley_terry(3).p, users.names), horizon=20),
            title="a study",
        )
        assert ("<dt>sets are compared by</dt><dd>sosm</dd>" in page) == named


def test_figures_tables_and_pages_of_sets_on_a_matrix_name_the_independent_coins(results):
    pairs = simulate(bradley_terry(5), "rucb", horizon=200, repetitions=2)
    for one, named in ((results, True), (pairs, False)):
        frame = one.to_frame().assign(answers="independent_coins" if named else "matrix", rankers=5)
        drawn = [plot_regret(one), plot_regret(frame, legend=False), plot_accuracy(one)]
        texts = [" ".join(text.get_text() for text in axes.texts) for axes in drawn]
        texts += [axes.get_xlabel() for axes in (plot_identification(one), plot_against_arms(frame))]
        texts += [" ".join(study_answer(one)), one._repr_html_(), render_report(one, title="a study")]
        texts += [latex_table(policies_table(one), notes=one.notes)]
        assert ["independent coins" in text for text in texts] == [named] * len(texts)


def test_without_a_winner_copeland_regret_is_drawn_and_no_bound():
    results = simulate(ROCK_PAPER_SCISSORS, "rucb", horizon=500, repetitions=2)
    axes = plot_regret(results)
    assert axes.get_ylabel() == "cumulative Copeland regret" and axes.get_title(loc="left") == "no Condorcet winner"
    assert all("bound" not in str(line.get_label()) for line in axes.get_lines())


def test_a_plot_is_drawn_on_the_axes_that_are_given(results):
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert plot_regret(results, left) is left and plot_preferences(results.matrix, right) is right
    assert left.get_lines() and right.get_images() and left.figure is figure


def test_the_heat_map_is_in_copeland_order_and_hides_what_is_not_known():
    p = bradley_terry(4).p[::-1, ::-1]
    error = np.full((4, 4), 0.001)
    error[0, 1] = error[1, 0] = 1.0
    axes = plot_preferences(PreferenceMatrix(p, ("d", "c", "b", "a"), error))
    assert [label.get_text() for label in axes.get_yticklabels()] == ["★ a", "b", "c", "d"]
    drawn = axes.get_images()[0].get_array()
    assert drawn.mask[2, 3] and drawn.mask[3, 2] and not drawn.mask[0, 1]
    assert drawn[0, 3] == pytest.approx(p[3, 0])


def test_sentences_say_who_won_and_how_sure_that_is(results):
    matrix = PreferenceMatrix(np.array([[0.5, 0.51], [0.49, 0.5]]), ("x", "y"), np.array([[0, 0.02], [0.02, 0]]))
    assert winner_sentence(matrix) == (
        "Undecided. In this estimate x beats all others; it beats its strongest rival, y, in 0.5100 ± 0.0200"
        " (standard error) of comparisons (less than two standard errors). P(it is the Condorcet winner) = 0.691."
        " P(there is none) < 0.001."
    )  # Phi(.01 / .02)
    close = PreferenceMatrix(np.array([[0.5, 0.50004], [0.49996, 0.5]]), ("x", "y"), 2e-5 * ~np.eye(2, dtype=bool))
    assert "in 0.500040 ± 0.000020 (standard error) of comparisons." in winner_sentence(close)
    assert winner_sentence(ROCK_PAPER_SCISSORS).startswith(
        "No Condorcet winner: no ranker beats all others. 0, 1, 2 beat the most"
    )
    assert "; 0, 1, 2 win most often on average." in winner_sentence(ROCK_PAPER_SCISSORS)  # each wins and loses one
    assert property_lines(ROCK_PAPER_SCISSORS)[0].startswith("Copeland: 0, 1, 2; Borda: 0, 1, 2; von Neumann: ")
    even = PreferenceMatrix(np.full((7, 7), 0.5))
    assert "0, 1, 2, ... beat the most (3 of 6); 0, 1, 2, ... win most often on average." in winner_sentence(even)
    assert study_answer(results)[1].startswith("rucb: average regret ")
    table = results.summary()
    expected = f"{table['mean'][0]:,.0f} ± {table['sd'][0]:,.0f} (mean ± sd of {table['runs'][0]} runs)"
    assert table["runs"][0] > 1 and expected in study_answer(results)[1]
    assert list(policies_table(results)["policy"]) == ["rucb", "mdb"]
    assert list(rankers_table(results.matrix, 2)["ranker"]) == ["0", "1"]


@pytest.mark.parametrize(
    "error, text", [(0.02, "0.495 ± 0.020"), (0.0005, "0.495 ± 0.001"), (0.0002, "0.49500 ± 0.00020")]
)
def test_an_error_is_never_printed_as_zero(error, text):
    matrix = PreferenceMatrix(np.array([[0.5, 0.505], [0.495, 0.5]]), standard_error=error * ~np.eye(2, dtype=bool))
    assert text in rankers_table(matrix).iloc[:, -1].to_list()


def test_the_first_error_of_a_mean_is_the_spread_of_the_runs_and_that_of_the_matrix_has_a_name():
    exact = simulate(coins(bradley_terry(4)), "rucb", horizon=500, repetitions=3).runs
    matrix = PreferenceMatrix(bradley_terry(4).p, standard_error=0.01 * ~np.eye(4, dtype=bool))
    for measured_by, column, named in ((matrix, "average", True), (ROCK_PAPER_SCISSORS, "copeland", False)):
        runs = exact if named else simulate(measured_by, "rucb", horizon=500, repetitions=3).runs
        results = Results(runs, measured_by)
        ends = [run.regret(measured_by, column)[-1] for run in runs]
        table = policies_table(results)
        label = "Copeland" if column == "copeland" else column
        assert table[f"{label} regret, mean ± sd"][0] == f"{np.mean(ends):,.1f} ± {np.std(ends, ddof=1):,.1f}"
        assert table["runs"][0] == "3"
        assert ("error of the reference matrix" in table) == named == ("reference matrix" in spread_sentence(table))
        if named:
            assert table["error of the reference matrix"][0] == f"{results.reference_errors()[0]:,.1f}"


@pytest.mark.parametrize("error, digits", [(0.0001, 1), (0.5, 0)])
def test_regrets_beside_large_errors_have_no_decimals_and_that_of_the_matrix_is_a_limit(error, digits):
    matrix = PreferenceMatrix(bradley_terry(4).p, standard_error=error * ~np.eye(4, dtype=bool))
    results = Results(simulate(coins(bradley_terry(4)), "rucb", horizon=500, repetitions=1).runs, matrix)
    mean, moved = results.final()["regret_average"][0], results.reference_errors()[0]
    said = study_answer(results)[1]
    assert said.startswith(f"rucb: average regret {mean:,.{digits}f} after 500 steps; ")
    assert f"; one standard error of the estimated matrix moves it by at most {moved:,.{digits}f}" in said


def test_the_page_escapes_names(tmp_path):
    matrix = PreferenceMatrix(bradley_terry(2).p, ("<script>alert(1)</script>", "b & c"))
    save_study(simulate(matrix, "rucb", horizon=50, repetitions=1), tmp_path, title="<b>")
    page = (tmp_path / "report.html").read_text()
    assert "<script" not in page and "&lt;script&gt;" in page and "b &amp; c" in page and "<title>&lt;b&gt;" in page


def test_a_second_study_in_the_same_figure_adds_its_lines_to_the_legend(results):
    axes = plot_regret(results)
    remarks = [text.get_text() for text in axes.texts]
    plot_regret(simulate(coins(bradley_terry(5)), "rmed1", horizon=2000, repetitions=3), axes)
    assert [text.get_text() for text in axes.texts] == remarks, "written once"
    named = [text.get_text() for text in axes.get_legend().get_texts()]
    assert sorted(named) == sorted(["rucb", "mdb", "rmed1", BOUND]), "the bound of the same matrix once"


def test_a_study_of_several_problems_is_told_of_its_table():
    with pytest.raises(InputError, match=r"pass the table of one problem from .to_frame\(\)"):
        plot_regret(type("StudyResults", (), {"to_frame": None})())


def test_pages_break_no_number_option_or_name_within_a_word(tmp_path):
    """Regression: names broke anywhere at 1,200 pixels, and '2.6e-|06' and '--|stop-at' broke at 390 pixels."""
    body = "{% from 'macros.html' import paragraphs, table %}{{ paragraphs(lines) }}{{ table(frame) }}"
    (tmp_path / "mine.html").write_text("{% extends 'page.html' %}{% block main %}" + body + "{% endblock %}")
    lines = ["one look, (p = 2.6e-06); use --stop-at to look <b>", "a well-known e-mail, -3 and x--y"]
    frame = pd.DataFrame({"pair": ["stays_strong/team"], "within": ["-0.1 +0.2"], "note": ["a -b"]})
    page = render_page(tmp_path / "mine.html", title="", lines=lines, frame=frame)
    whole = '<p>one look, (p = <span class="number">2.6e-06);</span> use <span class="number">--stop-at</span> to look'
    assert whole + " &lt;b&gt;</p>" in page and f"<p>{lines[1]}</p>" in page
    assert "stays_<wbr>strong/<wbr>team" in page and ">-0.1 to\n+0.2<" in page and ">a -b<" in page
    assert '<div class="scroll"><table>' in page, "what is too wide all the same is scrolled, and not cut"


def test_the_legend_of_measures_covers_no_interval():
    """Regression: the legend in the lower right corner covered the interval of the worst ranker."""
    rankings = feature_rankers(make_corpus(queries=30, documents=8, features=4))
    axes = plot_measures(evaluate_rankers(rankings, ["NDCG@10"]))
    axes.figure.draw_without_rendering()
    assert not axes.get_legend().get_window_extent().overlaps(axes.get_window_extent())
