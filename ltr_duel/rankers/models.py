"""Trained models as rankers: the score of a document is the model's prediction from its features.

Nothing is unpickled: a model file is read by the model's library, in a format that contains only numbers. The library's
predictions are used unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError, digest, mapped, places
from ltr_duel.data import Dataset
from ltr_duel.rankers.rankings import Rankings
from ltr_duel.rankers.scores import Ranker, rankings_from_scores
from ltr_duel.rankers.ties import TieRule

Predict = Callable[[NDArray[np.float32]], Any]

_BLOCK = 2**16  # documents per call of a model


def model_rankers(
    dataset: Dataset, models: Mapping[str, Any], *, ties: TieRule = "fixed_random", seed: int = 0, jobs: int = -1
) -> Rankings:
    """Build one ranker for each fitted model.

    Parameters
    ----------
    dataset : Dataset
    models : mapping of str to estimator or callable
        An object with a method ``predict`` (a fitted scikit-learn estimator, a LightGBM booster), or a function. The
        method or function receives features, shape (n, n_features), and returns one score for each document; a higher
        score is better. ``predict`` receives at most 65,536 documents per call; a function receives all documents.
    ties, seed, jobs
        As for `feature_rankers`.

    Returns
    -------
    Rankings

    Raises
    ------
    InputError
        If there is no model, a model was fitted on a different number of features, or a model does not return one
        finite number for each document.

    Examples
    --------
    >>> from ltr_duel.data import make_corpus
    >>> corpus = make_corpus(queries=10, documents=8, features=3)
    >>> model_rankers(corpus, {"sum": lambda features: features.sum(axis=1)}).names
    ('sum',)
    """
    if not models:
        raise InputError("there is no model to rank by")
    names = tuple(models)
    scores = {name: fitted_scores(name, model, dataset) for name, model in models.items()}
    rankings = rankings_from_scores(dataset, names, lambda k: scores[names[k]].copy(), ties=ties, seed=seed, jobs=jobs)
    about = {name: {"kind": "model", "class": type(model).__name__} for name, model in models.items()}
    return replace(rankings, provenance={**rankings.provenance, "rankers": about})


def fitted_scores(name: str, model: Any, dataset: Dataset) -> NDArray[np.float64]:
    """Return the prediction of a fitted model, or of a function, for each document; shape (n_docs,)."""
    fitted = getattr(model, "n_features_in_", dataset.n_features)
    check_features(f"model '{name}'", int(fitted), dataset)
    predict = getattr(model, "predict", None)
    if callable(predict):
        return predicted(f"model '{name}'", predict, dataset)
    if not callable(model):
        raise InputError(f"model '{name}' is a {type(model).__name__}: it has no method predict and cannot be called")
    return checked_scores(f"model '{name}'", model(dataset.features), dataset.n_docs)


def model_file(what: str, kind: str) -> Path:
    """Return the path of a model file; raise `InputError` if the file is missing or is a pickle."""
    path = Path(what)
    if not what or not places.is_file(path):
        raise InputError(f"{path}: there is no such {kind} model file")
    with path.open("rb") as file:
        head = file.read(2)
    if head[:1] == b"\x80" and head[1:2] <= b"\x05":
        raise InputError(f"{path}: this is a pickle, which could run code; save the model in {kind}'s own format")
    return path


@contextmanager
def needed_library(name: str) -> Iterator[None]:
    """Raise `InputError` with installation instructions if the ``with`` block cannot import the library."""
    try:
        yield
    except ImportError:
        raise InputError(
            f"{name} is not installed; install it with: pip install 'ltr-duel[models]', or '.[models]' in the folder of"
            " the source"
        ) from None


def model_ranker(path: Path, kind: str, dataset: Dataset, predict: Predict) -> list[Ranker]:
    """Return the ranker of a model file."""
    about = {"kind": kind, "file": path.name, "sha256": digest.sha256_file(path)}
    return [Ranker(f"{kind}:{path.stem}", lambda: predicted(str(path), predict, dataset), about)]


def predicted(model: str, predict: Predict, dataset: Dataset) -> NDArray[np.float64]:
    """Return a model's predictions, computed in blocks to limit the memory that the library needs to copy features."""
    scores = np.empty(dataset.n_docs)
    for start in range(0, dataset.n_docs, _BLOCK):
        rows = slice(start, min(start + _BLOCK, dataset.n_docs))
        scores[rows] = checked_scores(model, predict(dataset.features[rows]), rows.stop - start)
        mapped.release_pages(dataset.features)
    return scores


def check_features(model: str, trained: int, dataset: Dataset) -> None:
    """Raise `InputError` if a model was trained on a different number of features."""
    if trained != dataset.n_features:
        raise InputError(f"{model} was trained on {trained:,} features; {dataset.name} has {dataset.n_features:,}")


def checked_scores(model: str, found: Any, documents: int) -> NDArray[np.float64]:
    """Return predictions as scores of shape (documents,); raise `InputError` unless each is a finite number."""
    scores = np.asarray(found)
    if scores.shape not in ((documents,), (documents, 1)) or scores.dtype.kind not in "fiu":
        raise InputError(
            f"{model} predicts an array of {scores.dtype} and shape {scores.shape};"
            f" one number for each of the {documents:,} documents is needed"
        )
    flat = scores.reshape(-1).astype(np.float64)
    if not np.isfinite(flat).all():
        raise InputError(f"{model} predicts {flat[~np.isfinite(flat)][0]} for a document; scores must be finite")
    return flat
