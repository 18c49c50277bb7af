"""``xgboost:FILE``: an XGBoost model in its JSON format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ltr_duel.core import InputError
from ltr_duel.data import Dataset
from ltr_duel.rankers.models import check_features, model_file, model_ranker, needed_library
from ltr_duel.rankers.sources import RANKER_KINDS, Ranker, RankerKind
from ltr_duel.rankers.trees import require_tree, whole_numbers

_MOST = 2**31 - 1
_OF_NODES = ("split_conditions", "default_left", "base_weights", "loss_changes", "sum_hessian", "parents")


def open_xgboost(dataset: Dataset, what: str) -> list[Ranker]:
    """Read a model file."""
    path = model_file(what, "xgboost")
    if path.suffix != ".json":
        raise InputError(
            f"{path}: an XGBoost model is read from .json; convert other formats with"
            f" xgboost.Booster(model_file='{path.name}').save_model('{path.stem}.json')"
        )
    model = _checked_model(path)
    with needed_library("xgboost"):
        import xgboost
    booster = xgboost.Booster()
    try:
        booster.load_model(bytearray(json.dumps(model).encode()))  # only the checked content of the file
    except (xgboost.core.XGBoostError, ValueError):
        raise InputError(f"{path}: not an XGBoost model, or cut short; write it with Booster.save_model") from None
    check_features(str(path), booster.num_features(), dataset)
    return model_ranker(path, "xgboost", dataset, lambda features: booster.predict(xgboost.DMatrix(features)))


def _checked_model(path: Path) -> dict[str, Any]:
    """Return the content of a model file after checking the numbers of its trees, which XGBoost does not check."""
    content = path.read_bytes()
    why = ""
    try:
        model = json.loads(content, object_pairs_hook=_once)
        learner = model["learner"]
    except (ValueError, KeyError, TypeError, RecursionError):
        why = "cut short"
    else:
        try:
            about = {key: int(value) for key, value in learner["learner_model_param"].items() if key.startswith("num_")}
            if not 0 <= about.get("num_class", 0) <= 1 or about.get("num_target", 1) != 1:
                raise ValueError("it has several scores for each document")
            _require_booster(learner["gradient_booster"], about["num_feature"])
            return dict(model)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            why = f"damaged ({error})"
    raise InputError(f"{path}: not an XGBoost model, or {why}; write it with Booster.save_model")


def _require_booster(booster: dict[str, Any], features: int) -> None:
    if booster["name"] == "dart":
        _require_length(booster["weight_drop"], len(booster["gbtree"]["model"]["trees"]))
        booster = booster["gbtree"]
    model = booster["model"]
    if booster["name"] == "gblinear":
        _require_length(model["weights"], features + 1)
        return
    trees = model["trees"]
    whole_numbers(model["tree_info"], 0, 0, len(trees))
    if int(model["gbtree_model_param"]["num_trees"]) != len(trees):
        raise ValueError("num_trees is wrong")
    if "iteration_indptr" in model:
        rounds = whole_numbers(model["iteration_indptr"], 0, len(trees))
        if (np.diff(rounds) < 0).any():
            raise ValueError("iteration_indptr decreases")
    for tree in trees:
        _require_tree(tree, features)


def _require_tree(tree: dict[str, Any], features: int) -> None:
    size = int(tree["tree_param"]["num_nodes"])
    left, right = (whole_numbers(tree[f"{side}_children"], -1, _MOST, size) for side in ("left", "right"))
    inner = left >= 0
    if not size or (right[inner] < 0).any():
        raise ValueError("a node has one child")
    require_tree(left, np.where(inner, right, -1))
    if int(tree["tree_param"].get("size_leaf_vector", 1)) > 1:
        raise ValueError("it has several scores for each document")
    splits = whole_numbers(tree["split_indices"], 0, _MOST, size)
    whole_numbers(splits[inner], 0, features - 1)
    for name in _OF_NODES:
        _require_length(tree[name], size)
    _require_categories(tree, size, inner)


def _require_categories(tree: dict[str, Any], size: int, inner: Any) -> None:
    """Raise `ValueError` if a categorical split refers to categories that the file does not contain."""
    kinds = whole_numbers(tree.get("split_type", []), 0, 1)
    if len(kinds) not in (0, size):
        raise ValueError("split_type has a wrong length")
    held = len(whole_numbers(tree.get("categories", []), 0, _MOST))
    nodes = whole_numbers(tree.get("categories_nodes", []), 0, size - 1)
    starts, sizes = (
        whole_numbers(tree.get(f"categories_{name}", []), 0, held, len(nodes)) for name in ("segments", "sizes")
    )
    if (starts + sizes > held).any() or (np.diff(nodes) <= 0).any():
        raise ValueError("categories are out of range")
    if len(kinds) and not set(np.flatnonzero((kinds == 1) & inner).tolist()) <= set(nodes.tolist()):
        raise ValueError("a split has no categories")


def _require_length(given: Any, size: int) -> None:
    if not isinstance(given, list) or len(given) != size:
        raise ValueError("a list has a wrong length")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is repeated")
    return found


RANKER_KINDS.add(RankerKind(name="xgboost", open=open_xgboost, means="an XGBoost model (.json)"))
