"""``lightgbm:FILE``: a LightGBM model in its text format."""

from __future__ import annotations

from ltr_duel.core import InputError
from ltr_duel.data import Dataset
from ltr_duel.rankers.models import check_features, model_file, model_ranker, needed_library
from ltr_duel.rankers.sources import RANKER_KINDS, Ranker, RankerKind


def open_lightgbm(dataset: Dataset, what: str) -> list[Ranker]:
    """Read a model file."""
    path = model_file(what, "lightgbm")
    text = path.read_bytes()
    if not text.startswith(b"tree\n") or b"\nend of trees" not in text:
        raise InputError(f"{path}: not a LightGBM model, or cut short; write it with Booster.save_model")
    with needed_library("lightgbm", "models"):
        import lightgbm
    try:
        booster = lightgbm.Booster(model_file=str(path))
    except (lightgbm.basic.LightGBMError, ValueError):
        raise InputError(f"{path}: not a LightGBM model, or damaged; write it with Booster.save_model") from None
    check_features(str(path), booster.num_feature(), dataset)
    return model_ranker(path, "lightgbm", dataset, booster.predict)


RANKER_KINDS.add(RankerKind(name="lightgbm", open=open_lightgbm, means="a LightGBM model (text)"))
