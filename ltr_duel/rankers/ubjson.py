"""UBJSON, the binary form of JSON in which XGBoost writes models: read to plain values, strictly."""

from __future__ import annotations

from typing import Any

import numpy as np

_PLAIN = {b"Z": None, b"T": True, b"F": False}
_NUMBERS = {b"i": ">i1", b"U": ">u1", b"I": ">i2", b"l": ">i4", b"L": ">i8", b"d": ">f4", b"D": ">f8"}


def read_ubjson(data: bytes) -> Any:
    """Return the value that the bytes hold, from the first to the last.

    Raises
    ------
    ValueError, KeyError, struct.error
        If they are no UBJSON, or an object has a key twice.
    """
    value, end = _value(data, 0)
    if end != len(data):
        raise ValueError("bytes follow the end")
    return value


def _value(data: bytes, at: int) -> tuple[Any, int]:
    kind, at = data[at : at + 1], at + 1
    if kind in _PLAIN:
        return _PLAIN[kind], at
    if kind in _NUMBERS:
        [number] = _numbers(data, at, kind, 1)
        return number, at + np.dtype(_NUMBERS[kind]).itemsize
    if kind in (b"S", b"H"):
        return _text(data, at)
    if kind not in (b"{", b"["):
        raise KeyError(kind)
    return _members(data, at, is_object=kind == b"{")


def _members(data: bytes, at: int, *, is_object: bool) -> tuple[Any, int]:
    """Read what is inside brackets; a number of members may stand before them, and the type of each."""
    typed, count = b"", -1
    if data[at : at + 1] == b"$":
        typed, at = data[at + 1 : at + 2], at + 2
    if data[at : at + 1] == b"#":
        count, at = _length(data, at + 1)
    if typed:
        if is_object or count < 0:
            raise ValueError("a type without a number of members")
        return _numbers(data, at, typed, count), at + count * np.dtype(_NUMBERS[typed]).itemsize
    names: list[str] = []
    values: list[Any] = []
    close = b"}" if is_object else b"]"
    while len(values) < count or (count < 0 and data[at : at + 1] != close):
        if is_object:
            name, at = _text(data, at)
            names.append(name)
        value, at = _value(data, at)
        values.append(value)
    if is_object and len(set(names)) < len(names):
        raise ValueError("a key stands there twice")
    return dict(zip(names, values, strict=True)) if is_object else values, at + (count < 0)


def _numbers(data: bytes, at: int, kind: bytes, count: int) -> list[Any]:
    form = np.dtype(_NUMBERS[kind])
    if at + count * form.itemsize > len(data):
        raise ValueError("the end of the file")
    found: list[Any] = np.frombuffer(data, form, count, at).tolist()
    return found


def _text(data: bytes, at: int) -> tuple[str, int]:
    length, at = _length(data, at)
    if at + length > len(data):
        raise ValueError("the end of the file")
    return data[at : at + length].decode("utf-8"), at + length


def _length(data: bytes, at: int) -> tuple[int, int]:
    kind = data[at : at + 1]
    if kind in (b"d", b"D"):
        raise ValueError("a length that is no whole number")
    [number] = _numbers(data, at + 1, kind, 1)
    if number < 0:
        raise ValueError(number)
    return number, at + 1 + np.dtype(_NUMBERS[kind]).itemsize
