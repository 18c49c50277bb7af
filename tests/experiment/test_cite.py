"""The works to cite follow from the file of a study."""

from __future__ import annotations

import re

import pytest

from ltr_duel.experiment.cite import study_bibtex
from ltr_duel.experiment.results import StudyResults
from ltr_duel.experiment.run import make_plan, run_experiment
from ltr_duel.experiment.spec import read_spec

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


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    run_experiment(make_plan(read_spec("study.toml", SPEC), jobs=1), folder)
    return StudyResults(folder)


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
    monkeypatch.setattr("ltr_duel.experiment.cite._corpus", lambda name: None)
    assert study_bibtex(results).startswith("% no reference is known for the corpus 'MQ2008'\n")


def test_results_show_themselves(results):
    assert repr(results).startswith("<StudyResults: 36 finished runs of 3 policies on 2 problems, in ")
    assert "<th>MQ2008 perfect</th><td>20</td><td>4</td><td>9</td>" in results._repr_html_()
