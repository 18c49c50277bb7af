"""Files of trained models: ``lightgbm:FILE`` (text), ``xgboost:FILE`` (JSON), ``onnx:FILE``, read by their libraries.

XGBoost reads text differently from this package: a feature that a line omits is missing there, and 0 here. The two give
different scores only for a model with a split at which zeros and missing values part. Training without missing values
sends them the same way at all splits; if the ways differ, the model was trained with missing values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError, digest
from ltr_duel.data import Dataset
from ltr_duel.rankers.models import Predict, check_features, model_columns, predicted
from ltr_duel.rankers.scores import Ranker

_TREE_SIZES = re.compile(r"^tree_sizes=.*\n", re.MULTILINE)  # bytes of each tree, wrong after a change of line ends
_RECORDS_CATEGORIES = [3, 1]  # the first version of XGBoost whose models contain the categories of a data frame
_SEVERAL = "not a model of rankings: it has several scores for each document"
_CATEGORIES = "was trained on categories of a data frame, and features in text are numbers; train it on numbers of"


def open_lightgbm(dataset: Dataset, path: Path) -> list[Ranker]:
    """Read a LightGBM model in its text format."""
    text = _content(path, "lightgbm").decode("utf-8", "replace").replace("\r\n", "\n")
    sizes = _TREE_SIZES.search(text)
    whole = sizes is None or text.count("\nTree=") == len(sizes[0].split())  # LightGBM ends the process if not
    damaged = InputError(f"{path}: not a LightGBM model, or cut short; write it with Booster.save_model")
    if not text.startswith("tree\n") or "\nend of trees" not in text or not whole:
        raise damaged
    with _library("lightgbm"):
        import lightgbm
    try:
        booster = lightgbm.Booster(model_str=_TREE_SIZES.sub("", text, count=1))
    except (lightgbm.basic.LightGBMError, ValueError):
        raise damaged from None
    return _ranker(path, "lightgbm", dataset, lightgbm_predict(str(path), booster, dataset))


def lightgbm_predict(label: str, booster: Any, dataset: Dataset) -> Predict:
    """Return the predictions of a booster; ``label`` names it in messages."""
    if booster.num_model_per_iteration() != 1:
        raise InputError(f"{label}: {_SEVERAL}")
    if booster.pandas_categorical:
        raise InputError(f"{label} {_CATEGORIES} categories, with categorical_feature")
    columns = model_columns(label, booster.num_feature(), booster.feature_name(), dataset)
    return lambda features: booster.predict(features if columns is None else features[:, columns])


def open_xgboost(dataset: Dataset, path: Path) -> list[Ranker]:
    """Read an XGBoost model in its JSON format."""
    content = _content(path, "xgboost")
    try:
        version = json.loads(content)["version"]
    except (ValueError, KeyError, TypeError, RecursionError):  # XGBoost would end the process for some of these files
        raise _not_json(path, content) from None
    with _library("xgboost"):
        import xgboost
    booster = xgboost.Booster()
    try:
        booster.load_model(bytearray(content))
    except (xgboost.core.XGBoostError, ValueError):
        raise InputError(f"{path}: not an XGBoost model, or damaged; write it with Booster.save_model") from None
    best = booster.attr("best_iteration") if booster.attr("scikit_learn") else None  # as XGBRanker.load_model
    return _ranker(path, "xgboost", dataset, *xgboost_predict(str(path), booster, dataset, best=best, version=version))


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


def xgboost_predict(
    label: str,
    booster: Any,
    dataset: Dataset,
    *,
    best: Any = None,
    version: list[int] | None = None,
    missing: float | None = np.nan,
) -> tuple[Predict, dict[str, Any]]:
    """Return the predictions of a booster, as XGBoost makes them, and facts for the provenance.

    label: of the model, for messages.
    best: position of the best iteration, if the iterations after it are not used.
    version: of the XGBoost that trained the model; by default the installed version.
    missing: the value that means a missing value, in addition to NaN; None: NaN alone.
    """
    import xgboost

    model = json.loads(bytes(booster.save_raw("json")))
    learner, kinds = model["learner"], booster.feature_types
    sizes, forest = learner["learner_model_param"], learner["gradient_booster"]
    if int(sizes.get("num_class", 0)) > 1 or int(sizes.get("num_target", 1)) > 1:
        raise InputError(f"{label}: {_SEVERAL}")
    content = forest.get("gbtree", forest)["model"]
    coded = (version or model["version"]) >= _RECORDS_CATEGORIES and not content.get("cats", {}).get("enc")
    if "c" in (kinds or ()) and not coded:
        raise InputError(f"{label} {_CATEGORIES} categories, with feature_types and XGBoost 3.1 or later")
    columns = model_columns(label, booster.num_features(), booster.feature_names, dataset)
    if missing is None or np.isnan(missing):
        missing = _missing_value(label, content.get("trees", []), dataset)
    rounds = 0 if best is None or forest["name"] == "gblinear" else int(best) + 1  # 0: all
    about: dict[str, Any] = {"iterations": rounds} if rounds else {}
    if not rounds and (stopped := booster.attr("best_iteration")):
        about["note"] = (
            f"all {booster.num_boosted_rounds()} iterations are used, as by Booster.predict, although early stopping"
            f" found iteration {int(stopped) + 1} best"
        )
    options = {"missing": missing, "feature_names": booster.feature_names, "feature_types": kinds}

    def predict(features: NDArray[np.float32]) -> Any:
        features = features if columns is None else features[:, columns]
        try:
            data = xgboost.DMatrix(features, enable_categorical=True, **options)
            return booster.predict(data, iteration_range=(0, rounds))
        except xgboost.core.XGBoostError as error:
            raise InputError(f"{label}: the model cannot be run: {str(error).splitlines()[0]}") from None

    return predict, about


def _missing_value(label: str, trees: list[dict[str, Any]], dataset: Dataset) -> float:
    """Return the value that means a missing value in ``dataset.features``: NaN, or 0 if all zeros are omitted.

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
            " say what the model was trained with: --omitted zero or --omitted missing (in Python omitted=)"
        )
    if dataset.omitted == "some zeros":
        raise InputError(
            f"{label} was trained with missing values, and {dataset.name} has zeros and omits features; --omitted"
            " missing reads omitted features as missing, as XGBoost does, and --omitted zero as 0 (in Python omitted=)"
        )
    return 0.0


def open_onnx(dataset: Dataset, path: Path) -> list[Ranker]:
    """Read an ONNX model whose input is one matrix of features and whose first output is a score for each row."""
    content = _content(path, "onnx")
    with _library("onnxruntime"):
        import onnxruntime
    try:
        session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime defines a separate class for each kind of error
        reason = str(error).splitlines()[0]
        if "opset" in reason.lower():
            raise InputError(
                f"{path}: written in a newer version of ONNX than onnxruntime {onnxruntime.__version__} reads; write it"
                " with a lower opset, or install a newer onnxruntime"
            ) from None
        raise InputError(f"{path}: not an ONNX model ({reason})") from None
    inputs = session.get_inputs()
    if len(inputs) != 1 or len(inputs[0].shape) != 2:
        raise InputError(f"{path}: the model has {len(inputs)} inputs; a single matrix of features is needed")
    if isinstance(inputs[0].shape[1], int):
        check_features(str(path), inputs[0].shape[1], dataset)

    def predict(features: NDArray[np.float32]) -> Any:
        try:
            return session.run(None, {inputs[0].name: np.ascontiguousarray(features)})[0]
        except Exception as error:  # any of the runtime's classes, as above
            raise InputError(f"{path}: the model cannot be run: {str(error).splitlines()[0]}") from None

    return _ranker(path, "onnx", dataset, predict)


def _content(path: Path, kind: str) -> bytes:
    """Return the bytes of a model file; refuse pickles, which could run code."""
    if not path.is_file():
        raise InputError(f"{path}: there is no such {kind} model file")
    content = path.read_bytes()
    if content[:1] == b"\x80" and content[1:2] <= b"\x05":
        raise InputError(f"{path}: this is a pickle, which could run code; save the model in {kind}'s own format")
    return content


@contextmanager
def _library(name: str) -> Iterator[None]:
    """Raise `InputError` with installation instructions if the ``with`` block cannot import the library."""
    try:
        yield
    except ImportError:
        way = "pip install 'ltr-duel[models]', or '.[models]' in the folder of the source"
        raise InputError(f"{name} is not installed; install it with: {way}") from None


def _ranker(
    path: Path, kind: str, dataset: Dataset, predict: Predict, facts: Mapping[str, Any] | None = None
) -> list[Ranker]:
    """Return the ranker of a model file; ``facts`` are added to its provenance."""
    about = {"kind": kind, "file": path.name, "sha256": digest.sha256_file(path), **(facts or {})}
    return [Ranker(f"{kind}:{path.stem}", lambda: predicted(str(path), predict, dataset), about)]
