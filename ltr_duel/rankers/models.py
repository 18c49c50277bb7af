"""Trained models as rankers: the score of a document is the model's prediction from its features.

Nothing is unpickled: a model file is read by the model's library, in a format that contains only numbers. The library's
predictions are used unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
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
        An object with a method ``predict`` (a fitted scikit-learn estimator, a LightGBM or XGBoost booster), or a
        function. The method or function receives features, shape (n, n_features), and returns one score for each
        document; a higher score is better. ``predict`` receives at most 65,536 documents per call; a function receives
        all documents. Columns are matched by name if model and corpus have names, else by position.
    ties, seed, jobs
        As for `feature_rankers`.

    Returns
    -------
    Rankings

    Raises
    ------
    InputError
        If there is no model, a model was fitted on other features, or a model does not return one finite number for
        each document.

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
    label = f"model '{name}'"
    predict = getattr(model, "predict", None)
    if not callable(predict):
        if not callable(model):
            raise InputError(f"{label} is a {type(model).__name__}: it has no method predict and cannot be called")
        return checked_scores(label, model(dataset.features), dataset.n_docs)
    library = {one.__module__.partition(".")[0] for one in type(model).__mro__}
    if "xgboost" in library and not hasattr(model, "classes_"):  # a classifier predicts classes
        from ltr_duel.rankers.kinds.xgboost import booster_predict

        booster = model.get_booster() if hasattr(model, "get_booster") else model
        given = {"best": booster.attr("best_iteration"), "missing": model.missing} if booster is not model else {}
        return predicted(label, booster_predict(label, booster, dataset, **given)[0], dataset)
    if "lightgbm" in library and not hasattr(model, "classes_"):
        from ltr_duel.rankers.kinds.lightgbm import booster_predict as lightgbm_predict

        return predicted(label, lightgbm_predict(label, getattr(model, "booster_", model), dataset), dataset)
    names = getattr(model, "feature_names_in_", None)  # of scikit-learn, if the model was fitted on a data frame
    columns = model_columns(label, int(getattr(model, "n_features_in_", dataset.n_features)), names, dataset)

    def predict_named(features: NDArray[np.float32]) -> Any:
        chosen = features if columns is None else features[:, columns]
        return predict(chosen if names is None else pd.DataFrame(chosen, columns=names))

    return predicted(label, predict_named, dataset)


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


def model_ranker(
    path: Path, kind: str, dataset: Dataset, predict: Predict, facts: Mapping[str, Any] | None = None
) -> list[Ranker]:
    """Return the ranker of a model file; ``facts`` are added to its provenance."""
    about = {"kind": kind, "file": path.name, "sha256": digest.sha256_file(path), **(facts or {})}
    return [Ranker(f"{kind}:{path.stem}", lambda: predicted(str(path), predict, dataset), about)]


def predicted(model: str, predict: Predict, dataset: Dataset) -> NDArray[np.float64]:
    """Return a model's predictions, computed in blocks to limit the memory that the library needs to copy features."""
    scores = np.empty(dataset.n_docs)
    for start in range(0, dataset.n_docs, _BLOCK):
        rows = slice(start, min(start + _BLOCK, dataset.n_docs))
        scores[rows] = checked_scores(model, predict(dataset.features[rows]), rows.stop - start)
        mapped.release_pages(dataset.features)
    return scores


def model_columns(model: str, trained: int, names: Iterable[Any] | None, dataset: Dataset) -> list[int] | None:
    """Return the columns of the corpus that a model predicts from, in its order; None for all, as they are.

    The columns are matched by name if the corpus has all names of the model (LightGBM writes blanks as underscores),
    else by position. The usual numbers, such as f0 or Column_0, are no names.

    Raises `InputError` if names or numbers of features disagree.
    """
    given = () if names is None else names
    wanted, own = ([re.sub(r"\s", "_", str(name)) for name in some] for some in (given, dataset.feature_names))
    position = {name: column for column, name in enumerate(own)}
    if wanted and len(position) == len(own) and position.keys() >= set(wanted):
        columns = [position[name] for name in wanted]
        return None if columns == list(range(dataset.n_features)) else columns
    numbers = [re.fullmatch(r"(\D*)(\d+)", name) for name in wanted]
    if wanted and all(numbers) and len({number[1] for number in numbers if number}) == 1:
        order = [int(number[2]) for number in numbers if number]
        if order != sorted(order):
            raise InputError(
                f"{model} was trained on features in the order {', '.join(wanted[:4])}, ..., and {dataset.name} has no"
                " such names; give names of its features (feature_names)"
            )
    elif wanted and not all(name.isdecimal() for name in own):
        unknown = next(name for name in wanted if name not in position)
        raise InputError(f"{model} was trained on a feature called '{unknown}', which {dataset.name} does not have")
    check_features(model, trained, dataset)
    return None


def check_features(model: str, trained: int, dataset: Dataset) -> None:
    """Raise `InputError` if a model was trained on a different number of features."""
    if trained == dataset.n_features:
        return
    way = ""
    if trained == dataset.n_features + 1:
        way = "; LightGBM and XGBoost read text with ids from 1 as if they began at 0, and so does --first-id 0"
    if trained > dataset.n_features:
        way += f"; if the text only omits the last features, --features {trained} adds them"
    raise InputError(f"{model} was trained on {trained:,} features; {dataset.name} has {dataset.n_features:,}{way}")


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
