"""The methods paragraph of a study follows from its file."""

from __future__ import annotations

import re

import pytest

from ltr_duel.analysis.rankers import equal_words
from ltr_duel.experiment.in_a_paper import methods_paragraph, study_bibtex
from ltr_duel.experiment.results import StudyResults
from ltr_duel.experiment.run import make_plan, run_experiment
from ltr_duel.experiment.spec import read_spec
from ltr_duel.preferences.properties.confidence import condorcet_confidence
from ltr_duel.simulation.oracle import COINS_NOTE

SPEC = """
policies = ["rucb", "mdb", "savage"]
horizon = [20, 40]
repetitions = 3
seed = 7
regrets = ["average", "ndcg"]
[[corpora]]
name = "MQ2008"
synthetic = { queries = 6, documents = 8, features = 4, grades = 3 }
comparisons = 40
clicks = ["perfect", "navigational"]
answers = "live"
"""
COINS = """
policies = ["mdb"]
horizon = 20
matrices = [{ name = "two", p = [[0.5, 0.7], [0.3, 0.5]], answers = "independent_coins" }]
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    run_experiment(make_plan(read_spec("study.toml", SPEC), jobs=1), folder)
    return StudyResults(folder)


def test_the_paragraph_names_policies_problems_runs_regrets_and_tests(results):
    said = methods_paragraph(results)
    for words in (
        "We compare rucb [zoghi2014rucb], mdb [brost2016mdb] and savage [urvoy2013generic] on 2 problems: MQ2008 ",
        "MQ2008 navigational (4 rankers, probabilistic, navigational clicks, outcome rule ",
        "equal scores fixed_random, tie seed 0, lists of 10, answers: simulated users, reference matrix: 40 ",
        "Each policy runs 3 times for 20 or 40 steps on each problem", "seed 7)", "savage uses the horizon.",
        "We report cumulative average regret and NDCG regret", "Wilcoxon signed-rank", "Holm", "(d_z)",
    ):  # fmt: skip
        assert words in said


def test_the_paragraph_says_how_the_reference_matrix_was_estimated_and_how_sure_its_winner_is(results):
    said, matrix = methods_paragraph(results), results.matrix("MQ2008 perfect")
    assert (
        "reference matrix: 40 comparisons of each pair, variance reduction antithetic, control, integrated and" in said
    )
    sure = condorcet_confidence(matrix)[matrix.index(matrix.condorcet_winner)]
    assert f"P({matrix.condorcet_winner} is the Condorcet winner) {equal_words(sure)}" in said


def test_the_paragraph_says_by_what_sets_were_compared(results, tmp_path):
    assert "Simulated users compare sets of rankers by sosm [brost2016sosm]." in methods_paragraph(results)
    assert "independent coins" not in methods_paragraph(results)
    run_experiment(make_plan(read_spec("coins.toml", COINS), jobs=1), tmp_path)
    said = methods_paragraph(StudyResults(tmp_path))
    assert "two (2 rankers, answers: independent coins of the preference matrix)" in said
    assert COINS_NOTE in said and "sosm" not in said and "reference matrix:" not in said


def test_every_work_is_cited_once_and_what_has_none_is_named(results):
    text = study_bibtex(results)
    keys = re.findall(r"^@\w+\{(\S+),", text, re.M)
    assert len(keys) == len(set(keys))
    assert {"zoghi2014rucb", "brost2016mdb", "urvoy2013generic", "hofmann2011probabilistic", "qin2013letor"} <= set(
        keys
    )
    assert "brost2016sosm" in keys, "sets were compared live"
    assert "%" not in text.replace("\\%", "")


def test_a_corpus_without_a_reference_is_named(results, monkeypatch):
    monkeypatch.setattr("ltr_duel.experiment.in_a_paper._corpus", lambda name: None)
    assert study_bibtex(results).startswith("% no reference is known for the corpus 'MQ2008'\n")


def test_results_show_themselves(results):
    assert repr(results).startswith("<StudyResults: 36 finished runs of 3 policies on 2 problems, in ")
    assert "<th>MQ2008 perfect</th><td>20</td><td>4</td><td>9</td>" in results._repr_html_()
