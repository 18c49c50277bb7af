"""Check the decision trees of a model file before a library reads them, because libraries do not check them.

A child index that refers to an ancestor makes a library loop forever; an index past the end makes it read memory out of
bounds.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ltr_duel.core import IntVector

_WHOLE = re.compile(r"(-?[0-9]+ ?)*")
_DEEPEST = 5000  # maximum depth of a tree, because libraries descend by recursion


def whole_numbers(given: Any, low: int, high: int, size: int = -1) -> IntVector:
    """Return a list of ``size`` whole numbers from ``low`` to ``high`` as an array; a size of -1 allows any length.

    Raises `ValueError`, `TypeError` or `OverflowError` if ``given`` is not such a list.
    """
    if isinstance(given, str):
        if not _WHOLE.fullmatch(given):  # int() accepts more than libraries, such as 1_000
            raise ValueError("not whole numbers")
        given = [int(one) for one in given.split()]
    found = np.array(given) if len(given) else np.zeros(0, np.int64)
    if found.ndim != 1 or found.dtype.kind not in "iu" or size not in (-1, len(found)):
        raise ValueError("not a list of whole numbers of the required length")
    if len(found) and not (low <= found.min() and found.max() <= high):
        raise ValueError("a number is out of range")
    return found.astype(np.int64)


def require_tree(left: IntVector, right: IntVector) -> None:
    """Check a tree whose root is node 0; a negative child index is a leaf.

    Raises `ValueError` if a child is out of range, has two parents or is the root, or if the tree is too deep.
    """
    children = np.concatenate([left, right])
    children = children[children >= 0]
    if len(children) and not 1 <= children.min() <= children.max() < len(left):
        raise ValueError("a child is out of range")
    if len(np.unique(children)) < len(children):
        raise ValueError("a node has two parents")
    level = np.zeros(min(1, len(left)), np.int64)
    for _ in range(_DEEPEST):
        level = np.concatenate([left[level], right[level]])
        level = level[level >= 0]
        if not len(level):
            return
    raise ValueError("the tree is too deep")
