"""``lightgbm:FILE``: a LightGBM model in its text format."""

from __future__ import annotations

import re
from pathlib import Path

from ltr_duel.core import InputError
from ltr_duel.data import Dataset
from ltr_duel.rankers.models import check_features, model_file, model_ranker, needed_library
from ltr_duel.rankers.sources import RANKER_KINDS, Ranker, RankerKind
from ltr_duel.rankers.trees import require_tree, whole_numbers

_SIZES = re.compile(r"^tree_sizes=.*\n", re.MULTILINE)  # byte sizes of the trees, which LightGBM does not need
_MOST = 2**31 - 1


def open_lightgbm(dataset: Dataset, what: str) -> list[Ranker]:
    """Read a model file."""
    path = model_file(what, "lightgbm")
    text = path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
    if not text.startswith("tree\n") or "\nend of trees" not in text:
        raise InputError(f"{path}: not a LightGBM model, or cut short; write it with Booster.save_model")
    _require_trees(path, text.partition("\nend of trees")[0])
    with needed_library("lightgbm"):
        import lightgbm
    try:
        booster = lightgbm.Booster(model_str=_SIZES.sub("", text, count=1))
    except (lightgbm.basic.LightGBMError, ValueError):
        raise InputError(f"{path}: not a LightGBM model, or damaged; write it with Booster.save_model") from None
    check_features(str(path), booster.num_feature(), dataset)
    return model_ranker(path, "lightgbm", dataset, booster.predict)


def _require_trees(path: Path, text: str) -> None:
    """Raise `InputError` for trees that would make LightGBM read memory out of bounds or loop forever."""
    head, *trees = text.split("\nTree=")
    try:
        about = _fields(head)
        features = int(whole_numbers(about["max_feature_idx"], 0, _MOST, 1)[0])
        for key in ("num_class", "num_tree_per_iteration"):
            whole_numbers(about[key], 1, 1, 1)  # one score for each document
        for tree in trees:
            _require_tree(_fields(f"Tree={tree}"), features)
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise InputError(
            f"{path}: not a LightGBM model, or damaged ({error}); write it with Booster.save_model"
        ) from None


def _require_tree(tree: dict[str, str], last_feature: int) -> None:
    leaves = int(whole_numbers(tree["num_leaves"], 1, _MOST, 1)[0])
    inner, kinds = leaves - 1, int(whole_numbers(tree["num_cat"], 0, _MOST, 1)[0])
    if len(tree["leaf_value"].split()) != leaves:
        raise ValueError("leaf_value has a wrong length")
    if not inner:
        return
    left, right = (whole_numbers(tree[f"{side}_child"], -leaves, inner - 1, inner) for side in ("left", "right"))
    require_tree(left, right)
    whole_numbers(tree["split_feature"], 0, last_feature, inner)
    decisions = whole_numbers(tree["decision_type"], -128, 127, inner)
    thresholds = [float(one) for one in tree["threshold"].split()]
    if len(thresholds) != inner or "_" in tree["threshold"]:
        raise ValueError("threshold has a wrong length")
    if kinds:
        bounds = whole_numbers(tree["cat_boundaries"], 0, _MOST, kinds + 1)
        words = tree["cat_threshold"].split()
        if bounds[0] != 0 or (bounds[1:] < bounds[:-1]).any() or bounds[-1] > len(words):
            raise ValueError("cat_boundaries are out of range")
    if any(decision & 1 and not 0 <= one < kinds for decision, one in zip(decisions, thresholds, strict=True)):
        raise ValueError("the threshold of a categorical split does not refer to a set of categories")
    if int(whole_numbers(tree.get("is_linear", "0"), 0, 1, 1)[0]):
        _require_linear(tree, leaves, last_feature)


def _require_linear(tree: dict[str, str], leaves: int, last_feature: int) -> None:
    """Raise `ValueError` if the linear models of leaves use features that do not exist."""
    counts = whole_numbers(tree["num_features"], 0, last_feature + 1, leaves)
    whole_numbers(tree["leaf_features"], 0, last_feature, int(counts.sum()))
    if len(tree["leaf_coeff"].split()) != counts.sum() or len(tree["leaf_const"].split()) != leaves:
        raise ValueError("leaf_coeff or leaf_const has a wrong length")


def _fields(block: str) -> dict[str, str]:
    """Return the keys and values of the lines ``key=value``; a repeated key is an error."""
    pairs = [line.partition("=")[::2] for line in re.split(r"[\r\n]+", block) if "=" in line]
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is repeated")
    return found


RANKER_KINDS.add(RankerKind(name="lightgbm", open=open_lightgbm, means="a LightGBM model (text)"))
