"""Convert labels to relevance grades, and replace missing values, according to the user's options."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError, mapped, several
from ltr_duel.data.text.options import ReadOptions

HIGHEST_GRADE = 1000
HIGHEST_LABEL = 2**24  # for ``labels="distinct"``; larger whole numbers are not exact in float32
MOST_GRADES = 2**15  # because grades are stored as int16


class ReadWarning(UserWarning):
    """A warning that numbers or columns were changed or left out while a corpus was read."""


def require_labels(labels: NDArray[np.floating[Any]], options: ReadOptions, position: Callable[[int], str]) -> None:
    """Raise `InputError` for the first label that the options do not allow."""
    highest = HIGHEST_LABEL if options.labels == "distinct" else HIGHEST_GRADE
    allowed = (labels >= 0) & (labels <= highest)
    if options.labels == "grades":
        allowed &= labels == np.floor(labels)
    if options.unlabelled == "zero":
        allowed |= labels == -1
    if not allowed.all():
        row = int(np.argmin(allowed))
        raise InputError(
            f"{position(row)}: label {labels[row]:g} is not a relevance grade (0..{highest}); --labels round or"
            " distinct converts other labels, --unlabelled zero reads -1 as grade 0"
        )


def as_grades(labels: NDArray[np.float32], options: ReadOptions) -> NDArray[np.int16]:
    """Return the grade for each label of a corpus, shape (n_docs,). `require_labels` must have checked the labels."""
    labels = np.maximum(labels, 0)  # -1 marks unlabelled documents
    if options.labels != "distinct":
        return np.floor(labels + np.float32(0.5)).astype(np.int16)
    values = np.unique(labels)
    if len(values) > MOST_GRADES - 1:
        raise InputError(f"{len(values):,} distinct labels; at most {MOST_GRADES - 1:,} can be grades")
    return np.searchsorted(values, labels).astype(np.int16)


def usual_grades(highest: int) -> int:
    """Return the number of grades: 2, 3 or 5 if it is enough for the highest grade, otherwise ``highest + 1``."""
    return next((grades for grades in (2, 3, 5) if highest < grades), highest + 1)


def warn_of_clipped(name: str, values: int) -> None:
    """Warn if values were too large for float32 and were replaced by the largest float32."""
    if values:
        note = f"{name}: {several(values, 'value')} beyond the range of float32, clipped to 3.4028235e38"
        warnings.warn(note, ReadWarning, stacklevel=4)


def fill_missing(
    features: NDArray[np.float32],
    query_ptr: NDArray[np.int64],
    fill: float | str | None,
    zero_columns: frozenset[int] = frozenset(),
) -> None:
    """Replace missing values (NaN) in place by the option ``fill`` of `ReadOptions`.

    With ``"min"``, missing values in ``zero_columns`` become 0. If all values of a query are missing in a column, their
    minimum or maximum counts as 0.
    """
    if fill is None or fill == "nan":
        return
    for number in range(features.shape[1]):
        column = np.array(features[:, number])
        mapped.release_pages(features)  # otherwise the whole matrix would stay in memory
        missing = np.isnan(column)
        if not missing.any():
            continue
        if isinstance(fill, str) and number not in zero_columns:
            extremes = (np.fmin if fill == "min" else np.fmax).reduceat(column, query_ptr[:-1])
            column[missing] = np.repeat(np.nan_to_num(extremes) + (fill == "last"), np.diff(query_ptr))[missing]
        else:
            column[missing] = 0 if isinstance(fill, str) else fill
        features[:, number] = column
    mapped.release_pages(features)
