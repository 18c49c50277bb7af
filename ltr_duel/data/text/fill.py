"""``NULL``: what it becomes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError
from ltr_duel.data.text.feature_buffers import give_back

# BM25 and log BM25 of title and abstract and both: the official OHSUMED "min" files have 0 there.
OHSUMED_ZERO = frozenset(i - 1 for i in (11, 12, 26, 27, 41, 42))


def fill_missing(
    features: NDArray[np.float32],
    query_ptr: NDArray[np.int64],
    fill: float | str | None,
    *,
    zero_columns: frozenset[int] = frozenset(),
    lower_is_better: bool = False,
) -> None:
    """Replace NaN, in place, column by column.

    Parameters
    ----------
    features : ndarray of float32, shape (n_docs, n_features)
        Column-major; may be memory-mapped.
    query_ptr : ndarray of int64, shape (n_queries + 1,)
        First row of each query.
    fill : float or {"min", "last", "nan"} or None
        See `options.ReadOptions`. Where a query has no value at all in a column, ``"min"`` puts 0 and ``"last"`` 1.
    zero_columns : frozenset of int
        Columns in which ``"min"`` puts 0.
    lower_is_better : bool
        Whether values are ranks; then ``"min"`` is refused, as it would put what was not retrieved first.

    Raises
    ------
    InputError
        If the fill does not suit the values.
    """
    if fill is None or fill == "nan":
        return
    if lower_is_better and fill == "min":
        raise InputError("a NULL in a rank list is a document not retrieved; fill it with 'last', not with 'min'")
    starts = query_ptr[:-1]
    for number in range(features.shape[1]):
        column = np.array(features[:, number])
        give_back(features)  # or the whole matrix would be in memory in the end
        lost = np.isnan(column)
        if not np.any(lost):
            continue
        if isinstance(fill, str) and number not in zero_columns:
            ends = np.fmin if fill == "min" else np.fmax
            value = ends.reduceat(column, starts)
            value = np.where(np.isnan(value), 0, value) + (fill == "last")
            column[lost] = np.repeat(value, np.diff(query_ptr))[lost]
        else:
            column[lost] = 0 if isinstance(fill, str) else fill
        features[:, number] = column
    give_back(features)
