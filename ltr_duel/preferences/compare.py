"""Compare two preference matrices: list their differences, and test whether chance explains them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy  # submodules are loaded on first use

from ltr_duel.core import InputError
from ltr_duel.preferences.matrix import PreferenceMatrix
from ltr_duel.preferences.properties.confidence import conclusion_confidence

# If two matrices estimate the same preferences, these entries of their provenance are equal.
_LAW = (
    "corpus_sha256", "clicks", "p_click", "p_stop", "stop_on", "position_bias", "p_leave", "p_notice", "method",
    "method_parameters", "outcome", "size", "top", "ties", "tie_seed",
)  # fmt: skip


@dataclass(frozen=True)
class Agreement:
    """The differences between two matrices, for the rankers that both of them have.

    pairs: a table with one row for each pair and the columns first, second, p_a, p_b, difference and z.
    root_mean_square: the root mean square of the differences.
    chance: the p-value of a chi-squared test, or None if neither matrix has standard errors.
    settings: the settings in which the two estimates differ, with the values of both.
    winners: the Condorcet winner of each matrix, or None, and the probability that this conclusion is true.

    The column z is the difference divided by its standard error. The pair with the largest ``|z|`` comes first.
    """

    names: tuple[str, ...]
    pairs: pd.DataFrame
    root_mean_square: float
    chance: float | None
    settings: dict[str, tuple[Any, Any]]
    winners: tuple[tuple[str | None, float], ...]


def compare_matrices(a: PreferenceMatrix, b: PreferenceMatrix) -> Agreement:
    """Compare two matrices for the rankers that they have in common.

    If both estimate the same preferences with different seeds, the z scores are approximately standard normal.
    """
    names = tuple(name for name in a.names if name in b.names)
    if len(names) < 2:
        raise InputError(f"the two matrices have {len(names)} rankers in common; at least two are needed")
    a, b = a[names], b[names]
    i, j = np.triu_indices(len(names), 1)
    difference, error = (a.p - b.p)[i, j], np.hypot(a.standard_error, b.standard_error)[i, j]
    z = np.divide(difference, error, out=np.full(len(i), np.nan), where=error > 0)
    columns = {"first": np.array(names)[i], "second": np.array(names)[j], "p_a": a.p[i, j], "p_b": b.p[i, j]}
    pairs = pd.DataFrame(columns | {"difference": difference, "z": z})
    worst = np.lexsort((-np.abs(difference), -np.nan_to_num(np.abs(z))))
    compared = np.isfinite(error) & (error > 0)
    squares = float((z[compared] ** 2).sum())
    # A matrix of a log has no settings of users. In this case, only settings that both matrices have are compared.
    keys = _LAW if all("p_click" in m.provenance for m in (a, b)) else a.provenance.keys() & b.provenance.keys()
    settings = {key: (a.provenance.get(key), b.provenance.get(key)) for key in _LAW if key in keys}
    return Agreement(
        names,
        pairs.iloc[worst].reset_index(drop=True),
        float(np.sqrt((difference**2).mean())),
        float(scipy.special.chdtrc(compared.sum(), squares)) if compared.any() else None,
        {key: values for key, values in settings.items() if values[0] != values[1]},
        tuple((m.condorcet_winner, conclusion_confidence(m)) for m in (a, b)),
    )
