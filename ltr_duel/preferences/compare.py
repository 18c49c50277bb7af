"""Compare two preference matrices, and test whether they agree within their standard errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy  # submodules are loaded on first use

from ltr_duel.core import InputError
from ltr_duel.preferences.matrix import PreferenceMatrix, require_matrix
from ltr_duel.preferences.properties.confidence import condorcet_confidence

# Provenance keys that must be equal if two matrices estimate the same preferences.
_LAW = (
    "corpus_sha256", "clicks", "p_click", "p_stop", "stop_on", "position_bias", "p_leave", "p_notice", "method",
    "method_parameters", "outcome", "size", "top", "ties", "tie_seed",
)  # fmt: skip


@dataclass(frozen=True)
class Agreement:
    """Differences between two matrices of the same rankers.

    pairs: one row for each pair: first, second, p_a, p_b, difference, z (NaN if neither matrix has an error), sorted
    by ``|z|`` and then by ``|difference|``, largest first.
    root_mean_square: the root mean square of the differences.
    chance: the p-value of a chi-squared test that both matrices estimate the same preferences; None if neither matrix
        has standard errors.
    settings: both values of each setting in which the two estimates differ.
    winners: the Condorcet winner of each matrix, among the rankers that both have, and the probability of this answer.
    """

    names: tuple[str, ...]
    pairs: pd.DataFrame
    root_mean_square: float
    chance: float | None
    settings: dict[str, tuple[Any, Any]]
    winners: tuple[tuple[str | None, float], ...]


def compare_matrices(a: PreferenceMatrix, b: PreferenceMatrix) -> Agreement:
    """Compare two matrices on the rankers that they have in common.

    If the matrices estimate the same preferences with different seeds, the z scores should be standard normal.
    """
    for matrix in (a, b):
        require_matrix(matrix)
    names = tuple(name for name in a.names if name in b.names)
    if len(names) < 2:
        raise InputError(f"the two matrices have {len(names)} rankers in common; at least two are needed")
    a, b = a[names], b[names]
    i, j = np.triu_indices(len(names), 1)
    difference = (a.p - b.p)[i, j]
    error = np.hypot(a.standard_error, b.standard_error)[i, j]
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(error > 0, difference / error, np.nan)
    pairs = pd.DataFrame(
        {
            "first": np.array(names)[i],
            "second": np.array(names)[j],
            "p_a": a.p[i, j],
            "p_b": b.p[i, j],
            "difference": difference,
            "z": z,
        }
    )
    worst = np.lexsort((-np.abs(difference), -np.nan_to_num(np.abs(z))))
    known = np.isfinite(error) & (error > 0)
    chance = float(scipy.special.chdtrc(known.sum(), (z[known] ** 2).sum())) if known.any() else None
    estimated = all("p_click" in one.provenance for one in (a, b))  # a log does not know its users
    settings = {
        key: (a.provenance.get(key), b.provenance.get(key))
        for key in _LAW
        if a.provenance.get(key) != b.provenance.get(key)
        and (estimated or (key in a.provenance and key in b.provenance))
    }
    rms = float(np.sqrt((difference**2).mean()))
    return Agreement(names, pairs.iloc[worst].reset_index(drop=True), rms, chance, settings, (_winner(a), _winner(b)))


def _winner(matrix: PreferenceMatrix) -> tuple[str | None, float]:
    winner, sure = matrix.condorcet_winner, condorcet_confidence(matrix)
    return winner, float(1 - sure.sum() if winner is None else sure[matrix.index(winner)])
