"""Rankers by words: from runs, models, tables of scores and rank lists; unusable input is rejected."""

from __future__ import annotations

import gzip
import pickle
import sys
from dataclasses import replace
from pathlib import Path

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.datasets import load_svmlight_file
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge

from ltr_duel.core import InputError, sha256_file
from ltr_duel.data import load_dataset, make_corpus
from ltr_duel.rankers import (
    feature_rankers,
    model_rankers,
    models,
    pool_runs,
    rankers_named,
    rankings_from_scores,
)
from ltr_duel.rankers.kinds import KINDS
from ltr_duel.rankers.models import fitted_scores


@pytest.fixture(scope="module")
def corpus():
    return with_ids(make_corpus(queries=30, documents=12, features=6, seed=4))


def with_ids(dataset):
    return replace(dataset, doc_ids=np.array([f"d{row}" for row in range(dataset.n_docs)]))


def lightgbm_model(dataset, path=None, rounds=15):
    data = lightgbm.Dataset(dataset.features, dataset.relevance, group=dataset.query_sizes)
    settings = {"objective": "lambdarank", "verbose": -1, "num_threads": 1, "seed": 1, "min_data_in_leaf": 5}
    booster = lightgbm.train(settings, data, rounds)
    if path is not None:
        booster.save_model(path)
    return booster


def xgboost_model(dataset, path=None):
    queries = np.repeat(np.arange(dataset.n_queries), dataset.query_sizes)
    booster = xgboost.train(
        {"objective": "rank:ndcg", "nthread": 1}, xgboost.DMatrix(dataset.features, dataset.relevance, qid=queries), 10
    )
    if path is not None:
        booster.save_model(path)
    return booster


def assert_orders(rankings, ranker, dataset, scores):
    """Check that the order equals the order of the library's own scores, with the tie rule in the ranker's name."""
    expected = rankings_from_scores(dataset, (ranker,), lambda k: np.array(scores, np.float64))
    assert (rankings[[ranker]].order == expected.order).all()


def check_models(dataset, features, folder):
    """Check orders, and compare scores with each library's predictions from features that another reader read."""
    booster = lightgbm_model(dataset, folder / "model.txt")
    trees = xgboost_model(dataset, folder / "model.json")
    ridge = Ridge(solver="svd").fit(dataset.features, dataset.relevance)
    words = ["lightgbm:model.txt", "xgboost:model.json"]
    rankings = rankers_named(dataset, words, folder=folder)
    own = trees.predict(xgboost.DMatrix(dataset.features))
    assert_orders(rankings, "lightgbm:model", dataset, booster.predict(dataset.features))
    assert_orders(rankings, "xgboost:model", dataset, own)
    fitted = model_rankers(dataset, {"ridge": ridge, "booster": booster})
    line = fitted_scores("ridge", ridge, dataset)
    assert np.allclose(line, ridge.predict(dataset.features), rtol=1e-5, atol=1e-5)  # BLAS rounding varies
    assert_orders(fitted, "ridge", dataset, line)
    assert_orders(fitted, "booster", dataset, booster.predict(dataset.features))
    forest = RandomForestRegressor(5, max_depth=6, random_state=0).fit(features, dataset.relevance)
    own = trees.predict(xgboost.DMatrix(features))
    for kind, name, expected in (
        ("lightgbm", "model.txt", booster.predict(features)),
        ("xgboost", "model.json", own),
    ):
        (ranker,) = KINDS[kind](dataset, folder / name)
        assert np.unique(expected).size > 20
        assert np.array_equal(ranker.scores(), expected.astype(np.float64)), name
    assert np.array_equal(fitted_scores("forest", forest, dataset), forest.predict(features))


def test_predictions_are_those_of_the_libraries(corpus, tmp_path):
    check_models(corpus, corpus.features.astype(np.float64), tmp_path)


@pytest.mark.parametrize("name", ["MQ2008/Fold1", "MSLR_excerpt/Fold1"])
def test_predictions_on_real_corpora_are_those_of_the_libraries(real_data, tmp_path, name):
    path = real_data / name / "test.txt.gz"
    dataset = load_dataset(path)
    sparse, grades = load_svmlight_file(str(path), n_features=dataset.n_features)
    assert (grades == dataset.relevance).all()
    check_models(dataset, sparse.toarray(), tmp_path)


def test_an_onnx_model_ranks_as_the_library_it_came_from(corpus, tmp_path):
    skl2onnx = pytest.importorskip("skl2onnx")
    pytest.importorskip("onnxruntime")
    forest = RandomForestRegressor(5, max_depth=4, random_state=0).fit(corpus.features, corpus.relevance)
    model = skl2onnx.to_onnx(forest, corpus.features[:1], target_opset=17)  # read by every supported runtime
    (tmp_path / "forest.onnx").write_bytes(model.SerializeToString())
    (ranker,) = KINDS["onnx"](corpus, tmp_path / "forest.onnx")
    assert ranker.scores() == pytest.approx(forest.predict(corpus.features), abs=1e-5)
    narrow = replace(corpus, features=corpus.features[:, :4], feature_names=corpus.feature_names[:4])
    with pytest.raises(InputError, match="was trained on 6 features; synthetic has 4"):
        rankers_named(narrow, [f"onnx:{tmp_path / 'forest.onnx'}"])
    model.opset_import[0].version = 99
    (tmp_path / "newer.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(InputError, match=r"newer.onnx: written in a newer version of ONNX than onnxruntime \d"):
        rankers_named(corpus, [f"onnx:{tmp_path / 'newer.onnx'}"])
    content = (tmp_path / "forest.onnx").read_bytes()
    (tmp_path / "cut.onnx").write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match="not an ONNX model"):
        rankers_named(corpus, [f"onnx:{tmp_path / 'cut.onnx'}"])


def test_words_that_name_features_give_the_feature_rankers_as_ever(corpus):
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


def test_kinds_mix_and_say_where_they_come_from(corpus, tmp_path):
    lightgbm_model(corpus, tmp_path / "model.txt")
    lines = [f"{corpus.query_ids[0]} Q0 d{row} 1 {9 - row} t\n" for row in range(3)]
    (tmp_path / "bm25.trec.gz").write_bytes(gzip.compress("".join([*lines, "zz Q0 d1 1 1 t\n"]).encode()))
    scores = pd.DataFrame({"query": np.repeat(corpus.query_ids, corpus.query_sizes), "document": corpus.doc_ids})
    scores["dense"], scores["sparse"] = corpus.features[:, 0], np.arange(corpus.n_docs)
    scores.to_parquet(tmp_path / "scores.parquet")
    scores.to_csv(tmp_path / "scores.csv", index=False)
    words = ["features:1", "run:bm25.trec.gz", "mine=lightgbm:model.txt", "scores:scores.parquet"]
    rankings = rankers_named(corpus, words, folder=tmp_path)
    first = corpus.feature_names[0]
    assert rankings.names == (first, "run:bm25", "mine", "dense", "sparse")
    assert (rankings[[first]].order == feature_rankers(corpus, features=[first]).order).all()
    assert rankings[["run:bm25"]].order[0, :3].tolist() == [0, 1, 2]
    about = rankings.provenance["rankers"]
    assert about["run:bm25"]["sha256"] == sha256_file(tmp_path / "bm25.trec.gz")
    assert (about["run:bm25"]["retrieved"], about["run:bm25"]["unknown_queries"]) == (3, 1)
    assert first not in about and (about["mine"]["file"], about["mine"]["named"]) == ("model.txt", "lightgbm:model")
    assert about["dense"]["kind"] == "scores"
    from_csv = rankers_named(corpus, ["scores:scores.csv"], folder=tmp_path)
    assert (from_csv.order == rankings[["dense", "sparse"]].order).all()


def test_rank_lists_are_read_as_smaller_is_better_and_null_as_not_retrieved(corpus, tmp_path):
    query = corpus.query_ids[0]
    (tmp_path / "agg.txt").write_text(
        f"0 qid:{query} 1:3 2:NULL #docid = d0\n0 qid:{query} 1:1 2:NULL #docid = d1\n"
        f"1 qid:{query} 1:NULL 2:2 #docid = d2\n"
    )
    rankings = rankers_named(corpus, ["lists:agg.txt"], folder=tmp_path)
    assert len(rankings) == 2
    assert rankings.order[0, :2].tolist() == [1, 0] and rankings.order[1, 0] == 2


def test_a_model_of_other_features_is_refused_with_both_numbers(corpus, tmp_path):
    lightgbm_model(corpus, tmp_path / "model.txt")
    xgboost_model(corpus, tmp_path / "model.json")
    narrow = replace(corpus, features=corpus.features[:, :4], feature_names=corpus.feature_names[:4])
    for word in ("lightgbm:model.txt", "xgboost:model.json"):
        with pytest.raises(InputError, match="was trained on 6 features; synthetic has 4"):
            rankers_named(narrow, [word], folder=tmp_path)
    with pytest.raises(InputError, match="model 'ridge' was trained on 6 features; synthetic has 4"):
        model_rankers(narrow, {"ridge": Ridge(solver="svd").fit(corpus.features, corpus.relevance)})


@pytest.mark.parametrize("name", ["model.txt", "model.json"])
@pytest.mark.parametrize("share", [0, 0.7])
def test_a_model_that_is_cut_short_is_refused(corpus, tmp_path, name, share):
    kind, make = ("lightgbm", lightgbm_model) if name.endswith("txt") else ("xgboost", xgboost_model)
    make(corpus, tmp_path / name)
    content = (tmp_path / name).read_bytes()
    end = content.index(b"end of trees") if kind == "lightgbm" else len(content)
    (tmp_path / name).write_bytes(content[: int(end * share)])
    with pytest.raises(InputError, match=r"not an? (LightGBM|XGBoost) model, or cut short"):
        rankers_named(corpus, [f"{kind}:{name}"], folder=tmp_path)


def test_a_binary_xgboost_model_is_refused_with_the_call_that_makes_it_readable(corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    booster = xgboost_model(corpus, tmp_path / "model.ubj")
    with pytest.raises(InputError, match=r"is read from \.json; convert other formats with ") as refused:
        rankers_named(corpus, ["xgboost:model.ubj"])
    exec(str(refused.value).partition(" with ")[2], {"xgboost": xgboost})
    own = booster.predict(xgboost.DMatrix(corpus.features))
    assert_orders(rankers_named(corpus, ["xgboost:model.json"]), "xgboost:model", corpus, own)


class Trap:
    def __reduce__(self):
        return (Path.touch, (Path("executed"),))


@pytest.mark.parametrize("protocol", [0, 5])
@pytest.mark.parametrize("word", ["lightgbm:m.txt", "xgboost:m.json", "onnx:m.onnx"])
def test_a_pickle_is_refused_and_not_executed(corpus, tmp_path, monkeypatch, word, protocol):
    monkeypatch.chdir(tmp_path)
    Path(word.partition(":")[2]).write_bytes(pickle.dumps(Trap(), protocol=protocol))
    with pytest.raises(InputError, match="this is a pickle, which could run code" if protocol >= 2 else "not an? "):
        rankers_named(corpus, [word])
    assert not Path("executed").exists()


def test_a_library_that_is_missing_is_named_with_the_command(corpus, tmp_path, monkeypatch):
    lightgbm_model(corpus, tmp_path / "model.txt")
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(
        InputError, match=r"lightgbm is not installed; install it with: pip install 'ltr-duel\[models\]'"
    ):
        rankers_named(corpus, ["lightgbm:model.txt"], folder=tmp_path)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("1 Q0 d0 1 2.5 t\n1 Q0 d0 2 1.5 t\n", "bad.run:2: document d0 is retrieved a second time for query 1"),
        ("1 Q0 d0 1 2 t\n2 Q0 d12 1 2 t\n1 Q0 d1 1 2 t\n", "bad.run:3: query 1 was listed before, in line 1;"),
        ("1 Q0 d0 1 nan t\n", "bad.run:1: the score must be a finite number"),
        ("1 Q0 nobody 1 2 t\n", "none of its 1 lines is about a document of synthetic"),
        ("", "the run is empty"),
    ],
)
def test_a_bad_run_is_refused(corpus, tmp_path, text, complaint):
    (tmp_path / "bad.run").write_text(text)
    with pytest.raises(InputError, match=complaint):
        rankers_named(corpus, ["run:bad.run"], folder=tmp_path)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("query,document,a\n1,d0,nan\n", "row 1: the score of 'a' must be a finite number, not 'nan'"),
        ("query,document,a\n1,d0,1\n1,d0,2\n", "row 2: document d0 of query 1 is repeated"),
        ("query,document,a\n1,d999,1\n", "none of its 1 documents is in synthetic"),
        ("query,document,a\n1,d0,high\n", "row 1: the score of 'a' must be a finite number, not 'high'"),
        ("query,doc,a\n1,d0,1\n", "the rows have no docno or doc_id or docid"),
        ("query,document\n1,d0\n", "there is no column of scores"),
        ("query,document,a\n", "none of its 0 documents"),
        ("", "the table is empty"),
    ],
)
def test_bad_scores_are_refused(corpus, tmp_path, text, complaint):
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(InputError, match=complaint):
        rankers_named(corpus, ["scores:bad.csv"], folder=tmp_path)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["runn:a"], "no kind of ranker 'runn'; did you mean 'run'"),
        (["features:77"], "no feature in synthetic called '77'"),
        (["catboost:m.cbm"], "format='onnx'\\), then onnx:model.onnx"),
        (["run:"], "'run:' requires a file after the colon: run:FILE"),
        (["run:absent.run"], "absent.run: there is no such file"),
        (["lightgbm:absent.txt"], "absent.txt: there is no such lightgbm model file"),
        (["scores:absent.csv"], "absent.csv: there is no such file"),
        (["xgboost:pyproject.toml"], "not an XGBoost model, or cut short"),
        (["mine=features:1,2"], "opens 2 rankers; a name applies to a single ranker"),
        (["a=features:1", "a=features:2"], "two rankers are called 'a'"),
    ],
)
def test_bad_words_are_refused(corpus, words, complaint):
    with pytest.raises(InputError, match=complaint):
        rankers_named(corpus, words)


@pytest.mark.parametrize(
    ("model", "complaint"),
    [
        (lambda features: features, r"shape \(\d+, 6\); one number for each of the"),
        (lambda features: features[:, 0] * np.nan, "predicts nan for a document; scores must be finite"),
        (lambda features: np.array(["high"] * len(features)), "one number for each"),
        (3, "is a int: it has no method predict and cannot be called"),
    ],
)
def test_bad_predictions_are_refused(corpus, model, complaint):
    with pytest.raises(InputError, match=complaint):
        model_rankers(corpus, {"mine": model})
    with pytest.raises(InputError, match="there is no model"):
        model_rankers(corpus, {})


@pytest.mark.parametrize("trained", [2, 4])
def test_a_model_of_fewer_or_more_features_is_refused_with_both_numbers(trained):
    from ltr_duel.data import make_corpus
    from ltr_duel.rankers.models import check_features

    with pytest.raises(InputError, match=f"was trained on {trained} features; .* has 3"):
        check_features("model.txt", trained, make_corpus(queries=2, documents=2, features=3))


class Counting:
    """A model that records how many documents it receives at a time."""

    def __init__(self):
        self.blocks = []

    def predict(self, features):
        self.blocks.append(len(features))
        return features.sum(axis=1)


def test_models_predict_in_blocks_and_functions_get_the_whole_corpus(corpus, monkeypatch):
    monkeypatch.setattr(models, "_BLOCK", 7)
    model, whole = Counting(), []
    expected = corpus.features.sum(axis=1).astype(np.float64)
    assert np.array_equal(fitted_scores("sum", model, corpus), expected)
    assert sum(model.blocks) == corpus.n_docs and set(model.blocks[:-1]) == {7} and model.blocks[-1] <= 7
    assert np.array_equal(fitted_scores("sum", lambda f: whole.append(len(f)) or f.sum(axis=1), corpus), expected)
    assert whole == [corpus.n_docs]


def test_files_of_models_give_the_same_scores_in_blocks(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(models, "_BLOCK", 7)
    check_models(corpus, corpus.features.astype(np.float64), tmp_path)


def test_a_score_that_is_missing_in_the_last_block_is_refused(corpus, monkeypatch):
    monkeypatch.setattr(models, "_BLOCK", corpus.n_docs - 1)
    short = type("Short", (), {"predict": lambda self, features: np.zeros(max(2, len(features)))})()
    with pytest.raises(InputError, match=r"shape \(2,\); one number for each of the 1 documents is needed"):
        fitted_scores("short", short, corpus)


@pytest.mark.parametrize("text", ["qid;docno;m\n1;a;2\n1;b;1\n", '"query","document","m"\n1,a,2\n1,b,1\n', None])
def test_a_table_of_scores_may_have_other_usual_names_separators_and_endings(tmp_path, text):
    corpus = pool_runs({"1": {"a": 1, "b": 0}}, {"r": {"1": {"a": 1}}}).dataset
    if text is None:
        frame = pd.DataFrame({"query": [b"1", b"1"], "document": [b"a", b"b"], "m": [2.0, 1]})
        frame.to_parquet(tmp_path / "s.pq")
    else:
        (tmp_path / "s.pq").write_text(text)
    assert rankers_named(corpus, [f"scores:{tmp_path / 's.pq'}"]).order.tolist() == [[0, 1]]
