"""Rankers side by side by the grades: means, intervals over queries, and paired tests against the best."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ltr_duel.core import FloatMatrix, InputError, arguments, errors, statistics
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
        of the mean by Student's t, or, where all values are alike, for the share of other queries that may have been
        missed; NaN for a single query), difference (to the best ranker), p (two-sided, of the paired differences to the
        best: the larger one of Student's test and of an exact test by signs; NaN for the best itself), queries. The
        same queries name the best ranker, so p is corrected by Holm's method for all K (K - 1) / 2 pairs of K rankers.

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
        reach = statistics.student_reach(values.std(axis=1, ddof=1) / np.sqrt(queries), queries - 1.0, confidence)
        unseen = float(statistics.clopper_pearson(0, queries, confidence)[1])  # share of queries of a kind not met yet
        alike = np.ptp(values, axis=1) == 0
        low = np.where(alike, means * (1 - unseen), np.maximum(means - reach, 0))
        high = np.where(alike, means + (1 - means) * unseen, np.minimum(means + reach, 1))
        p[order[1:]] = [statistics.mean_test(values[k] - best) for k in order[1:]]
    table = pd.DataFrame(
        {
            "measure": measure,
            "ranker": rankings.names,
            "mean": means,
            "low": low,
            "high": high,
            "difference": means - means[order[0]],
            "p": statistics.holm(p, len(p) * (len(p) - 1) // 2),
            "queries": queries,
        }
    )
    return table.iloc[order].reset_index(drop=True)
