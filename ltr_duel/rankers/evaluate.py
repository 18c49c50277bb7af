"""Rankers side by side by the grades: means, intervals over queries, and paired tests against the best."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import scipy  # its modules load when they are used

from ltr_duel.core import FloatMatrix, InputError, arguments, errors, holm
from ltr_duel.rankers.measures import DEFAULT_MEASURES, measure_named, measures_by_query
from ltr_duel.rankers.rankings import Rankings


def evaluate_rankers(
    rankings: Rankings, measures: Sequence[str] = DEFAULT_MEASURES, *, confidence: float = 0.95
) -> pd.DataFrame:
    """Measure each ranker by the relevance grades.

    Parameters
    ----------
    rankings : Rankings
    measures : sequence of str
        ``NDCG@k``, ``ERR@k``, ``MAP``, ``MRR``, ``P@k``, ``R@k``.
    confidence : float
        Of the intervals, between 0.5 and 1.

    Returns
    -------
    DataFrame
        One row for each measure and ranker, the best first: measure, ranker, mean (over queries), low, high (interval
        of the mean by Student's t; NaN for a single query), difference (to the best ranker), p (paired t-test against
        the best, two-sided, corrected for the number of rankers by Holm's method; NaN for the best itself), queries.

    Raises
    ------
    InputError
        For a measure that does not exist, or named twice, or a confidence out of range.

    Examples
    --------
    >>> from ltr_duel.data import make_corpus
    >>> from ltr_duel.rankers import feature_rankers
    >>> rankings = feature_rankers(make_corpus(queries=10, documents=8, features=3))
    >>> evaluate_rankers(rankings, ["MRR"])[["measure", "queries"]].values.tolist()
    [['MRR', 10], ['MRR', 10], ['MRR', 10]]
    """
    errors.require_between("the confidence of the intervals", confidence, 0.5, 0.999999)
    arguments.require_type("rankings", rankings, Rankings)
    wanted = [measure_named(one) for one in arguments.as_names("measures", measures)]
    if not wanted or len(set(wanted)) < len(wanted):
        raise InputError("name at least one measure, and each once" if wanted else "there is no measure to evaluate by")
    tables = zip(wanted, measures_by_query(rankings, wanted), strict=True)
    rows = (_of_measure(rankings, measure.name, values, confidence) for measure, values in tables)
    return pd.concat(rows, ignore_index=True)


def _of_measure(rankings: Rankings, measure: str, values: FloatMatrix, confidence: float) -> pd.DataFrame:
    means = values.mean(axis=1)
    order = np.argsort(-means, kind="stable")
    best, queries = values[order[0]], values.shape[1]
    low, high = np.full(len(means), np.nan), np.full(len(means), np.nan)
    p = np.full(len(means), np.nan)
    if queries > 1:
        reach = scipy.stats.t.ppf((1 + confidence) / 2, queries - 1) * values.std(axis=1, ddof=1) / np.sqrt(queries)
        low, high = means - reach, means + reach
        for k in order[1:]:
            difference = values[k] - best
            constant = np.ptp(difference) == 0  # the test would divide by zero
            p[k] = float(not difference.any()) if constant else float(scipy.stats.ttest_1samp(difference, 0.0).pvalue)
    table = pd.DataFrame(
        {
            "measure": measure,
            "ranker": rankings.names,
            "mean": means,
            "low": low,
            "high": high,
            "difference": means - means[order[0]],
            "p": holm(p),
            "queries": queries,
        }
    )
    return table.iloc[order].reset_index(drop=True)
