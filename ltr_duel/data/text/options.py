"""The user's options for reading. Declarations of corpora import this module, so it imports few modules itself."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from ltr_duel.core import errors

FILLS = ("min", "last", "nan")
_LARGEST = 3.4028234e38  # the largest float32, rounded down


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading feature files; options that change numbers are part of the key of derived data.

    Parameters
    ----------
    dialect : str, optional
        Format of the files: svmlight, letor, letor-agg, mslr, yahoo, imat2009, istella or lightgbm. None: recognised
        from the first lines; yahoo, imat2009 and istella must be named.
    features : int, optional
        Number of columns, 1 to 1,000,000; a higher id is an error. None: the dialect's number of columns; if the
        dialect has none, the columns up to the highest id, and an id above 10,000 is an error, because it suggests
        damage.
    fill : float or {"min", "last", "nan"}, optional
        Replacement of ``NULL`` and ``nan``. ``"min"``: the column's smallest value in the same query, as in LETOR's
        "min" files (0 for BM25 and log BM25 of OHSUMED). ``"last"``, for rank lists: one more than the largest
        rank in the same query. ``"nan"``: NaN, for a later replacement. None: they are errors.
    labels : {"grades", "round", "distinct"}
        ``"grades"``: labels must be whole numbers. ``"round"``: labels are rounded to whole numbers, halves up.
        ``"distinct"``: the grade is the rank, from 0, of the label among all distinct labels, each at most 2**24.
        Labels are first read as float32, so labels that differ only beyond seven digits are equal.
    unlabelled : {"refuse", "zero"}
        Treatment of the label -1 of unlabelled documents: an error or grade 0.
    first_id : {1, 0}
        The id of the first feature. With 0 the columns are called ``"0"``, ``"1"``, ... as in the file.
    omitted : {"zero", "missing"}, optional
        Value of a feature that a line omits: 0, or NaN, which ``fill`` replaces like NULL. None: 0, but XGBoost models,
        for which omitted features are missing values, are refused.

    Raises
    ------
    InputError
        If a value is invalid.

    Examples
    --------
    >>> ReadOptions(fill="min").labels
    'grades'
    >>> ReadOptions(labels="rounded")
    Traceback (most recent call last):
    ltr_duel.core.errors.InputError: no labels 'rounded'; did you mean 'round'? (grades, round, distinct)
    """

    dialect: str | None = None
    features: int | None = None
    fill: float | str | None = None
    labels: str = "grades"
    unlabelled: str = "refuse"
    first_id: int = 1
    omitted: str | None = None

    def __post_init__(self) -> None:
        if self.features is not None:
            errors.require_whole("features", self.features, 1, 1_000_000)
        if isinstance(self.fill, str):
            if self.fill not in FILLS:
                raise errors.unknown_name("fill", self.fill, [*FILLS, "a number"])
        elif self.fill is not None:
            errors.require_between("the fill", self.fill, -_LARGEST, _LARGEST)
        errors.require_one_of("labels", self.labels, ("grades", "round", "distinct"))
        errors.require_one_of("unlabelled", self.unlabelled, ("refuse", "zero"))
        errors.require_whole("first_id", self.first_id, 0, 1)
        if self.omitted is not None:
            errors.require_one_of("omitted", self.omitted, ("zero", "missing"))

    @property
    def chosen(self) -> dict[str, Any]:
        """The options that differ from the defaults."""
        values = ((option.name, getattr(self, option.name), option.default) for option in dataclasses.fields(self))
        return {name: value for name, value, default in values if value != default}


def fill_from_text(text: str | None) -> float | str | None:
    """Return the fill for a word of the command line."""
    try:
        return text if text is None or text in FILLS else float(text)
    except ValueError:
        raise errors.unknown_name("fill", text, [*FILLS, "a number"]) from None
