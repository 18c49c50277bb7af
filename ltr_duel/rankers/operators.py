"""The operators of an ONNX file, read from its bytes (protocol buffers) before onnxruntime runs one of them."""

from __future__ import annotations

from collections.abc import Iterator

_GRAPH, _FUNCTIONS = 7, 25  # fields of a model
_NODES, _NODES_OF_FUNCTION = 1, 7
_OPERATOR, _ATTRIBUTES = 4, 5  # of a node
_GRAPHS = (6, 11)  # of an attribute: operators inside others
_DEEPEST = 20

# Their work or their memory is a number in the file, so that few bytes can ask for any amount of either.
UNLIMITED = frozenset(
    (
        "Loop", "Scan", "SequenceMap", "ConstantOfShape", "Expand", "Tile", "Range", "Pad", "Resize", "Upsample",
        "EyeLike", "OneHot", "RandomNormal", "RandomUniform", "Multinomial", "CenterCropPad", "HannWindow",
        "HammingWindow", "BlackmanWindow", "MelWeightMatrix", "MaxUnpool", "Col2Im", "AffineGrid", "GridSample",
    )
)  # fmt: skip


def operators_in(model: bytes) -> set[str]:
    """Return the names of all operators of a model, also of those inside others.

    Raises
    ------
    ValueError
        If the bytes are no model, or operators stand inside others too deeply.
    """
    found: set[str] = set()
    for number, value in _fields(memoryview(model)):
        if number in (_GRAPH, _FUNCTIONS):
            found.update(_in_nodes(value, _NODES if number == _GRAPH else _NODES_OF_FUNCTION, _DEEPEST))
    return found


def _in_nodes(graph: memoryview, nodes: int, depth: int) -> Iterator[str]:
    if not depth:
        raise ValueError("operators stand inside others too deeply")
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
    """Yield number and content of the fields that have a length; numbers are passed over."""
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
            raise ValueError("no protocol buffer")
    if at > len(data):
        raise ValueError("the end of the file")


def _number(data: memoryview, at: int) -> tuple[int, int]:
    found = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte, at = data[at], at + 1
        found |= (byte & 127) << shift
        if byte < 128:
            return found, at
    raise ValueError("a number without an end")
