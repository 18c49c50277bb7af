"""What a user may decide about reading. Cheap to import: corpora are declared with it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ltr_duel.core import InputError, require_between, unknown_name

FILLS = ("min", "last", "nan")
LABELS = ("grades", "round", "distinct")
UNLABELLED = ("refuse", "zero")


@dataclass(frozen=True)
class ReadOptions:
    """How to read feature files; part of the key of everything that is converted with it.

    Parameters
    ----------
    dialect : str, optional
        How the files are written: svmlight, letor, letor-agg, mslr, yahoo, imat2009, istella or lightgbm. None:
        recognised from the first line.
    features : int, optional
        Number of columns; a higher id is an error. None: the dialect's, or the highest id seen.
    fill : float or {"min", "last", "nan"}, optional
        What ``NULL`` becomes. ``"min"``: the least value of the column in that query, as in the official LETOR
        "min" files (0 for BM25 and log BM25 of OHSUMED). ``"last"``, for rank lists: one more than the largest rank in
        that query. ``"nan"``: NaN, for those who fill it themselves. None: NULL is an error.
    labels : {"grades", "round", "distinct"}
        ``"grades"``: labels must be whole numbers. ``"round"``: to the nearest, halves up. ``"distinct"``: the rank of
        the label among all different ones.
    unlabelled : {"refuse", "zero"}
        What label -1, which marks an unlabelled document, is: an error or grade 0.

    Raises
    ------
    InputError
        If a value is not legal.

    Examples
    --------
    >>> ReadOptions(fill="min").labels
    'grades'
    >>> ReadOptions(labels="rounded")
    Traceback (most recent call last):
    ltr_duel.core.errors.InputError: no way to read labels 'rounded'; did you mean 'round'? (grades, round, distinct)
    """

    dialect: str | None = None
    features: int | None = None
    fill: float | str | None = None
    labels: str = "grades"
    unlabelled: str = "refuse"

    def __post_init__(self) -> None:
        if isinstance(self.fill, str) and self.fill not in FILLS:
            raise unknown_name("fill", self.fill, [*FILLS, "a number"])
        if isinstance(self.fill, float | int) and not math.isfinite(self.fill):
            raise InputError(f"the fill must be a finite number, 'min', 'last' or 'nan', not {self.fill}")
        if self.labels not in LABELS:
            raise unknown_name("way to read labels", self.labels, LABELS)
        if self.unlabelled not in UNLABELLED:
            raise unknown_name("way to treat unlabelled documents", self.unlabelled, UNLABELLED)
        if self.features is not None:
            require_between("features", self.features, 1, 1_000_000)


def fill_from_text(text: str | None) -> float | str | None:
    """Return the fill that a word on the command line means."""
    if text is None or text in FILLS:
        return text
    try:
        return float(text)
    except ValueError:
        raise unknown_name("fill", text, [*FILLS, "a number"]) from None
