"""``xgboost:FILE``: an XGBoost model as .json or .ubj."""

from __future__ import annotations

import json
import struct
from pathlib import Path

from ltr_duel.core import InputError
from ltr_duel.data import Dataset
from ltr_duel.rankers.models import check_features, model_file, model_ranker, needed_library
from ltr_duel.rankers.sources import RANKER_KINDS, Ranker, RankerKind

_BYTES = {b"Z": 0, b"N": 0, b"T": 0, b"F": 0, b"C": 1, b"i": 1, b"U": 1, b"I": 2, b"l": 4, b"d": 4, b"L": 8, b"D": 8}
_WHOLE = {b"i": ">b", b"U": ">B", b"I": ">h", b"l": ">i", b"L": ">q"}


def open_xgboost(dataset: Dataset, what: str) -> list[Ranker]:
    """Read a model file."""
    path = model_file(what, "xgboost")
    if path.suffix not in (".json", ".ubj"):
        raise InputError(f"{path}: an XGBoost model is read from .json or .ubj; write it with Booster.save_model")
    damaged = InputError(f"{path}: not an XGBoost model, or cut short; write it with Booster.save_model")
    if not _whole(path):  # XGBoost itself may crash on what is cut short
        raise damaged
    with needed_library("xgboost", "models"):
        import xgboost
    booster = xgboost.Booster()
    try:
        booster.load_model(str(path))
    except (xgboost.core.XGBoostError, ValueError):
        raise damaged from None
    check_features(str(path), booster.num_features(), dataset)
    return model_ranker(path, "xgboost", dataset, lambda features: booster.predict(xgboost.DMatrix(features)))


def _whole(path: Path) -> bool:
    """Whether a file holds one JSON or UBJSON object with a learner, to its end."""
    content = path.read_bytes()
    try:
        if path.suffix == ".json":
            parsed = json.loads(content)
            return isinstance(parsed, dict) and "learner" in parsed
        return content[:1] == b"{" and b"learner" in content and _end(content, 0) == len(content)
    except (ValueError, KeyError, struct.error, RecursionError):
        return False


def _end(data: bytes, at: int) -> int:
    """Return where the UBJSON value ends that begins at a place."""
    kind, at = data[at : at + 1], at + 1
    if kind in _BYTES:
        return at + _BYTES[kind]
    if kind in (b"S", b"H"):
        length, at = _number(data, at)
        return at + length
    if kind not in (b"{", b"["):
        raise KeyError(kind)
    is_object, close = kind == b"{", b"}" if kind == b"{" else b"]"
    typed, count = b"", -1
    if data[at : at + 1] == b"$":
        typed, at = data[at + 1 : at + 2], at + 2
    if data[at : at + 1] == b"#":
        count, at = _number(data, at + 1)
    if typed and not is_object:
        return at + count * _BYTES[typed]
    while count and (count > 0 or data[at : at + 1] != close):
        if is_object:
            length, at = _number(data, at)
            at += length
        if at >= len(data):
            raise KeyError("the end of the file")
        at = _end(data, at)
        count -= 1 if count > 0 else 0
    return at if count == 0 else at + 1


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Return a length, and where it ends."""
    form = _WHOLE[data[at : at + 1]]
    (number,) = struct.unpack_from(form, data, at + 1)
    if number < 0:
        raise ValueError(number)
    return number, at + 1 + struct.calcsize(form)


RANKER_KINDS.add(RankerKind(name="xgboost", open=open_xgboost, means="an XGBoost model (.json or .ubj)"))
