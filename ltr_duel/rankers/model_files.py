"""Get scores from models of LightGBM, XGBoost and ONNX, which are objects in memory or files.

Each library reads its own files and makes the predictions. Pickles are refused, because they could run code.
"""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError, digest
from ltr_duel.data import Dataset
from ltr_duel.rankers.models import Predict, check_features, model_columns, predicted
from ltr_duel.rankers.scores import Ranker

_TREE_SIZES = re.compile(r"^tree_sizes=.*\n", re.MULTILINE)  # bytes of each tree, wrong after a change of line ends
_SEVERAL = "not a model of rankings: it has several scores for each document"
_CATEGORIES = "was trained on categories of a data frame, and features in text are numbers; train it on numbers"


def lightgbm_predict(label: str, booster: Any, dataset: Dataset) -> Predict:
    """Return a function that predicts scores with a LightGBM booster."""
    if booster.num_model_per_iteration() != 1:
        raise InputError(f"{label}: {_SEVERAL}")
    if booster.pandas_categorical:
        raise InputError(f"{label} {_CATEGORIES}")
    columns = model_columns(label, booster.num_feature(), booster.feature_name(), dataset)
    return lambda features: booster.predict(features[:, columns])


def xgboost_predict(
    label: str, booster: Any, dataset: Dataset, *, best: Any = None, missing: float | None = np.nan
) -> Predict:
    """Return a function that predicts scores with an XGBoost booster.

    best: position of the last iteration to use. By default, all iterations are used.
    missing: a value that stands for missing values, in addition to NaN.
    """
    import xgboost

    missing = np.nan if missing is None else missing
    learner = json.loads(booster.save_config())["learner"]
    sizes = learner["learner_model_param"]
    if int(sizes.get("num_class", 0)) > 1 or int(sizes.get("num_target", 1)) > 1:
        raise InputError(f"{label}: {_SEVERAL}")
    if "c" in (booster.feature_types or ()):
        raise InputError(f"{label} {_CATEGORIES}")
    if dataset.omits and np.isnan(missing):
        raise InputError(
            f"{label}: XGBoost reads features that {dataset.name} omits as missing; say what they were in training:"
            " --omitted missing or --omitted zero (in Python omitted=)"
        )
    columns = model_columns(label, booster.num_features(), booster.feature_names, dataset)
    rounds = 0 if best is None or learner["gradient_booster"]["name"] == "gblinear" else int(best) + 1  # 0: all
    names = {"feature_names": booster.feature_names, "feature_types": booster.feature_types}

    def predict(features: NDArray[np.float32]) -> Any:
        data = xgboost.DMatrix(features[:, columns], missing=missing, **names)
        return booster.predict(data, iteration_range=(0, rounds))

    return predict


def open_lightgbm(dataset: Dataset, path: Path) -> list[Ranker]:
    """``lightgbm:FILE``: a LightGBM model in its text format."""
    text = _content(path, "lightgbm").decode("utf-8", "replace").replace("\r\n", "\n")
    sizes = _TREE_SIZES.search(text)
    whole = sizes is None or text.count("\nTree=") == len(sizes[0].split())  # LightGBM ends the process if not
    damaged = InputError(f"{path}: not a LightGBM model, or cut short; write it with Booster.save_model")
    if not text.startswith("tree\n") or "\nend of trees" not in text or not whole:
        raise damaged
    lightgbm = _library("lightgbm")
    try:
        booster = lightgbm.Booster(model_str=_TREE_SIZES.sub("", text, count=1))
    except (lightgbm.basic.LightGBMError, ValueError):
        raise damaged from None
    return _ranker(path, "lightgbm", dataset, lightgbm_predict(str(path), booster, dataset))


def open_xgboost(dataset: Dataset, path: Path) -> list[Ranker]:
    """``xgboost:FILE``: an XGBoost model in its JSON format."""
    content = _content(path, "xgboost")
    call = f"model = xgboost.Booster(model_file={str(path)!r}); model.save_model({str(path.with_suffix('.json'))!r})"
    damaged = InputError(
        f"{path}: not an XGBoost model in JSON, or cut short; the old binary format needs an XGBoost before 3.1"
        f" (pip install 'xgboost<3.1'); convert other formats with {call}"
    )
    try:
        is_model = {"version", "learner"} <= set(json.loads(content))
    except (ValueError, TypeError, RecursionError):
        is_model = False
    if not is_model:  # XGBoost would end the process for some of these files
        raise damaged
    xgboost = _library("xgboost")
    booster = xgboost.Booster()
    try:
        booster.load_model(bytearray(content))
    except (xgboost.core.XGBoostError, ValueError):
        raise damaged from None
    best = booster.attr("best_iteration") if booster.attr("scikit_learn") else None  # as XGBRanker.load_model
    return _ranker(path, "xgboost", dataset, xgboost_predict(str(path), booster, dataset, best=best))


def open_onnx(dataset: Dataset, path: Path) -> list[Ranker]:
    """``onnx:FILE``: an ONNX model that takes one matrix of features and returns one score for each row."""
    content, onnxruntime = _content(path, "onnx"), _library("onnxruntime")
    try:
        session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime defines a separate class for each kind of error
        reason, version = str(error).splitlines()[0], onnxruntime.__version__
        raise InputError(f"{path}: not an ONNX model that onnxruntime {version} reads ({reason})") from None
    inputs = session.get_inputs()
    if len(inputs) != 1 or len(inputs[0].shape) != 2:
        raise InputError(f"{path}: the model has {len(inputs)} inputs; a single matrix of features is needed")
    if isinstance(inputs[0].shape[1], int):
        check_features(str(path), inputs[0].shape[1], dataset)

    def predict(features: NDArray[np.float32]) -> Any:
        return session.run(None, {inputs[0].name: np.ascontiguousarray(features)})[0]

    return _ranker(path, "onnx", dataset, predict)


def _content(path: Path, kind: str) -> bytes:
    if not path.is_file():
        raise InputError(f"{path}: there is no such {kind} model file")
    content = path.read_bytes()
    if content[:1] == b"\x80" and content[1:2] <= b"\x05":
        raise InputError(f"{path}: this is a pickle, which could run code; save the model in {kind}'s own format")
    return content


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        way = "pip install 'ltr-duel[models]', or '.[models]' in the folder of the source"
        raise InputError(f"{name} is not installed; install it with: {way}") from None


def _ranker(path: Path, kind: str, dataset: Dataset, predict: Predict) -> list[Ranker]:
    origin = {"kind": kind, "file": path.name, "sha256": digest.sha256_file(path)}
    return [Ranker(f"{kind}:{path.stem}", lambda: predicted(str(path), predict, dataset), origin)]
