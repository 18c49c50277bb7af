"""``onnx:FILE``: a model in the exchange format ONNX, which most libraries write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError
from ltr_duel.data import Dataset
from ltr_duel.rankers.models import check_features, model_file, model_ranker, needed_library
from ltr_duel.rankers.operators import UNLIMITED, operators_in
from ltr_duel.rankers.sources import RANKER_KINDS, Ranker, RankerKind


def open_onnx(dataset: Dataset, what: str) -> list[Ranker]:
    """Read a model file; it takes one matrix of features and returns one score for each row first."""
    path = model_file(what, "onnx")
    with needed_library("onnxruntime", "models"):
        import onnxruntime
    content = path.read_bytes()
    _require_limited(path, content)
    try:
        session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime's own classes, one for each way to fail
        reason = str(error).splitlines()[0]
        if "opset" in reason.lower():
            raise InputError(
                f"{path}: written in a newer version of ONNX than onnxruntime {onnxruntime.__version__} reads; write it"
                " with a lower opset, or install a newer onnxruntime"
            ) from None
        raise InputError(f"{path}: not an ONNX model ({reason})") from None
    inputs = session.get_inputs()
    if len(inputs) != 1 or len(inputs[0].shape) != 2:
        raise InputError(f"{path}: takes {len(inputs)} inputs; one matrix of features is needed")
    if isinstance(inputs[0].shape[1], int):
        check_features(str(path), inputs[0].shape[1], dataset)

    def predict(features: NDArray[np.float32]) -> Any:
        try:
            return session.run(None, {inputs[0].name: np.ascontiguousarray(features)})[0]
        except Exception as error:  # the runtime's own classes again
            raise InputError(f"{path}: cannot be run: {str(error).splitlines()[0]}") from None

    return model_ranker(path, "onnx", dataset, predict)


def _require_limited(path: Path, content: bytes) -> None:
    """Refuse operators whose work or memory is a number in the file."""
    try:
        found = sorted(operators_in(content) & UNLIMITED)
    except ValueError as error:
        raise InputError(f"{path}: not an ONNX model ({error})") from None
    if found:
        raise InputError(
            f"{path}: has the operator {found[0]}, by which a small file can take any time or memory; write the model"
            " with operators of fixed size"
        )


RANKER_KINDS.add(RankerKind(name="onnx", open=open_onnx, means="an ONNX model: features in, scores out"))
