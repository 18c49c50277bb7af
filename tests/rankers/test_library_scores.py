"""A model scores a corpus as its own library does, or is refused with one sentence."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.linear_model import LinearRegression

from ltr_duel.core import InputError
from ltr_duel.data import Dataset, load_dataset, make_corpus
from ltr_duel.rankers.kinds import KINDS
from ltr_duel.rankers.models import MatchWarning, fitted_scores, model_columns

lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")

DOCUMENTS, QUERY = 60, 6  # in all, and of each query


def opened(kind, dataset, path):
    (ranker,) = KINDS[kind](dataset, path)
    return ranker.scores()


@pytest.fixture
def sparse(tmp_path):
    """Return features with NaN, labels that depend on what is missing, and the path of text that omits the NaNs."""
    rng = np.random.default_rng(5)
    features = rng.integers(1, 9, (DOCUMENTS, 3)).astype(np.float32)
    features[rng.random((DOCUMENTS, 3)) < 0.4] = np.nan
    labels = (features[:, 0] > 4) + 2 * np.isnan(features[:, 1])
    return features, labels, written(tmp_path / "sparse.txt", features, labels)


def written(path, features, labels):
    lines = (
        f"{int(label)} qid:{n // QUERY} " + " ".join(f"{k}:{x:g}" for k, x in enumerate(row, 1) if not np.isnan(x))
        for n, (row, label) in enumerate(zip(features, labels, strict=True))
    )
    path.write_text("\n".join(lines) + "\n")
    return path


def trained(features, labels, feature_types=None):
    data = xgboost.DMatrix(features, labels, feature_types=feature_types, enable_categorical=True)
    return xgboost.train({"max_depth": 3, "nthread": 1, "min_child_weight": 0}, data, 5)


def test_features_that_text_omits_are_missing_for_a_model_trained_on_missing_values(sparse, tmp_path):
    features, labels, path = sparse
    booster = trained(features, labels)
    booster.save_model(tmp_path / "m.json")
    own, of_zeros = (booster.predict(xgboost.DMatrix(given)) for given in (features, np.nan_to_num(features)))
    assert abs(own - of_zeros).max() > 0.2
    for how in ({}, {"omitted": "missing"}):
        dataset = load_dataset(path, **how)
        assert (opened("xgboost", dataset, tmp_path / "m.json") == own).all()
        assert (fitted_scores("booster", booster, dataset) == own).all()
    assert (opened("xgboost", load_dataset(path, omitted="zero"), tmp_path / "m.json") == of_zeros).all()


def test_zeros_beside_omitted_features_need_the_option(sparse, tmp_path):
    features, labels, _ = sparse
    booster = trained(features, labels)
    features[:5, 2] = 0
    path = written(tmp_path / "zeros.txt", features, labels)
    with pytest.raises(InputError, match=r"trained with missing values, .*zeros and omits.*--omitted missing"):
        fitted_scores("booster", booster, load_dataset(path))
    own = booster.predict(xgboost.DMatrix(features))
    assert (fitted_scores("booster", booster, load_dataset(path, omitted="missing")) == own).all()


def test_entries_that_a_sparse_matrix_omits_are_missing_for_a_model_trained_on_it(sparse):
    features, labels, _ = sparse
    matrix = scipy.sparse.csr_matrix(np.nan_to_num(features))  # which stores no zeros
    model = xgboost.XGBRegressor(n_estimators=5, max_depth=3, n_jobs=1).fit(matrix, labels)
    own, queries = model.predict(matrix), np.arange(DOCUMENTS) // QUERY
    assert abs(own - model.predict(matrix.toarray())).max() > 0.2
    for how in ({}, {"omitted": "missing"}):
        dataset = Dataset.from_arrays(matrix, labels.astype(int), queries, **how)
        assert (fitted_scores("m", model, dataset) == own).all()
    matrix.data[:5] = 0
    with pytest.raises(InputError, match=r"zeros and omits.*\(in Python omitted=\)"):
        fitted_scores("m", model, Dataset.from_arrays(matrix, labels.astype(int), queries))


@pytest.mark.parametrize("omitted", ["zero", "missing"])
def test_a_model_that_does_not_tell_what_it_was_trained_with_needs_the_option(tmp_path, omitted):
    """Features that are 1 or omitted: XGBoost sends all missing values the same way, as without missing values."""
    present = np.random.default_rng(1).random((DOCUMENTS, 2)) < 0.5
    features = np.where(present, 1, np.nan if omitted == "missing" else 0).astype(np.float32)
    path = written(tmp_path / "ones.txt", np.where(present, 1, np.nan), present[:, 0])
    booster = trained(features, present[:, 0])
    with pytest.raises(InputError, match="say what the model was trained with: --omitted zero or --omitted missing"):
        fitted_scores("booster", booster, load_dataset(path))
    scores = fitted_scores("booster", booster, load_dataset(path, omitted=omitted))
    assert (scores == booster.predict(xgboost.DMatrix(features))).all()


def test_a_model_for_which_zero_is_missing_needs_no_option(sparse):
    features, labels, path = sparse
    model = xgboost.XGBRegressor(n_estimators=3, missing=0.0).fit(np.nan_to_num(features), labels)
    assert (fitted_scores("m", model, load_dataset(path)) == model.predict(np.nan_to_num(features))).all()


@pytest.fixture
def corpus():
    return make_corpus(queries=10, documents=6, features=3, seed=2)


@pytest.mark.parametrize("early", [True, False])
def test_early_stopping_gives_one_answer_in_python_and_from_a_file(corpus, tmp_path, early):
    half = corpus.n_docs // 2
    model = xgboost.XGBRegressor(n_estimators=30, early_stopping_rounds=2 if early else None, n_jobs=1)
    held_out = [(corpus.features[half:], -corpus.relevance[half:])]
    model.fit(corpus.features[:half], corpus.relevance[:half], eval_set=held_out, verbose=False)
    model.save_model(tmp_path / "m.json")
    own = model.predict(corpus.features)
    assert (opened("xgboost", corpus, tmp_path / "m.json") == own).all()
    assert (fitted_scores("m", model, corpus) == own).all()
    booster = model.get_booster()
    booster.save_model(tmp_path / "b.json")
    own = booster.predict(xgboost.DMatrix(corpus.features))  # of all iterations
    assert (opened("xgboost", corpus, tmp_path / "b.json") == own).all()
    assert (fitted_scores("b", booster, corpus) == own).all()
    (ranker,) = KINDS["xgboost"](corpus, tmp_path / "b.json")
    assert ("although early stopping found iteration" in ranker.about.get("note", "")) == early


def test_categories_of_a_data_frame_are_refused_and_their_numbers_are_not(tmp_path):
    codes = np.arange(DOCUMENTS) % 4
    frame = pd.DataFrame({"kind": pd.Categorical(10 * codes), "x": np.arange(DOCUMENTS) % 7})
    labels = np.array([3, 0, 2, 1])[codes]
    features = np.stack([codes, frame["x"]], 1).astype(np.float32)
    dataset = load_dataset(written(tmp_path / "c.txt", features, labels), feature_names=["kind", "x"])
    settings = {"verbose": -1, "min_data_in_leaf": 2, "min_data_per_group": 2, "cat_smooth": 1}
    on_frame = lightgbm.train(settings, lightgbm.Dataset(frame, labels), 3)
    with pytest.raises(InputError, match="trained on categories of a data frame"):
        fitted_scores("m", on_frame, dataset)
    on_codes = lightgbm.train(settings, lightgbm.Dataset(features, labels, categorical_feature=[0]), 3)
    assert (fitted_scores("m", on_codes, dataset) == on_codes.predict(features)).all()
    on_frame = xgboost.train({}, xgboost.DMatrix(frame, labels, enable_categorical=True), 3)
    on_frame.save_model(tmp_path / "m.json")
    with pytest.raises(InputError, match="trained on categories of a data frame"):
        opened("xgboost", dataset, tmp_path / "m.json")
    on_codes = trained(features, labels, ["c", "q"])
    own = on_codes.predict(xgboost.DMatrix(features, feature_types=["c", "q"], enable_categorical=True))
    assert (fitted_scores("m", on_codes, dataset) == own).all()


def test_columns_of_fitted_models_are_matched_by_name(corpus):
    named = replace(corpus, feature_names=("body length", "bm25", "age"))
    frame = pd.DataFrame(named.features[:, [2, 0]], columns=["age", "body length"])
    models = [
        LinearRegression().fit(frame, named.relevance),
        xgboost.XGBRegressor(n_estimators=3).fit(frame, named.relevance),
        lightgbm.LGBMRegressor(n_estimators=3, verbose=-1, min_child_samples=2).fit(frame, named.relevance),
    ]
    for model in models:
        assert fitted_scores("m", model, named) == pytest.approx(model.predict(frame), abs=1e-6)


@pytest.mark.parametrize(
    ("names", "own", "columns"),
    [
        (None, ("1", "2", "3"), None),
        (["f0", "f1", "f2"], ("1", "2", "3"), None),
        (["Column_0", "Column_1", "Column_2"], ("bm25", "age", "links"), None),
        (["bm25", "age", "links"], ("1", "2", "3"), None),
        (["bm25", "age", "links"], ("bm25", "age", "links"), None),
        (["links", "bm25"], ("bm25", "age", "links"), [2, 0]),
        (["3", "1"], ("1", "2", "3"), [2, 0]),
        (["a_b", "c", "d"], ("d", "a b", "c"), [1, 2, 0]),
        (["f2", "f0", "f1"], ("1", "2", "3"), "in the order f2, f0, f1"),
        (["bm25", "age", "clicks"], ("bm25", "age", "links"), "a feature called 'clicks', which .* does not have"),
        (["a", "b"], ("1", "2", "3"), "trained on 2 features; .* has 3"),
        (["f0", "f1", "f2", "f3"], ("1", "2", "3"), "has 3; .* --first-id 0; .* --features 4"),
    ],
)
def test_columns_of_a_model(corpus, names, own, columns):
    dataset = replace(corpus, feature_names=own)
    count = 3 if names is None else len(names)
    if not isinstance(columns, str):
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always")
            assert model_columns("m", count, names, dataset) == columns
        only_the_model_has_names = (names or [""])[0] == "bm25" and own[0] == "1"
        assert [one.category for one in notes] == [MatchWarning] * only_the_model_has_names
        return
    with pytest.raises(InputError, match=columns):
        model_columns("m", count, names, dataset)


@pytest.mark.parametrize(("name", "start"), [("m.bin", b"binf\0\0"), ("m.model", b"\0\0\0?")])
def test_an_old_binary_model_is_refused_with_the_version_that_reads_it(corpus, tmp_path, name, start):
    (tmp_path / name).write_bytes(start)
    with pytest.raises(InputError, match=r"XGBoost 3\.1 and later do not read; .*'xgboost<3\.1'"):
        opened("xgboost", corpus, tmp_path / name)


def test_a_lightgbm_model_without_one_of_its_trees_is_refused(corpus, tmp_path):
    """LightGBM itself would end the process."""
    data = lightgbm.Dataset(corpus.features, corpus.relevance)
    text = lightgbm.train({"verbose": -1, "num_threads": 1, "min_data_in_leaf": 1}, data, 3).model_to_string()
    for ends in ("\n", "\r\n"):
        cut = text[: text.index("Tree=1")] + text[text.index("Tree=2") :]
        (tmp_path / "cut.txt").write_bytes(cut.replace("\n", ends).encode())
        with pytest.raises(InputError, match=r"cut\.txt: not a LightGBM model, or cut short"):
            opened("lightgbm", corpus, tmp_path / "cut.txt")


def test_a_model_whose_missing_value_is_none_has_nan_as_missing(corpus):
    model = xgboost.XGBRanker(missing=None, n_estimators=2, n_jobs=1)
    model.fit(corpus.features, corpus.relevance, group=corpus.query_sizes)
    expected = model.get_booster().predict(xgboost.DMatrix(corpus.features))
    assert fitted_scores("model", model, corpus).tolist() == expected.tolist()
