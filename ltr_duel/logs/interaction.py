"""Do the parts of a comparison differ? One test for all parts of a pair, though users are in several of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from ltr_duel.core import FloatMatrix, FloatVector
from ltr_duel.logs.compare import LogComparison
from ltr_duel.logs.outcomes import UNIT
from ltr_duel.logs.sums import _KINDS


def interaction_tests(engine: Any, cells: Any, split: LogComparison, parts: int, whole: FloatVector) -> FloatVector:
    """Return for each pair the p-value of "its parts have the same mean"; NaN where too few users are in two parts.

    Parameters
    ----------
    engine : Engine
    cells : ibis Table
        Outcomes, where ``pair`` is the number of a pair times ``parts``, plus the number of a part.
    split : LogComparison
        Of these cells.
    parts : int
    whole : ndarray of float64, shape (pairs,)
        Degrees of freedom of each pair in the whole log.
    """
    products = _products(engine, cells, split.cluster, len(split.pairs), parts)
    p = np.full(len(split.pairs) // parts, np.nan)
    for k in range(len(p)):
        here = slice(k * parts, (k + 1) * parts)
        correlation = _correlation(split, products[:, here, here], here)
        mean, error, freedom = (values[here] for values in split.cautious)
        p[k] = interaction_p(mean, error, freedom, correlation, float(whole[k]))
    return p


def interaction_p(
    mean: FloatVector, error: FloatVector, freedom: FloatVector, correlation: FloatMatrix, whole: float
) -> float:
    """Return the p-value of "all these means are the same", of means whose errors differ and may go together.

    Wald's statistic by the whole covariance. Its p-value is the larger one of Welch's (Biometrika 1951), right where
    no cluster is in two parts, and Hotelling's (Annals of Mathematical Statistics 1931), right where each cluster is in
    all of them. Parts with fewer than five degrees of freedom are left out.

    Parameters
    ----------
    mean, error, freedom : ndarray of float64, shape (parts,)
    correlation : ndarray of float64, shape (parts, parts)
    whole : float
        Degrees of freedom of the mean of all parts.

    Returns
    -------
    float
        NaN if fewer than two parts are left, or no more clusters than parts.
    """
    good = np.flatnonzero((freedom >= 5) & np.isfinite(error) & (error > 0))
    k = len(good)
    if k < 2 or whole < k:
        return float("nan")
    mean, error, freedom = mean[good], error[good], freedom[good]
    covariance = correlation[np.ix_(good, good)] * np.outer(error, error)
    contrasts = np.eye(k)[1:] - np.eye(k)[0]
    apart = contrasts @ mean
    wald = float(apart @ np.linalg.solve(contrasts @ covariance @ contrasts.T, apart))
    weight = error**-2 / (error**-2).sum()
    surplus = float(((1 - weight) ** 2 / freedom).sum())
    statistic = wald / (k - 1) / (1 + 2 * (k - 2) / (k**2 - 1) * surplus)
    welch = special.fdtrc(k - 1, (k**2 - 1) / (3 * surplus), statistic)
    rest = whole - k + 2
    return float(max(welch, special.fdtrc(k - 1, rest, wald / (k - 1) * rest / whole)))


def _products(engine: Any, cells: Any, cluster: str, size: int, parts: int) -> FloatMatrix:
    """Return sums over clusters of products of what they have in two cells: n n, n y, y n, y y; shape (4, size, size).

    Of clusters both ways those of users alone: what queries have in common only makes the test quieter.
    """
    out = np.zeros((4, size, size))
    if cluster == "impression":
        return out
    key = _KINDS[cluster][0][0]
    t = cells.filter(cells[key].notnull())
    each = t.group_by("pair", key, whole=(t.pair / parts).floor().cast("int64")).agg(
        n=t.count().cast("float64"), y=t.y.sum().cast("float64") / UNIT
    )
    other = each.rename(other_pair="pair", other_n="n", other_y="y")
    both = each.join(other, [key, "whole"]).filter(lambda one: one.pair < one.other_pair)
    sums = {"nn": both.n * both.other_n, "ny": both.n * both.other_y}
    sums |= {"yn": both.y * both.other_n, "yy": both.y * both.other_y}
    table = both.group_by("pair", "other_pair").agg(**{name: product.sum() for name, product in sums.items()})
    found = engine.run(table).to_pydict()
    for k, name in enumerate(sums):
        out[k, found["pair"], found["other_pair"]] = found[name]
    return out


def _correlation(split: LogComparison, products: FloatMatrix, here: slice) -> FloatMatrix:
    """Return the correlation of the means of a pair's parts, by the clusters that are in two of them."""
    mean, n = split.means.mean[here], split.counts[here]
    nn, ny, yn, yy = products
    together = yy - mean * yn - mean[:, None] * ny + np.outer(mean, mean) * nn
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = split.means.error[here] * n
        upper = np.nan_to_num(together / np.outer(errors, errors), nan=0.0, posinf=0.0, neginf=0.0)
    return np.eye(len(n)) + upper + upper.T
