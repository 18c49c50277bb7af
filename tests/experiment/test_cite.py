"""The works to cite follow from the file of a study."""

from __future__ import annotations

import re

import pytest

from ltr_duel.experiment import StudyResults, make_schedule, read_spec, run_experiment, study_bibtex

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
    run_experiment(make_schedule(read_spec("study.toml", SPEC), jobs=1), folder)
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
