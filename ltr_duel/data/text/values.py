"""Convert labels to relevance grades and replace ``NULL`` by numbers, as the user's options specify."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError, mapped, several
from ltr_duel.data.text.options import ReadOptions

HIGHEST_GRADE = 1000
HIGHEST_LABEL = 2**24  # of labels whose rank is the grade; larger whole numbers are not exact in float32


class ReadWarning(UserWarning):
    """A note about numbers that were changed while a corpus was read."""


def refuse_labels(labels: NDArray[np.floating[Any]], options: ReadOptions, where: Callable[[int], str]) -> None:
    """Raise `InputError` for the first label that the options do not allow; ``where(row)`` names its position."""
    highest = HIGHEST_LABEL if options.labels == "distinct" else HIGHEST_GRADE
    allowed = (labels >= 0) & (labels <= highest)
    if options.labels == "grades":
        allowed &= labels == np.floor(labels)
    if options.unlabelled == "zero":
        allowed |= labels == -1
    if np.all(allowed):
        return
    row = int(np.argmin(allowed))
    position, label = where(row), labels[row]
    if label == -1:
        raise InputError(f"{position}: label -1 marks an unlabelled document; --unlabelled zero reads it as grade 0")
    if 0 <= label <= highest:
        raise InputError(
            f"{position}: label {label:g} is not a whole number; choose how it becomes a grade: --labels round or"
            " distinct"
        )
    more = highest < label <= HIGHEST_LABEL
    way = "; --labels distinct takes the rank of the label among all labels as the grade" if more else ""
    raise InputError(f"{position}: label {label:g} is not a relevance grade (0..{highest}){way}")


def as_grades(labels: NDArray[np.float32], options: ReadOptions) -> NDArray[np.int16]:
    """Return the grade of each label of a whole corpus, shape (n_docs,); the labels must be valid."""
    labels = np.maximum(labels, 0)  # -1, if allowed, marks unlabelled documents
    if options.labels == "distinct":
        values = np.unique(labels)
        if len(values) > np.iinfo(np.int16).max:
            raise InputError(f"{len(values):,} distinct labels; at most {np.iinfo(np.int16).max:,} can be grades")
        return np.searchsorted(values, labels).astype(np.int16)
    return np.floor(labels + np.float32(0.5)).astype(np.int16)


def usual_grades(highest: int) -> int:
    """Return the smallest of 2, 3 and 5 that is above the highest grade, or else ``highest + 1``."""
    return next((grades for grades in (2, 3, 5) if highest < grades), highest + 1)


def warn_of_clipped(name: str, values: int) -> None:
    """Warn if values beyond the range of float32 were clipped."""
    if values:
        what = several(values, "value")
        warnings.warn(f"{name}: {what} beyond the range of float32, clipped to 3.4028235e38", ReadWarning, stacklevel=4)


def fill_missing(
    features: NDArray[np.float32],
    query_ptr: NDArray[np.int64],
    fill: float | str | None,
    *,
    zero_columns: frozenset[int] = frozenset(),
    lower_is_better: bool = False,
) -> None:
    """Replace NaN as `ReadOptions` specifies, in place, column by column; the matrix may be memory-mapped.

    ``"min"`` gives 0 in ``zero_columns``. If a query has no value in a column, ``"min"`` gives 0 and ``"last"`` gives
    1. If values are ranks, ``"min"`` is refused, as it would give the best rank to documents that were not retrieved.
    """
    if fill is None or fill == "nan":
        return
    if lower_is_better and fill == "min":
        raise InputError(
            "NULL in a rank list marks a document that was not retrieved; fill it with 'last', not with 'min'"
        )
    starts = query_ptr[:-1]
    for number in range(features.shape[1]):
        column = np.array(features[:, number])
        mapped.release_pages(features)  # otherwise the whole matrix would stay in memory
        missing = np.isnan(column)
        if not np.any(missing):
            continue
        if isinstance(fill, str) and number not in zero_columns:
            ends = np.fmin if fill == "min" else np.fmax
            value = ends.reduceat(column, starts)
            value = np.where(np.isnan(value), 0, value) + (fill == "last")
            column[missing] = np.repeat(value, np.diff(query_ptr))[missing]
        else:
            column[missing] = 0 if isinstance(fill, str) else fill
        features[:, number] = column
    mapped.release_pages(features)
