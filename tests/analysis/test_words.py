"""Sentences, tables and pages say who won, how sure that is, and what was measured."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ltr_duel import analysis
from ltr_duel.analysis.report import render_report
from ltr_duel.data import make_corpus
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.rankers import feature_rankers
from ltr_duel.simulation import Results, SimulatedUsers, simulate
from tests.conftest import ROCK_PAPER_SCISSORS, bradley_terry, coins


def two(p, error):
    """Return the estimate of one preference."""
    return PreferenceMatrix(np.array([[0.5, p], [1 - p, 0.5]]), ("x", "y"), [[0, error], [error, 0]])


NOBODY = "No Condorcet winner: no ranker beats all others. "


@pytest.mark.parametrize(
    ("matrix", "sentence"),
    [
        (
            two(0.51, 0.02),  # P = Phi(.01 / .02)
            "Undecided. In this estimate x beats all others; it beats its strongest rival, y, in 0.5100 ± 0.0200"
            " (standard error) of comparisons (less than two standard errors). P(it is the Condorcet winner) = 0.691.",
        ),
        (
            two(0.50004, 1e-5),  # P = Phi(4)
            "Condorcet winner: x. It beats its strongest rival, y, in 0.50004 ± 0.00001 (standard error) of"
            " comparisons (practically equal). P(it is the winner) > 0.999.",
        ),
        (
            PreferenceMatrix(ROCK_PAPER_SCISSORS.p, standard_error=10 * ~np.eye(3, dtype=bool)),
            "Undecided. In this estimate no ranker beats all others. 0, 1, 2 beat the most (1 of 2); 0, 1, 2 win most"
            " often on average.",
        ),
        (two(0.6, 0.0), "Condorcet winner: x. It beats its strongest rival, y, in 0.6000 of comparisons."),
        (PreferenceMatrix(np.array([[0.5]]), ("x",)), "Condorcet winner: x. It has no rival."),
        (two(0.5, np.inf), "No ranker is shown to beat all others; 1 pairs were not compared."),
        (ROCK_PAPER_SCISSORS, NOBODY + "0, 1, 2 beat the most (1 of 2); 0, 1, 2 win most often on average."),
        (
            PreferenceMatrix(np.full((7, 7), 0.5)),
            NOBODY + "0, 1, 2, ... beat the most (3 of 6); 0, 1, 2, ... win most often on average.",
        ),
    ],
)
def test_the_sentence_names_the_winner_its_margin_and_how_sure_that_is(matrix, sentence):
    assert analysis.winner_sentence(matrix) == sentence


def test_properties_are_lines_unless_pairs_are_missing():
    assert analysis.property_lines(ROCK_PAPER_SCISSORS)[:2] == [
        "Copeland: 0, 1, 2; Borda: 0, 1, 2; von Neumann: 0 0.333, 1 0.333, 2 0.333",
        "Order: no total order, 1 cycle of three such as 0 > 1 > 2; top cycle of 3",
    ]
    assert analysis.property_lines(two(0.5, np.inf))[0].endswith("are omitted: they need all pairs.")


@pytest.mark.parametrize(("error", "text"), [(0.02, "495 ± 0.020"), (0.0005, "495 ± 0.001"), (0.0002, "4950 ± 0.0002")])
def test_an_error_is_never_printed_as_zero(error, text):
    assert analysis.rankers_table(two(0.505, error)).to_numpy().tolist()[1] == ["y", "0 of 1", "0.495", f"0.{text}"]


@pytest.mark.parametrize("error", [0.0001, 0.5])
def test_a_mean_has_the_spread_of_the_runs_and_apart_from_it_the_error_of_the_matrix(error):
    exact = simulate(coins(bradley_terry(4)), "rucb", horizon=500, repetitions=3)
    matrix = PreferenceMatrix(bradley_terry(4).p, standard_error=error * ~np.eye(4, dtype=bool))
    results = Results(exact.runs, matrix)
    ends = [run.regret(matrix, "average")[-1] for run in results.runs]
    table, moved = analysis.policies_table(results), results.reference_errors()[0]
    assert table["average regret, mean ± sd"][0] == f"{np.mean(ends):,.1f} ± {np.std(ends, ddof=1):,.1f}"
    assert table["runs"][0] == "3" and table["error of the reference matrix"][0] == f"{moved:,.1f}"
    told = [analysis.spread_sentence(one) for one in (table, analysis.policies_table(exact))]
    assert ["reference matrix" in one for one in told] == [True, False]
    one_run = analysis.policies_table(Results(exact.runs[:1], matrix))
    assert [text.columns[-1] == "median identification time" for text in (table, one_run)] == [True, False]


@pytest.mark.parametrize(("policy", "named"), [("mdb", True), ("rucb", False)])
def test_everything_about_sets_on_a_matrix_names_the_independent_coins(policy, named):
    results = simulate(coins(bradley_terry(5)), policy, horizon=200, repetitions=2)
    frame = results.to_frame().assign(answers="independent_coins" if named else "matrix", rankers=5)
    drawn = [plot(results) for plot in (analysis.plot_regret, analysis.plot_accuracy, analysis.plot_identification)]
    texts = [" ".join(ax.get_xlabel().split()) for ax in (*drawn, analysis.plot_against_arms(frame))]
    texts += [render_report(results, {}, title="x"), results._repr_html_()]
    assert ["independent coins" in text for text in texts] == [named] * len(texts)


def test_a_page_says_how_simulated_users_compared_sets_and_escapes_names(tmp_path):
    users = SimulatedUsers(feature_rankers(make_corpus(queries=8, documents=6, features=2)), "perfect")
    matrix = PreferenceMatrix(bradley_terry(2).p, users.names, provenance={"corpus": "<script>alert(1)</script> & c"})
    analysis.save_study(simulate(users, "mdb", preferences=matrix, horizon=20), tmp_path, title="<b>")
    page = (tmp_path / "report.html").read_text()
    assert "<dt>sets are compared by</dt><dd>sosm</dd>" in page and "<title>&lt;b&gt;" in page
    assert "<script" not in page and "&lt;script&gt;alert(1)&lt;/script&gt; &amp; c" in page


def test_pages_break_no_number_option_or_name_within_a_word(tmp_path):
    body = "{% from 'macros.html' import paragraphs, table %}{{ paragraphs(lines) }}{{ table(frame) }}"
    (tmp_path / "mine.html").write_text("{% extends 'page.html' %}{% block main %}" + body + "{% endblock %}")
    frame = pd.DataFrame({"pair": ["stays_strong/team"], "within": ["-0.1 to +0.2"]})
    page = analysis.render_page(tmp_path / "mine.html", title="", lines=["p = 2.6e-06; a well-known -3"], frame=frame)
    assert '<p>p = <span class="number">2.6e-06;</span> a well-known -3</p>' in page
    assert "stays_<wbr>strong/<wbr>team" in page and ">-0.1 to\n+0.2<" in page
