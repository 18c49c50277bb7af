"""``xgboost:FILE``: an XGBoost model in its JSON format.

XGBoost reads text differently from this package: a feature that a line omits is missing there, and 0 here. The two give
different scores only for a model with a split at which zeros and missing values part. Training without missing values
sends them the same way at all splits; if the ways differ, the model was trained with missing values.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError
from ltr_duel.data import Dataset
from ltr_duel.rankers.models import Predict, model_columns, model_file, model_ranker, needed_library
from ltr_duel.rankers.scores import Ranker

_RECORDS_CATEGORIES = [3, 1]  # the first version whose models contain the categories of a data frame


def open_xgboost(dataset: Dataset, what: str) -> list[Ranker]:
    """Read a model file."""
    path = model_file(what, "xgboost")
    content = path.read_bytes()
    try:
        version = json.loads(content)["version"]
    except (ValueError, KeyError, TypeError, RecursionError):  # XGBoost would end the process for some of these files
        raise _not_json(path, content) from None
    with needed_library("xgboost"):
        import xgboost
    booster = xgboost.Booster()
    try:
        booster.load_model(bytearray(content))
    except (xgboost.core.XGBoostError, ValueError):
        raise InputError(f"{path}: not an XGBoost model, or damaged; write it with Booster.save_model") from None
    best = booster.attr("best_iteration") if booster.attr("scikit_learn") else None  # as XGBRanker.load_model
    predict, about = booster_predict(str(path), booster, dataset, best=best, version=version)
    return model_ranker(path, "xgboost", dataset, predict, about)


def _not_json(path: Path, content: bytes) -> InputError:
    call = f"xgboost.Booster(model_file={str(path)!r}).save_model({str(path.with_suffix('.json'))!r})"
    if content[:2] == b"{L":
        return InputError(f"{path}: an XGBoost model is read from .json; convert other formats with {call}")
    if content[:4] == b"binf" or path.suffix in (".bin", ".model"):
        return InputError(
            f"{path}: if this is an XGBoost model, it is in the binary format, which XGBoost 3.1 and later do not read;"
            f" in an environment with an older version (pip install 'xgboost<3.1'), convert it with {call}"
        )
    return InputError(f"{path}: not an XGBoost model, or cut short; write it with Booster.save_model to a .json file")


def booster_predict(
    label: str,
    booster: Any,
    dataset: Dataset,
    *,
    best: Any = None,
    version: list[int] | None = None,
    missing: float = np.nan,
) -> tuple[Predict, dict[str, Any]]:
    """Return the predictions of a booster, as XGBoost makes them, and facts for the provenance.

    label: of the model, for messages.
    best: position of the best iteration, if the iterations after it are not used.
    version: of the XGBoost that trained the model; by default the installed version.
    missing: the value that means a missing value, in addition to NaN.
    """
    import xgboost

    model = json.loads(bytes(booster.save_raw("json")))
    learner = model["learner"]
    sizes = learner["learner_model_param"]
    if int(sizes.get("num_class", 0)) > 1 or int(sizes.get("num_target", 1)) > 1:
        raise InputError(f"{label}: not a model of rankings: it has several scores for each document")
    forest = learner["gradient_booster"]
    content = forest.get("gbtree", forest)["model"]
    kinds = booster.feature_types
    coded = (version or model["version"]) >= _RECORDS_CATEGORIES and not content.get("cats", {}).get("enc")
    if "c" in (kinds or ()) and not coded:
        raise InputError(
            f"{label} was trained on categories of a data frame, and features in text are numbers; train it on numbers"
            " of categories, with feature_types and XGBoost 3.1 or later"
        )
    columns = model_columns(label, booster.num_features(), booster.feature_names, dataset)
    if np.isnan(missing):
        missing = _missing_value(label, content.get("trees", []), dataset)
    rounds = 0 if best is None or forest["name"] == "gblinear" else int(best) + 1  # 0: all
    about: dict[str, Any] = {"iterations": rounds} if rounds else {}
    if not rounds and (found := booster.attr("best_iteration")):
        about["note"] = (
            f"all {booster.num_boosted_rounds()} iterations are used, as by Booster.predict, although early stopping"
            f" found iteration {int(found) + 1} best"
        )

    def predict(features: NDArray[np.float32]) -> Any:
        features = features if columns is None else features[:, columns]
        try:
            data = xgboost.DMatrix(
                features, missing=missing, feature_names=booster.feature_names, feature_types=kinds,
                enable_categorical=True,
            )  # fmt: skip
            return booster.predict(data, iteration_range=(0, rounds))
        except xgboost.core.XGBoostError as error:
            raise InputError(f"{label}: the model cannot be run: {str(error).splitlines()[0]}") from None

    return predict, about


def _missing_value(label: str, trees: list[dict[str, Any]], dataset: Dataset) -> float:
    """Return the value in ``dataset.features`` that means a missing value: NaN, or 0 if all zeros are omitted features.

    Raises `InputError` if the user has to say what omitted features mean.
    """
    if not dataset.omitted:
        return np.nan
    ways, parted = set(), False
    for tree in trees:
        inner = np.array(tree["left_children"]) >= 0
        left = np.array(tree["default_left"])[inner].astype(bool)
        numeric = np.array(tree.get("split_type") or np.zeros(len(inner)))[inner] == 0
        ways.update(left.tolist())
        parted |= bool((~numeric | (left != (np.array(tree["split_conditions"])[inner] > 0))).any())
    if not parted:
        return np.nan
    if len(ways) < 2:
        raise InputError(
            f"{label} scores a feature that is 0 and a missing feature differently, and {dataset.name} omits features;"
            " say what the model was trained with: --omitted zero or --omitted missing"
        )
    if dataset.omitted == "some zeros":
        raise InputError(
            f"{label} was trained with missing values, and {dataset.name} has zeros and omits features; --omitted"
            " missing reads omitted features as missing, as XGBoost does, and --omitted zero as 0"
        )
    return 0.0
