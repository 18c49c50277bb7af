"""Labels as written become relevance grades: an explicit choice, never a silent one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError
from ltr_duel.data.text import scan
from ltr_duel.data.text.options import ReadOptions
from ltr_duel.data.text.parse import Parsed

HIGHEST_GRADE = 1000


def check_labels(parsed: Parsed, options: ReadOptions, file: Path, lines_before: int) -> None:
    """Refuse a label that the options do not allow; the sentence names its line.

    Raises
    ------
    InputError
        For the first such label.
    """
    labels = parsed.labels
    allowed = (labels >= 0) & (labels <= HIGHEST_GRADE)
    if options.labels == "grades":
        allowed &= labels == np.floor(labels)
    if options.unlabelled == "zero":
        allowed |= labels == -1
    if np.all(allowed):
        return
    row = int(np.argmin(allowed))
    where = f"{file}:{lines_before + int(parsed.spans[row, scan.NUMBER])}:1"
    label = labels[row]
    if label == -1:
        raise InputError(f"{where}: label -1 marks an unlabelled document; --unlabelled zero reads it as grade 0")
    if 0 <= label <= HIGHEST_GRADE:
        raise InputError(
            f"{where}: label {label:g} is not a whole number; say how it becomes a grade: --labels round or distinct"
        )
    raise InputError(f"{where}: label {label:g} is not a relevance grade; legal is 0..{HIGHEST_GRADE}")


def as_grades(labels: NDArray[np.float32], options: ReadOptions) -> NDArray[np.int16]:
    """Return the grade of each label.

    Parameters
    ----------
    labels : ndarray of float32, shape (n_docs,)
        Checked labels of the whole corpus.
    options : ReadOptions
        Says how.
    """
    known = np.maximum(labels, 0)  # -1, unlabelled, where it is allowed
    if options.labels == "distinct":
        return np.searchsorted(np.unique(known), known).astype(np.int16)
    return np.floor(known + np.float32(0.5)).astype(np.int16)


def usual_grades(highest: int) -> int:
    """Return the usual number of grades, 2, 3 or 5, that holds this highest one, else as many as needed."""
    return next((grades for grades in (2, 3, 5) if highest < grades), highest + 1)
