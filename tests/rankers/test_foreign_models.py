"""Model files that are not models of rankings are refused with one sentence."""

import json

import numpy as np
import pytest

from ltr_duel.core import InputError
from ltr_duel.data import make_corpus
from ltr_duel.rankers.kinds import KINDS

lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")


@pytest.fixture(scope="module")
def corpus():
    return make_corpus(queries=10, documents=30, features=3)


def refused(corpus, kind, path, sentence="not an?"):
    with pytest.raises(InputError, match=sentence) as found:
        KINDS[kind](corpus, path)
    assert str(path) in str(found.value) and "\n" not in str(found.value)


def test_a_changed_size_of_a_lightgbm_tree_does_not_change_scores(corpus, tmp_path):
    data = lightgbm.Dataset(corpus.features, corpus.relevance)
    booster = lightgbm.train({"num_leaves": 4, "verbose": -1, "min_data_in_leaf": 2}, data, 2)
    (tmp_path / "m.txt").write_bytes(booster.model_to_string().replace("\n", "\r\n").encode())
    (ranker,) = KINDS["lightgbm"](corpus, tmp_path / "m.txt")
    assert (ranker.scores() == booster.predict(corpus.features)).all()


def test_a_model_with_several_scores_for_a_document_is_refused(corpus, tmp_path):
    labels = np.arange(corpus.n_docs) % 3
    settings = {"objective": "multiclass", "num_class": 3, "verbose": -1}
    lightgbm.train(settings, lightgbm.Dataset(corpus.features, labels), 2).save_model(tmp_path / "m.txt")
    refused(corpus, "lightgbm", tmp_path / "m.txt", "several scores for each document")
    for name, settings in (("class", {"objective": "multi:softmax", "num_class": 3}), ("target", {})):
        targets = np.stack([labels, labels], 1) if name == "target" else labels
        path = tmp_path / f"{name}.json"
        xgboost.train(settings, xgboost.DMatrix(corpus.features, targets), 2).save_model(path)
        refused(corpus, "xgboost", path, "several scores for each document")


@pytest.mark.parametrize("content", [{}, [], {"learner": {}}, {"learner": {"learner_model_param": {}}}, None])
def test_json_that_is_no_xgboost_model_is_refused(corpus, tmp_path, content):
    (tmp_path / "m.json").write_text("" if content is None else json.dumps(content))
    refused(corpus, "xgboost", tmp_path / "m.json")
