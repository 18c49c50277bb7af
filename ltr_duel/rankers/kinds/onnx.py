"""``onnx:FILE``: a model in the exchange format ONNX, which most libraries can write."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError
from ltr_duel.data import Dataset
from ltr_duel.rankers.models import check_features, model_file, model_ranker, needed_library
from ltr_duel.rankers.sources import RANKER_KINDS, Ranker, RankerKind

_GRAPH, _FUNCTIONS = 7, 25  # field numbers of a model, in ONNX's protocol buffers
_NODES, _NODES_OF_FUNCTION = 1, 7  # field numbers of a graph, and of a function
_OPERATOR, _ATTRIBUTES = 4, 5  # field numbers of a node
_GRAPHS = (6, 11)  # field numbers, in an attribute, of graphs with nested operators
_DEEPEST = 20  # maximum number of levels of nested operators

# Operators whose time or memory depends on a number in the file, so a few bytes can require unlimited time or memory.
UNLIMITED = frozenset(
    (
        "Loop", "Scan", "SequenceMap", "ConstantOfShape", "Expand", "Tile", "Range", "Pad", "Resize", "Upsample",
        "EyeLike", "OneHot", "RandomNormal", "RandomUniform", "Multinomial", "CenterCropPad", "HannWindow",
        "HammingWindow", "BlackmanWindow", "MelWeightMatrix", "MaxUnpool", "Col2Im", "AffineGrid", "GridSample",
    )
)  # fmt: skip


def operators_in(model: bytes) -> set[str]:
    """Return the names of all operators of a model, including nested operators.

    Raises `ValueError` if the bytes are not a model, or if operators are nested too deeply.
    """
    found: set[str] = set()
    for number, value in _fields(memoryview(model)):
        if number in (_GRAPH, _FUNCTIONS):
            found.update(_in_nodes(value, _NODES if number == _GRAPH else _NODES_OF_FUNCTION, _DEEPEST))
    return found


def _in_nodes(graph: memoryview, nodes: int, depth: int) -> Iterator[str]:
    if not depth:
        raise ValueError("operators are nested too deeply")
    for number, node in _fields(graph):
        if number != nodes:
            continue
        for kind, value in _fields(node):
            if kind == _OPERATOR:
                yield bytes(value).decode("utf-8")
            elif kind == _ATTRIBUTES:
                for inner, content in _fields(value):
                    if inner in _GRAPHS:
                        yield from _in_nodes(content, _NODES, depth - 1)


def _fields(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield number and content of the length-delimited fields; skip fields of numeric types."""
    at = 0
    while at < len(data):
        tag, at = _number(data, at)
        kind = tag & 7
        if kind == 0:
            _, at = _number(data, at)
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        elif kind == 2:
            length, at = _number(data, at)
            yield tag >> 3, data[at : at + length]
            at += length
        else:
            raise ValueError("not a protocol buffer")
    if at > len(data):
        raise ValueError("cut short")


def _number(data: memoryview, at: int) -> tuple[int, int]:
    found = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte, at = data[at], at + 1
        found |= (byte & 127) << shift
        if byte < 128:
            return found, at
    raise ValueError("a number has no end")


def open_onnx(dataset: Dataset, what: str) -> list[Ranker]:
    """Read the file of a model whose input is one matrix of features and whose first output is a score for each row."""
    path = model_file(what, "onnx")
    with needed_library("onnxruntime"):
        import onnxruntime
    content = path.read_bytes()
    _require_limited(path, content)
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

    return model_ranker(path, "onnx", dataset, predict)


def _require_limited(path: Path, content: bytes) -> None:
    """Raise `InputError` for operators whose time or memory depends on a number in the file."""
    try:
        found = sorted(operators_in(content) & UNLIMITED)
    except ValueError as error:
        raise InputError(f"{path}: not an ONNX model ({error})") from None
    if found:
        raise InputError(
            f"{path}: has the operator {found[0]}, which lets a small file use unlimited time or memory; write the"
            " model with operators of fixed size"
        )


RANKER_KINDS.add(RankerKind(name="onnx", open=open_onnx, means="an ONNX model from features to scores"))
