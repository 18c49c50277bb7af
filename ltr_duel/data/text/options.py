"""The user's options for reading. Declarations of corpora import this module, so it imports few modules itself."""

from __future__ import annotations

import dataclasses
import math
import numbers
from dataclasses import dataclass
from typing import Any, TypeGuard

from ltr_duel.core import InputError, arguments, errors

FILLS = ("min", "last", "nan")
LABELS = ("grades", "round", "distinct")
UNLABELLED = ("refuse", "zero")
REPEATED = ("refuse", "last")
OMITTED = ("zero", "missing")
_LARGEST = 3.4028235e38  # the largest float32, rounded up
_READ_ALIKE = ("dialect", "features", "limit")  # options that change no number of an existing column


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading feature files; options that change numbers are part of the key of derived data.

    Parameters
    ----------
    dialect : str, optional
        Format of the files: svmlight, letor, letor-agg, mslr, yahoo, imat2009, istella or lightgbm. None: recognised
        from the first line.
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
    repeated : {"refuse", "last"}
        Treatment of a feature that occurs twice on a line: an error, or its last value.
    first_id : {1, 0}
        The id of the first feature. With 0 the columns are called ``"0"``, ``"1"``, ... as in the file.
    omitted : {"zero", "missing"}, optional
        Value of a feature that a line omits: 0, or NaN, which ``fill`` replaces like NULL. None: 0, but a model that
        was trained with missing values is refused if zeros and omitted features cannot be told apart.
    limit : float, optional
        Largest size, in gigabytes (10^9 bytes), of the text of a gzipped file and of the matrix; above 0. If None, the
        text may have 1 GB or 100 times the size of the file, whichever is more. The matrix may have three quarters of
        the memory or of the free disk space, whichever is more; in a conversion, all of the free disk space.

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
    repeated: str = "refuse"
    first_id: int = 1
    omitted: str | None = None
    limit: float | None = None

    def __post_init__(self) -> None:
        if self.dialect is not None:
            arguments.require_type("the dialect", self.dialect, str)
        if isinstance(self.fill, str) and self.fill not in FILLS:
            raise errors.unknown_name("fill", self.fill, [*FILLS, "a number"])
        finite = isinstance(self.fill, str) or (_is_finite(self.fill) and abs(self.fill) < _LARGEST)
        if self.fill is not None and not finite:
            raise InputError(
                f"the fill must be a finite number of float32, 'min', 'last' or 'nan', not {errors.shown(self.fill)}"
            )
        errors.require_one_of("way to read labels", self.labels, LABELS)
        errors.require_one_of("way to treat unlabelled documents", self.unlabelled, UNLABELLED)
        if self.features is not None:
            errors.require_whole("features", self.features, 1, 1_000_000)
        errors.require_one_of("way to read repeated features", self.repeated, REPEATED)
        if not _is_finite(self.first_id) or self.first_id not in (0, 1):
            raise InputError(f"the id of the first feature must be 0 or 1, not {errors.shown(self.first_id)}")
        if self.omitted is not None:
            errors.require_one_of("way to read omitted features", self.omitted, OMITTED)
        if self.limit is not None and not (_is_finite(self.limit) and self.limit > 0):
            raise InputError(f"the limit must be a number of gigabytes above 0, not {errors.shown(self.limit)}")

    @property
    def chosen(self) -> dict[str, Any]:
        """The options that differ from the defaults."""
        return {
            one.name: getattr(self, one.name)
            for one in dataclasses.fields(self)
            if getattr(self, one.name) != one.default
        }

    @property
    def digested(self) -> dict[str, Any]:
        """The chosen options that change numbers; with the bytes of the files, they identify the data of a corpus."""
        return {key: value for key, value in self.chosen.items() if key not in _READ_ALIKE}

    @property
    def as_typed(self) -> str:
        """The chosen options that change numbers, in the form of the command line."""
        return " ".join(f"--{key.replace('_', '-')} {value}" for key, value in self.digested.items())

    @property
    def limit_bytes(self) -> int | None:
        """The limit in bytes."""
        return None if self.limit is None else int(self.limit * 1e9)


def _is_finite(value: Any) -> TypeGuard[float]:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return False
    try:
        return math.isfinite(value)
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
