"""A model scores a corpus as its own library does, or is refused with one sentence."""

from __future__ import annotations

import json
import pickle
import warnings
from dataclasses import replace
from pathlib import Path

import lightgbm
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import xgboost
from sklearn.linear_model import LinearRegression, Ridge

from ltr_duel.core import InputError
from ltr_duel.data import Dataset, load_dataset, make_corpus
from ltr_duel.rankers import model_rankers, models, rankers_named
from ltr_duel.rankers.models import MatchWarning, fitted_scores, model_columns
from ltr_duel.rankers.sources import KINDS

LIGHTGBM = {"verbose": -1, "num_threads": 1, "min_data_in_leaf": 2}
XGBOOST = {"max_depth": 3, "nthread": 1, "min_child_weight": 0}


@pytest.fixture(scope="module")
def corpus():
    return make_corpus(queries=12, documents=12, features=6, seed=4)


def file_scores(word, dataset, folder):
    kind, _, name = word.partition(":")
    (ranker,) = KINDS[kind](dataset, folder / name)
    return ranker.scores()


def boosted(dataset, path=None, labels=None, **settings):
    data = lightgbm.Dataset(dataset.features, dataset.relevance if labels is None else labels)
    booster = lightgbm.train(LIGHTGBM | settings, data, 3)
    if path is not None:
        booster.save_model(path)
    return booster


def trees(features, labels, path=None, **settings):
    booster = xgboost.train(XGBOOST | settings, xgboost.DMatrix(features, labels), 5)
    if path is not None:
        booster.save_model(path)
    return booster


@pytest.mark.parametrize("block", [7, 2**16])
def test_predictions_are_those_of_the_libraries(corpus, tmp_path, monkeypatch, block):
    monkeypatch.setattr(models, "_BLOCK", block)
    booster = boosted(corpus, tmp_path / "m.txt")
    forest = trees(corpus.features, corpus.relevance, tmp_path / "m.json")
    own = booster.predict(corpus.features)
    (tmp_path / "crlf.txt").write_bytes((tmp_path / "m.txt").read_bytes().replace(b"\n", b"\r\n"))
    for name in ("m.txt", "crlf.txt"):
        assert np.array_equal(file_scores(f"lightgbm:{name}", corpus, tmp_path), own)
    assert np.array_equal(fitted_scores("m", booster, corpus), own) and np.unique(own).size > 20
    own = forest.predict(xgboost.DMatrix(corpus.features))
    assert np.array_equal(file_scores("xgboost:m.json", corpus, tmp_path), own)
    assert np.array_equal(fitted_scores("m", forest, corpus), own)
    ridge = Ridge(solver="svd").fit(corpus.features, corpus.relevance)
    expected = ridge.predict(corpus.features)
    assert fitted_scores("m", ridge, corpus) == pytest.approx(expected, rel=1e-5, abs=1e-5)  # BLAS rounding varies


def test_an_onnx_model_ranks_as_the_library_it_came_from(corpus, tmp_path):
    skl2onnx = pytest.importorskip("skl2onnx")
    pytest.importorskip("onnxruntime")
    line = LinearRegression().fit(corpus.features, corpus.relevance)
    model = skl2onnx.to_onnx(line, corpus.features[:1], target_opset=17)  # read by every supported runtime
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    assert file_scores("onnx:m.onnx", corpus, tmp_path) == pytest.approx(line.predict(corpus.features), abs=1e-4)
    narrow = replace(corpus, features=corpus.features[:, :4], feature_names=corpus.feature_names[:4])
    with pytest.raises(InputError, match="was trained on 6 features; synthetic has 4"):
        file_scores("onnx:m.onnx", narrow, tmp_path)
    model.opset_import[0].version = 99
    (tmp_path / "newer.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(InputError, match=r"newer.onnx: not an ONNX model that onnxruntime \d.* reads .*opset"):
        file_scores("onnx:newer.onnx", corpus, tmp_path)


@pytest.fixture
def sparse(tmp_path):
    """Return features with NaN, labels that depend on what is missing, and the path of text that omits the NaNs."""
    rng = np.random.default_rng(5)
    features = rng.integers(1, 9, (60, 3)).astype(np.float32)
    features[rng.random((60, 3)) < 0.4] = np.nan
    labels = (features[:, 0] > 4) + 2 * np.isnan(features[:, 1])
    lines = (
        f"{label} qid:{n // 6} " + " ".join(f"{k}:{x:g}" for k, x in enumerate(row, 1) if not np.isnan(x))
        for n, (row, label) in enumerate(zip(features, labels.astype(int), strict=True))
    )
    (tmp_path / "sparse.txt").write_text("\n".join(lines) + "\n")
    return features, labels, tmp_path / "sparse.txt"


def test_xgboost_needs_to_know_what_omitted_features_are(sparse, tmp_path):
    features, labels, path = sparse
    booster = trees(features, labels, tmp_path / "m.json")
    own, of_zeros = (booster.predict(xgboost.DMatrix(given)) for given in (features, np.nan_to_num(features)))
    assert abs(own - of_zeros).max() > 0.2
    for omitted, expected in (("missing", own), ("zero", of_zeros)):
        dataset = load_dataset(path, omitted=omitted)
        assert np.array_equal(file_scores("xgboost:m.json", dataset, tmp_path), expected)
        assert np.array_equal(fitted_scores("m", booster, dataset), expected)
    matrix = scipy.sparse.csr_matrix(np.nan_to_num(features))  # which stores no zeros
    given = (matrix, labels.astype(int), np.arange(60) // 6)
    for dataset in (load_dataset(path), Dataset.from_arrays(*given)):
        with pytest.raises(InputError, match=r"omits as missing; say .*--omitted missing or --omitted zero"):
            file_scores("xgboost:m.json", dataset, tmp_path)
    assert np.array_equal(fitted_scores("m", booster, Dataset.from_arrays(*given, omitted="missing")), own)


@pytest.mark.parametrize("missing", [0.0, None])
def test_the_missing_value_of_a_fitted_model_is_its_own(corpus, missing):
    features = np.round(corpus.features)
    model = xgboost.XGBRegressor(n_estimators=3, missing=missing, n_jobs=1).fit(features, corpus.relevance)
    own = model.get_booster().predict(xgboost.DMatrix(features, missing=np.nan if missing is None else missing))
    assert np.array_equal(fitted_scores("m", model, replace(corpus, features=features, omits=missing == 0)), own)


def test_early_stopping_gives_one_answer_in_python_and_from_a_file(corpus, tmp_path):
    half = corpus.n_docs // 2
    model = xgboost.XGBRegressor(n_estimators=30, early_stopping_rounds=2, n_jobs=1)
    held_out = [(corpus.features[half:], -corpus.relevance[half:])]
    model.fit(corpus.features[:half], corpus.relevance[:half], eval_set=held_out, verbose=False)
    booster = model.get_booster()
    for saved, own in ((model, model.predict(corpus.features)), (booster, booster.inplace_predict(corpus.features))):
        saved.save_model(tmp_path / "m.json")
        assert np.array_equal(file_scores("xgboost:m.json", corpus, tmp_path), own)
        assert np.array_equal(fitted_scores("m", saved, corpus), own)
    assert not np.array_equal(model.predict(corpus.features), own), "of the best iteration, and of all"


def test_categories_of_a_data_frame_are_refused(corpus):
    frame = pd.DataFrame({"kind": pd.Categorical(np.arange(corpus.n_docs) % 4), "x": corpus.features[:, 0]})
    on_frame = (
        lightgbm.train(LIGHTGBM | {"min_data_per_group": 2}, lightgbm.Dataset(frame, corpus.relevance), 3),
        xgboost.train(XGBOOST, xgboost.DMatrix(frame, corpus.relevance, enable_categorical=True), 3),
    )
    for model in on_frame:
        with pytest.raises(InputError, match="trained on categories of a data frame"):
            fitted_scores("m", model, corpus)


def test_columns_of_fitted_models_are_matched_by_name(corpus):
    named = replace(corpus, feature_names=("body length", "bm25", "age", "a", "b", "c"))
    frame = pd.DataFrame(named.features[:, [2, 0]], columns=["age", "body length"])
    for model in (
        LinearRegression().fit(frame, named.relevance),
        xgboost.XGBRegressor(n_estimators=3).fit(frame, named.relevance),
        lightgbm.LGBMRegressor(n_estimators=3, verbose=-1, min_child_samples=2).fit(frame, named.relevance),
    ):
        assert fitted_scores("m", model, named) == pytest.approx(model.predict(frame), abs=1e-6)


@pytest.mark.parametrize(
    ("names", "own", "columns"),
    [
        (None, ("1", "2", "3"), slice(None)),
        (["Column_0", "Column_1", "Column_2"], ("bm25", "age", "links"), slice(None)),
        (["bm25", "age", "links"], ("1", "2", "3"), slice(None)),
        (["3", "1"], ("1", "2", "3"), [2, 0]),
        (["a_b", "c", "d"], ("d", "a b", "c"), [1, 2, 0]),
        (["f2", "f0", "f1"], ("1", "2", "3"), "trained on features called f2, f0, f1, which synthetic does not have"),
        (["bm25", "age", "clicks"], ("bm25", "age", "links"), "clicks, which synthetic does not have"),
        (["a", "b"], ("1", "2", "3"), "trained on 2 features; .* has 3"),
        (["f0", "f1", "f2", "f3"], ("1", "2", "3"), "has 3; --features N .* --first-id 0"),
    ],
)
def test_model_columns_are_the_features_of_a_model_file(corpus, names, own, columns):
    dataset = replace(corpus, features=corpus.features[:, :3], feature_names=own)
    count = 3 if names is None else len(names)
    if isinstance(columns, str):
        with pytest.raises(InputError, match=columns):
            model_columns("m", count, names, dataset)
        return
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        assert model_columns("m", count, names, dataset) == columns
    only_the_model_has_names = (names or [""])[0] == "bm25"
    assert [note.category for note in notes] == [MatchWarning] * only_the_model_has_names


def test_a_model_with_several_scores_for_a_document_is_refused(corpus, tmp_path):
    labels = np.arange(corpus.n_docs) % 3
    boosted(corpus, tmp_path / "m.txt", labels, objective="multiclass", num_class=3)
    trees(corpus.features, labels, tmp_path / "m.json", objective="multi:softmax", num_class=3)
    trees(corpus.features, np.stack([labels, labels], 1), tmp_path / "targets.json")
    for word in ("lightgbm:m.txt", "xgboost:m.json", "xgboost:targets.json"):
        with pytest.raises(InputError, match="several scores for each document"):
            file_scores(word, corpus, tmp_path)


def test_a_lightgbm_model_that_is_not_whole_is_refused(corpus, tmp_path):
    """LightGBM itself would end the process."""
    text = boosted(corpus).model_to_string()
    for cut in (text[: text.index("Tree=1")] + text[text.index("Tree=2") :], text[: text.index("end of trees")], ""):
        (tmp_path / "cut.txt").write_text(cut)
        with pytest.raises(InputError, match=r"cut\.txt: not a LightGBM model, or cut short"):
            file_scores("lightgbm:cut.txt", corpus, tmp_path)


def test_json_that_is_no_xgboost_model_is_refused(corpus, tmp_path):
    trees(corpus.features, corpus.relevance, tmp_path / "m.json")
    whole = (tmp_path / "m.json").read_text()
    for content in (json.dumps({}), "[]", json.dumps({"version": [3, 1, 0], "learner": {}}), "", whole[:-9]):
        (tmp_path / "m.json").write_text(content)
        with pytest.raises(InputError, match=r"not an XGBoost model in JSON, or cut short; .* before 3\.1"):
            file_scores("xgboost:m.json", corpus, tmp_path)


def test_a_binary_xgboost_model_is_refused_with_the_call_that_makes_it_readable(corpus, tmp_path):
    own = trees(corpus.features, corpus.relevance, tmp_path / "m.ubj").predict(xgboost.DMatrix(corpus.features))
    with pytest.raises(InputError, match="convert other formats with ") as refused:
        file_scores("xgboost:m.ubj", corpus, tmp_path)
    exec(str(refused.value).partition(" with ")[2], {"xgboost": xgboost})
    assert np.array_equal(file_scores("xgboost:m.json", corpus, tmp_path), own)


class Trap:
    def __reduce__(self):
        return (Path.touch, (Path("executed"),))


@pytest.mark.parametrize("protocol", [0, 5])
def test_a_pickle_is_refused_and_not_executed(corpus, tmp_path, monkeypatch, protocol):
    monkeypatch.chdir(tmp_path)
    Path("m").write_bytes(pickle.dumps(Trap(), protocol=protocol))
    for kind in ("lightgbm", "xgboost", "onnx"):
        with pytest.raises(InputError, match="this is a pickle, which could run code" if protocol >= 2 else "not an? "):
            rankers_named(corpus, [f"{kind}:m"])
    assert not Path("executed").exists()


@pytest.mark.parametrize(
    ("model", "complaint"),
    [
        (lambda features: features, r"shape \(\d+, 6\); one number for each of the"),
        (lambda features: features[:, 0] * np.nan, "predicts nan for a document; scores must be finite"),
        (3, "is a int: it has no method predict and cannot be called"),
    ],
)
def test_bad_predictions_are_refused(corpus, model, complaint):
    with pytest.raises(InputError, match=complaint):
        model_rankers(corpus, {"mine": model})


def test_models_predict_in_blocks_and_functions_get_the_whole_corpus(corpus, monkeypatch):
    monkeypatch.setattr(models, "_BLOCK", corpus.n_docs - 1)
    sizes = []
    model = type("Sum", (), {"predict": lambda self, features: sizes.append(len(features)) or features.sum(axis=1)})()
    expected = corpus.features.sum(axis=1).astype(np.float64)
    assert np.array_equal(fitted_scores("sum", model, corpus), expected)
    assert np.array_equal(fitted_scores("sum", model.predict, corpus), expected)
    assert sizes == [corpus.n_docs - 1, 1, corpus.n_docs]
