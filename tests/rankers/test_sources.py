"""Rankers by words: features, runs, models and tables of scores, in any combination."""

from __future__ import annotations

from dataclasses import replace

import lightgbm
import numpy as np
import pandas as pd
import pytest

from ltr_duel.core import InputError, sha256_file
from ltr_duel.data import make_corpus
from ltr_duel.rankers import feature_rankers, rankers_named


@pytest.fixture(scope="module")
def corpus():
    made = make_corpus(queries=30, documents=12, features=6, seed=4)
    return replace(made, doc_ids=np.array([f"d{row}" for row in range(made.n_docs)]))


def test_words_that_name_features_give_the_feature_rankers(corpus):
    names = corpus.feature_names
    for words, chosen in [
        ((), names),
        (("features",), names),
        (("features:2,5",), (names[1], names[4])),
        ((f"{names[0]},{names[3]}",), (names[0], names[3])),
        ((names[0], names[3]), (names[0], names[3])),
    ]:
        rankings = rankers_named(corpus, words, seed=3)
        expected = feature_rankers(corpus, features=chosen, seed=3)
        assert rankings.names == expected.names and rankings.provenance == expected.provenance
        assert (rankings.order == expected.order).all()


def test_ranker_kinds_mix_and_their_provenance_names_them(corpus, tmp_path):
    data = lightgbm.Dataset(corpus.features, corpus.relevance)
    booster = lightgbm.train({"verbose": -1, "num_threads": 1, "min_data_in_leaf": 2}, data, 3)
    booster.save_model(tmp_path / "model.txt")
    lines = [f"{corpus.query_ids[0]} Q0 d{row} 1 {9 - row} t\n" for row in range(3)]
    (tmp_path / "bm25.trec").write_text("".join([*lines, "zz Q0 d1 1 1 t\n"]))
    scores = pd.DataFrame({"query": np.repeat(corpus.query_ids, corpus.query_sizes), "document": corpus.doc_ids})
    scores.assign(dense=-corpus.features[:, 0], model=booster.predict(corpus.features)).to_parquet(tmp_path / "s")
    words = ["features:1", "run:bm25.trec", "mine=lightgbm:model.txt", "scores:s"]
    rankings = rankers_named(corpus, words, folder=tmp_path, ties="file")
    first = corpus.feature_names[0]
    assert rankings.names == (first, "run:bm25", "mine", "dense", "model")
    alone = feature_rankers(corpus, features=[first], ties="file")
    assert (rankings[[first]].order == alone.order).all()
    assert (rankings[["mine"]].order == rankings[["model"]].order).all()
    assert rankings[["run:bm25"]].order[0, :3].tolist() == [0, 1, 2]
    about = rankings.provenance["rankers"]
    assert about["run:bm25"]["sha256"] == sha256_file(tmp_path / "bm25.trec")
    assert (about["run:bm25"]["retrieved"], about["run:bm25"]["unknown_queries"]) == (3, 1)
    assert first not in about and (about["mine"]["file"], about["mine"]["named"]) == ("model.txt", "lightgbm:model")
    assert about["dense"]["kind"] == "scores"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["runn:a"], "no kind of ranker 'runn'; did you mean 'run'"),
        (["features:77"], "no feature in synthetic called '77'"),
        (["catboost:m.cbm"], "format='onnx'\\), then onnx:model.onnx"),
        (["run:"], "'run:' requires a file after the colon: run:FILE"),
        (["run:absent.run"], "absent.run: there is no such file"),
        (["lightgbm:absent.txt"], "absent.txt: there is no such lightgbm model file"),
        (["mine=features:1,2"], "opens 2 rankers; a name applies to a single ranker"),
        (["a=features:1", "a=features:2"], "two rankers are called 'a'; rename one: NAME=features:2"),
    ],
)
def test_wrong_ranker_words_are_refused(corpus, words, complaint):
    with pytest.raises(InputError, match=complaint):
        rankers_named(corpus, words)
