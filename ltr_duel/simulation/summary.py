"""What the repetitions of a study say: location, spread, and whether two policies differ.

Repetition r of every policy meets the same coins, users and queries. So policies are compared run by run: the tests
are paired, and common luck cancels.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from ltr_duel.core import unknown_name

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)


def summarise(frame: pd.DataFrame, column: str = "regret_average") -> pd.DataFrame:
    """Return one row for each policy, at the last step: the less the better.

    Parameters
    ----------
    frame : DataFrame
        Columns policy, repetition, t, and the one to summarise.
    column : str

    Returns
    -------
    DataFrame
        policy; runs; mean; sd (of the runs, n - 1); se (of the mean); q10, q25, median, q75, q90; and, against the
        policy with the lowest mean: difference (mean of the paired differences), p_wilcoxon and p_t (paired, two-sided,
        corrected for the number of policies by Holm's method), effect (Cohen's d of the paired differences) and
        probability (share of repetitions in which the policy paid more, ties as half). NaN for the best policy itself,
        and where there are fewer than two repetitions.
    """
    values = at_the_end(frame, column)
    means = values.mean()
    best = means.idxmin() if means.notna().any() else None
    rows, tests = [], []
    for policy in values.columns:
        mine = values[policy].dropna()
        quantiles = mine.quantile(list(QUANTILES)).to_list()
        row = {"policy": policy, "runs": len(mine), "mean": mine.mean(), "sd": mine.std(), "se": mine.sem()}
        rows.append(row | dict(zip(("q10", "q25", "median", "q75", "q90"), quantiles, strict=True)))
        nothing = len(mine) == 0 or policy == best
        tests.append(_paired(np.empty(0), np.empty(0)) if nothing else _pair(values, policy, str(best)))
    table = pd.concat([pd.DataFrame(rows), pd.DataFrame(tests)], axis=1)
    return _corrected(table)


def paired_tests(frame: pd.DataFrame, column: str = "regret_average") -> pd.DataFrame:
    """Compare every pair of policies, run by run, at the last step.

    Returns
    -------
    DataFrame
        first, second, then difference (first less second), p_wilcoxon, p_t, effect and probability as in `summarise`,
        corrected for the number of pairs by Holm's method.
    """
    values = at_the_end(frame, column)
    rows = [{"first": a, "second": b, **_pair(values, a, b)} for a, b in combinations(values.columns, 2)]
    columns = ["first", "second", *_paired(np.empty(0), np.empty(0))]
    return _corrected(pd.DataFrame(rows, columns=columns))


def at_the_end(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the values at the last step: one row for each repetition, one column for each policy."""
    if column not in frame:
        raise unknown_name("column", column, [str(name) for name in frame.columns])
    last = frame[frame["t"] == frame["t"].max()]
    wide = last.pivot(index="repetition", columns="policy", values=column)
    return wide[list(dict.fromkeys(frame["policy"]))]


def holm(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Correct p-values for their number (Holm 1979); NaN stays NaN and does not count."""
    corrected = np.full(len(p), np.nan)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    steps = p[order] * (len(order) - np.arange(len(order)))
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return corrected


def _corrected(table: pd.DataFrame) -> pd.DataFrame:
    for name in ("p_wilcoxon", "p_t"):
        table[name] = holm(table[name].to_numpy(np.float64))
    return table


def _pair(values: pd.DataFrame, first: str, second: str) -> dict[str, float]:
    both = values[[first, second]].dropna()
    return _paired(both[first].to_numpy(np.float64), both[second].to_numpy(np.float64))


def _paired(first: NDArray[np.float64], second: NDArray[np.float64]) -> dict[str, float]:
    difference = first - second
    result = dict.fromkeys(("difference", "p_wilcoxon", "p_t", "effect", "probability"), float("nan"))
    if len(difference) < 2:
        return result
    spread = difference.std(ddof=1)
    result["difference"] = float(difference.mean())
    result["probability"] = float((difference > 0).mean() + 0.5 * (difference == 0).mean())
    if not difference.any():
        return result | {"p_wilcoxon": 1.0, "p_t": 1.0, "effect": 0.0}
    result["p_wilcoxon"] = float(stats.wilcoxon(difference, zero_method="pratt").pvalue)
    if spread > 0:
        result["p_t"] = float(stats.ttest_rel(first, second).pvalue)
        result["effect"] = float(difference.mean() / spread)
    return result
