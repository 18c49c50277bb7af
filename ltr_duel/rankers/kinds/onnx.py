"""``onnx:FILE``: a model in the exchange format ONNX, which most libraries can write."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError
from ltr_duel.data import Dataset
from ltr_duel.rankers.models import check_features, model_file, model_ranker, needed_library
from ltr_duel.rankers.scores import Ranker


def open_onnx(dataset: Dataset, what: str) -> list[Ranker]:
    """Read the file of a model whose input is one matrix of features and whose first output is a score for each row."""
    path = model_file(what, "onnx")
    with needed_library("onnxruntime"):
        import onnxruntime
    try:
        session = onnxruntime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
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

    return model_ranker(path, "onnx", dataset, predict)
