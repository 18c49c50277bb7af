"""The user's options for reading feature files and tables."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from ltr_duel.core import errors

FILLS = ("min", "last", "nan")
_LARGEST = 3.4028234e38  # the largest float32, rounded down


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading feature files and tables.

    Parameters
    ----------
    dialect : str, optional
        The format of the files: svmlight, letor, letor-agg, mslr, yahoo, imat2009, istella or lightgbm. You must name
        the formats yahoo, imat2009 and istella. The other formats are recognised from the first lines.
    features : int, optional
        The number of features, from 1 to 1,000,000. A line with a higher feature id is an error. By default, it is the
        number that the format prescribes. If the format prescribes no number, it is the highest id in the files, which
        may be at most 10,000.
    fill : float or {"min", "last", "nan"}, optional
        The value that replaces ``NULL`` and ``nan``. ``"min"`` is the smallest value of the feature in the query, as in
        LETOR's "min" files. ``"last"``, which is meant for rank lists, is the largest rank in the query plus 1.
        ``"nan"`` keeps missing values as NaN. By default, missing values are errors.
    labels : {"grades", "round", "distinct"}
        How labels become grades. With ``"grades"``, labels must be whole numbers. With ``"round"``, labels are rounded,
        and halves are rounded up. With ``"distinct"``, all different labels are sorted, and the grade of a document is
        the position of its label, from 0. Labels are read as float32, which has about seven digits.
    unlabelled : {"refuse", "zero"}
        Whether the label -1, which marks unlabelled documents, is an error or becomes grade 0.
    first_id : {1, 0}
        The id of the first feature. With 0, the features are called ``"0"``, ``"1"``, ... as in the file.
    omitted : {"zero", "missing"}, optional
        The value of a feature that a line leaves out. By default, the value is 0. With ``"missing"``, it is NaN, or the
        value that ``fill`` gives to missing values. If you use XGBoost models, you must set this option, because
        XGBoost reads omitted features as missing.

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
        """A dict of the options that differ from their defaults."""
        values = ((option.name, getattr(self, option.name), option.default) for option in dataclasses.fields(self))
        return {name: value for name, value, default in values if value != default}


def fill_from_text(text: str | None) -> float | str | None:
    """Convert a word of the command line to the option ``fill``."""
    try:
        return text if text is None or text in FILLS else float(text)
    except ValueError:
        raise errors.unknown_name("fill", text, [*FILLS, "a number"]) from None
