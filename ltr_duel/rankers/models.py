"""Make rankers from trained models. The score of a document is the model's prediction from its features."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ltr_duel.core import InputError, mapped
from ltr_duel.data import Dataset
from ltr_duel.rankers.rankings import Rankings
from ltr_duel.rankers.scores import rankings_from_scores
from ltr_duel.rankers.ties import TieRule

Predict = Callable[[NDArray[np.float32]], Any]
_BLOCK = 2**16  # documents per call of a model


class MatchWarning(UserWarning):
    """A warning that the features of a model and of a corpus were matched by position, not by name."""


def model_rankers(
    dataset: Dataset, models: Mapping[str, Any], *, ties: TieRule = "fixed_random", seed: int = 0, jobs: int = -1
) -> Rankings:
    """Build one ranker for each fitted model.

    Parameters
    ----------
    dataset : Dataset
    models : mapping of str to estimator or callable
        The name and the model of each ranker. A model is a function, or an object with a method ``predict``. It
        receives the features of n documents, shape (n, n_features), and returns one score for each document. A higher
        score is better. If the model and the corpus both have names of features, columns are matched by name, otherwise
        by position. If only the model has names, you get a warning.
    ties, seed, jobs
        The same parameters as in `feature_rankers`.

    Returns
    -------
    Rankings

    Raises
    ------
    InputError
        If a model was fitted on other features, or does not return one finite number for each document.

    Examples
    --------
    >>> from ltr_duel.data import make_corpus
    >>> corpus = make_corpus(queries=10, documents=8, features=3)
    >>> model_rankers(corpus, {"sum": lambda features: features.sum(axis=1)}).names
    ('sum',)
    """
    scores = {name: fitted_scores(name, model, dataset) for name, model in models.items()}
    rankings = rankings_from_scores(dataset, scores, ties=ties, seed=seed, jobs=jobs)
    origin = {name: {"kind": "model", "class": type(model).__name__} for name, model in models.items()}
    return replace(rankings, provenance={**rankings.provenance, "rankers": origin})


def fitted_scores(name: str, model: Any, dataset: Dataset) -> NDArray[np.float64]:
    """Return the prediction of a fitted model, or of a function, for each document, shape (n_docs,)."""
    from ltr_duel.rankers import model_files

    label = f"model '{name}'"
    if not callable(getattr(model, "predict", None)):
        if not callable(model):
            raise InputError(f"{label} is a {type(model).__name__}: it has no method predict and cannot be called")
        return checked_scores(label, model(dataset.features), dataset.n_docs)
    libraries = {base.__module__.partition(".")[0] for base in type(model).__mro__}
    classes = hasattr(model, "classes_")  # a classifier predicts classes, unlike its booster
    if "xgboost" in libraries and not classes:
        booster = model.get_booster() if hasattr(model, "get_booster") else model
        fit = {} if booster is model else {"best": booster.attr("best_iteration"), "missing": model.missing}
        return predicted(label, model_files.xgboost_predict(label, booster, dataset, **fit), dataset)
    if "lightgbm" in libraries and not classes:
        booster = getattr(model, "booster_", model)
        return predicted(label, model_files.lightgbm_predict(label, booster, dataset), dataset)
    names = getattr(model, "feature_names_in_", None)  # of scikit-learn, if the model was fitted on a data frame
    columns = model_columns(label, int(getattr(model, "n_features_in_", dataset.n_features)), names, dataset)

    def predict(features: NDArray[np.float32]) -> Any:
        features = features[:, columns]
        return model.predict(features if names is None else pd.DataFrame(features, columns=names))

    return predicted(label, predict, dataset)


def predicted(model: str, predict: Predict, dataset: Dataset) -> NDArray[np.float64]:
    """Return a model's prediction for each document. The model receives the documents in blocks."""
    scores = np.empty(dataset.n_docs)
    for start in range(0, dataset.n_docs, _BLOCK):
        rows = slice(start, min(start + _BLOCK, dataset.n_docs))
        scores[rows] = checked_scores(model, predict(dataset.features[rows]), rows.stop - start)
        mapped.release_pages(dataset.features)
    return scores


def checked_scores(model: str, predictions: Any, documents: int) -> NDArray[np.float64]:
    """Check that each prediction is a finite number, and return the predictions as scores, shape (documents,)."""
    scores = np.asarray(predictions)
    if scores.shape not in ((documents,), (documents, 1)) or scores.dtype.kind not in "fiu":
        needed = f"one number for each of the {documents:,} documents is needed"
        raise InputError(f"{model} predicts an array of {scores.dtype} and shape {scores.shape}; {needed}")
    flat = scores.reshape(-1).astype(np.float64)
    if not np.isfinite(flat).all():
        raise InputError(f"{model} predicts {flat[~np.isfinite(flat)][0]} for a document; scores must be finite")
    return flat


def model_columns(model: str, trained: int, names: Iterable[Any] | None, dataset: Dataset) -> list[int] | slice:
    """Return the columns of the corpus from which a model predicts, in the model's order.

    If the corpus has all names of the model's features, columns are matched by name. Otherwise they are matched by
    position, with a `MatchWarning` if only the model has names. Names like f0 or Column_0 do not count.
    """
    groups = (() if names is None else names, dataset.feature_names)
    wanted, own = ([re.sub(r"\s", "_", str(name)) for name in group] for group in groups)
    if wanted and len(set(own)) == len(own) and set(wanted) <= set(own):
        return [own.index(name) for name in wanted]
    matches = [number for name in wanted if (number := re.fullmatch(r"(\D*)(\d+)", name))]
    numbers = [int(match[2]) for match in matches]
    numbered = len(numbers) == len(wanted) and len({match[1] for match in matches}) < 2
    some = ", ".join(wanted[:4]) + ", ..." * (len(wanted) > 4)
    check_features(model, trained, dataset)
    if not numbered or numbers != sorted(numbers):
        if numbered or not all(map(str.isdecimal, own)):
            raise InputError(f"{model} was trained on features called {some}, which {dataset.name} does not have")
        note = f"{dataset.name} has none; they are matched by position"
        warnings.warn(f"{model} was trained on features with names ({some}), and {note}", MatchWarning, stacklevel=2)
    return slice(None)


def check_features(model: str, trained: int, dataset: Dataset) -> None:
    """Raise `InputError` if a model was trained on a different number of features."""
    if trained != dataset.n_features:
        raise InputError(
            f"{model} was trained on {trained:,} features; {dataset.name} has {dataset.n_features:,}; --features N adds"
            " features that the text omits, and --first-id 0 counts from 0, as LightGBM and XGBoost read text"
        )
