"""The format as one regular expression and Python's own `float`: slow, and simple enough to be trusted."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from ltr_duel.core.texts import decoded

NUMBER = rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
LINE = re.compile(
    rb"[ \t]*(" + NUMBER + rb")[ \t]+qid:([^\x00-\x20#]+)((?:[ \t]+[0-9]+:" + NUMBER + rb")*)[ \t]*(?:#.*|\r)?",
    re.DOTALL,
)
NOTHING = re.compile(rb"[ \t]*(?:\r|#.*)?", re.DOTALL)
MOST_FEATURES = 10_000

LARGEST = float(np.finfo(np.float32).max)


class Answer(NamedTuple):
    """The content of the text, or the lines that make it invalid (0: the file as a whole)."""

    rows: list[tuple[int, bytes, dict[int, np.float32]]]
    bad: set[int]


def read(data: bytes) -> Answer:
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    rows: list[tuple[int, bytes, dict[int, np.float32]]] = []
    bad: set[int] = set()
    queries: list[bytes] = []
    for number, line in enumerate(lines, start=1):
        if NOTHING.fullmatch(line):
            continue
        match = LINE.fullmatch(line)
        values = _values(match.group(3)) if match else None
        if match is None or values is None or not _finite(match.group(1)):
            bad.add(number)
            return Answer(rows, bad)  # the scanner stops here
        label, query = float(np.float32(float(match.group(1)))), match.group(2)
        if label != int(label) or not 0 <= label <= 1000:
            bad.add(number)
        if not queries or query != queries[-1]:
            if query in queries or _holds_a_blank(query):
                bad.add(number)
            queries.append(query)
        rows.append((int(label) if label == int(label) else -1, query, values))
    if not rows or not any(values for _, _, values in rows):
        bad.add(0)
    return Answer(rows, bad)


def _holds_a_blank(query: bytes) -> bool:
    return not query.isascii() and any(map(str.isspace, decoded(query)))


def _values(text: bytes) -> dict[int, np.float32] | None:
    values: dict[int, np.float32] = {}
    for word in text.split():
        feature, _, value = word.partition(b":")
        i = int(feature)
        if not 1 <= i <= MOST_FEATURES or len(feature) > 9 or i in values:
            return None
        values[i] = np.float32(min(max(float(value), -LARGEST), LARGEST))
    return values


def _finite(number: bytes) -> bool:
    with np.errstate(over="ignore"):
        return bool(np.isfinite(np.float32(float(number))))
