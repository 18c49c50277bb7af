"""The user's options for reading. Declarations of corpora import this module, so it imports few modules itself."""

from __future__ import annotations

import dataclasses
import numbers
from dataclasses import dataclass
from typing import Any

from ltr_duel.core import InputError, arguments, errors

FILLS = ("min", "last", "nan")
_WAYS = {  # what a message says, and the legal values
    "labels": ("way to read labels", ("grades", "round", "distinct")),
    "unlabelled": ("way to treat unlabelled documents", ("refuse", "zero")),
    "omitted": ("way to read omitted features", ("zero", "missing")),
}
_LARGEST = 3.4028235e38  # the largest float32, rounded up
_READ_ALIKE = ("dialect", "features")  # options that change no number of an existing column


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading feature files; options that change numbers are part of the key of derived data.

    Parameters
    ----------
    dialect : str, optional
        Format of the files: svmlight, letor, letor-agg, mslr, yahoo, imat2009, istella or lightgbm. None: recognised
        from the first lines.
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
        Value of a feature that a line omits: 0, or NaN, which ``fill`` replaces like NULL. None: 0, but a model that
        was trained with missing values is refused if zeros and omitted features cannot be told apart.

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
    ltr_duel.core.errors.InputError: no way to read labels 'rounded'; did you mean 'round'? (grades, round, distinct)
    """

    dialect: str | None = None
    features: int | None = None
    fill: float | str | None = None
    labels: str = "grades"
    unlabelled: str = "refuse"
    first_id: int = 1
    omitted: str | None = None

    def __post_init__(self) -> None:
        if self.dialect is not None:
            arguments.require_type("the dialect", self.dialect, str)
        if self.features is not None:
            errors.require_whole("features", self.features, 1, 1_000_000)
        if isinstance(self.fill, str) and self.fill not in FILLS:
            raise errors.unknown_name("fill", self.fill, [*FILLS, "a number"])
        if self.fill is not None and not isinstance(self.fill, str) and not _is_float32(self.fill):
            raise InputError(
                f"the fill must be a finite number of float32, 'min', 'last' or 'nan', not {errors.shown(self.fill)}"
            )
        for name, (way, legal) in _WAYS.items():
            if name != "omitted" or self.omitted is not None:
                errors.require_one_of(way, getattr(self, name), legal)
        if not _is_float32(self.first_id) or self.first_id not in (0, 1):
            raise InputError(f"the id of the first feature must be 0 or 1, not {errors.shown(self.first_id)}")

    @property
    def chosen(self) -> dict[str, Any]:
        """The options that differ from the defaults."""
        values = ((option.name, getattr(self, option.name), option.default) for option in dataclasses.fields(self))
        return {name: value for name, value, default in values if value != default}

    @property
    def as_typed(self) -> str:
        """The chosen options that change numbers, in the form of the command line."""
        typed = {key: value for key, value in self.chosen.items() if key not in _READ_ALIKE}
        return " ".join(f"--{key.replace('_', '-')} {value}" for key, value in typed.items())


def _is_float32(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return False
    try:
        return abs(float(value)) < _LARGEST
    except OverflowError:  # an integer beyond the range of floats
        return False


def fill_from_text(text: str | None) -> float | str | None:
    """Return the fill for a word of the command line."""
    if text is None or text in FILLS:
        return text
    try:
        return float(text)
    except ValueError:
        raise errors.unknown_name("fill", text, [*FILLS, "a number"]) from None
