"""``lightgbm:FILE``: a LightGBM model in its text format."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError
from ltr_duel.data import Dataset
from ltr_duel.rankers.models import Predict, model_columns, model_file, model_ranker, needed_library
from ltr_duel.rankers.scores import Ranker

_SIZES = re.compile(r"^tree_sizes=.*\n", re.MULTILINE)  # bytes of each tree, wrong after a change of line ends


def open_lightgbm(dataset: Dataset, what: str) -> list[Ranker]:
    """Read a model file."""
    path = model_file(what, "lightgbm")
    text = path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
    if not text.startswith("tree\n") or "\nend of trees" not in text:
        raise InputError(f"{path}: not a LightGBM model, or cut short; write it with Booster.save_model")
    with needed_library("lightgbm"):
        import lightgbm
    try:
        booster = lightgbm.Booster(model_str=_SIZES.sub("", text, count=1))
    except (lightgbm.basic.LightGBMError, ValueError):
        raise InputError(f"{path}: not a LightGBM model, or damaged; write it with Booster.save_model") from None
    return model_ranker(path, "lightgbm", dataset, booster_predict(str(path), booster, dataset))


def booster_predict(label: str, booster: Any, dataset: Dataset) -> Predict:
    """Return the predictions of a booster; ``label`` names it in messages."""
    if booster.num_model_per_iteration() != 1:
        raise InputError(f"{label}: not a model of rankings: it has several scores for each document")
    if booster.pandas_categorical:
        raise InputError(
            f"{label} was trained on categories of a data frame, and features in text are numbers; train it on numbers"
            " of categories, with categorical_feature"
        )
    columns = model_columns(label, booster.num_feature(), booster.feature_name(), dataset)

    def predict(features: NDArray[np.float32]) -> Any:
        return booster.predict(features if columns is None else features[:, columns])

    return predict
