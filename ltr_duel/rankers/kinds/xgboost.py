"""``xgboost:FILE``: an XGBoost model in its JSON format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ltr_duel.core import InputError
from ltr_duel.data import Dataset
from ltr_duel.rankers.models import check_features, model_file, model_ranker, needed_library
from ltr_duel.rankers.scores import Ranker


def open_xgboost(dataset: Dataset, what: str) -> list[Ranker]:
    """Read a model file."""
    path = model_file(what, "xgboost")
    if path.suffix != ".json":
        raise InputError(
            f"{path}: an XGBoost model is read from .json; convert other formats with"
            f" xgboost.Booster(model_file='{path.name}').save_model('{path.stem}.json')"
        )
    content = path.read_bytes()
    try:
        model = json.loads(content)
    except (ValueError, RecursionError):  # XGBoost would end the process for some of these files
        raise InputError(f"{path}: not an XGBoost model, or cut short; write it with Booster.save_model") from None
    _require_one_score(path, model)
    with needed_library("xgboost"):
        import xgboost
    booster = xgboost.Booster()
    try:
        booster.load_model(bytearray(content))
    except (xgboost.core.XGBoostError, ValueError):
        raise InputError(f"{path}: not an XGBoost model, or cut short; write it with Booster.save_model") from None
    check_features(str(path), booster.num_features(), dataset)
    return model_ranker(path, "xgboost", dataset, lambda features: booster.predict(xgboost.DMatrix(features)))


def _require_one_score(path: Path, model: Any) -> None:
    """Raise `InputError` unless this is the content of a model with one score for each document."""
    try:
        sizes = model["learner"]["learner_model_param"]
        several = int(sizes.get("num_class", 0)) > 1 or int(sizes.get("num_target", 1)) > 1
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError(f"{path}: not an XGBoost model; write it with Booster.save_model") from None
    if several:
        raise InputError(f"{path}: not a model of rankings: it has several scores for each document")
