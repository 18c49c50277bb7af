"""Measure how good rankings are by the relevance grades, without clicks: NDCG, ERR, MAP, MRR, precision and recall.

A document is relevant if its grade is at least 1. A query without relevant documents has the value 0 and counts in the
mean, as in trec_eval and in LETOR's tools. Documents that a run does not retrieve are ranked after all retrieved
documents, in the order of the tie rule.

In NDCG, the gain of a document is 2^grade - 1, and the discount is 1 / log2(1 + rank). ERR is computed as by TREC's
gdeval, which takes the highest grade of the corpus, but at least 4, as the highest possible grade. MAP (mean average
precision), MRR (mean reciprocal rank), P@k (precision) and R@k (recall) are as in trec_eval.

References
----------
NDCG: Burges et al., ICML 2005. ERR: Chapelle, Metlzer, Zhang, Grinspan, CIKM 2009.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ltr_duel.core import FloatMatrix, FloatVector, InputError, arguments, errors, mapped, statistics
from ltr_duel.rankers.rankings import Rankings

Grades = NDArray[np.int16]
_GDEVAL_HIGHEST = 4
_ALL = 1 << 40  # a cut-off that includes all documents
_QUERIES = 200  # number of queries after which memory is released
DEFAULT_MEASURES = ("NDCG@10", "ERR@10", "MAP", "MRR", "P@10", "R@10")


class _Query(NamedTuple):
    """The relevance grades of one query, from which a measure is computed."""

    shown: Grades  # (K, at most k): grades in the order of each ranker
    best: Grades  # (n,): all grades of the query, the highest first
    highest: int  # the highest possible grade
    k: int  # the cut-off

    @property
    def relevant(self) -> int:
        """Number of relevant documents, but at least 1, because measures are divided by it."""
        return max(int((self.best > 0).sum()), 1)


def _gain(grades: Grades) -> NDArray[np.float64]:
    return 2.0 ** grades.astype(np.float64) - 1


def _ndcg(query: _Query, gain: Callable[[Grades], NDArray[np.float64]] = _gain) -> FloatVector:
    depth = query.shown.shape[1]
    discount = 1 / np.log2(np.arange(2, depth + 2))
    ideal = float((gain(query.best)[:depth] * discount).sum())
    return (gain(query.shown) * discount).sum(axis=1) / ideal if ideal > 0 else np.zeros(len(query.shown))


def _err(query: _Query) -> FloatVector:
    stops = _gain(query.shown) / 2.0**query.highest
    reached = np.cumprod(np.hstack([np.ones((len(stops), 1)), 1 - stops[:, :-1]]), axis=1)
    return np.asarray((reached * stops / np.arange(1, stops.shape[1] + 1)).sum(axis=1))


def _average_precision(query: _Query) -> FloatVector:
    relevant = query.shown > 0
    precision = np.cumsum(relevant, axis=1) / np.arange(1, relevant.shape[1] + 1)
    return np.asarray((precision * relevant).sum(axis=1) / query.relevant)


def _reciprocal_rank(query: _Query) -> FloatVector:
    relevant = query.shown > 0
    return np.where(relevant.any(axis=1), 1.0 / (relevant.argmax(axis=1) + 1), 0.0)


_LINEAR = "nDCG(dcg='log2')"  # the name in ir_measures of NDCG with the grade as gain
_KINDS: dict[str, Callable[[_Query], FloatVector]] = {
    "NDCG": _ndcg,
    _LINEAR: lambda query: _ndcg(query, lambda grades: grades.astype(np.float64)),
    "ERR": _err,
    "MAP": _average_precision,
    "MRR": _reciprocal_rank,
    "P": lambda query: np.asarray((query.shown > 0).sum(axis=1) / query.k),
    "R": lambda query: np.asarray((query.shown > 0).sum(axis=1) / query.relevant),
}
_SYNONYMS = {"AP": "MAP", "RR": "MRR", "RECIP_RANK": "MRR", "RECALL": "R"}  # of ir_measures and trec_eval
_WHOLE_LIST = ("MAP", "MRR")  # measures whose cut-off is optional


class Measure(NamedTuple):
    """A measure and its cut-off, for example NDCG of the first 10 documents."""

    name: str  # as a user writes it, for example "NDCG@10"
    kind: str
    k: int


def measure_named(measure: str | object) -> Measure:
    """Return a measure by its name, for example ``NDCG@10``. Only MAP and MRR may be without a cut-off.

    You can also pass a name from trec_eval, or a name or an object from ir_measures. For the object ``nDCG@10`` of
    ir_measures, the gain of a document is its grade instead of 2^grade - 1.
    """
    text = str(measure) if isinstance(measure, str) else re.sub(r"^nDCG(?=@|$)", _LINEAR, str(measure))
    plain = re.sub(r"(?i)^ndcg\(dcg='exp-log2'\)", "NDCG", re.sub(r"(_cut)?_(?=\d+$)", "@", text))
    kind, at, cut = plain.partition("@")
    kind = kind if kind == _LINEAR else _SYNONYMS.get(kind.upper(), kind.upper())
    if kind not in _KINDS:
        names = [name if name in _WHOLE_LIST else f"{name}@k" for name in _KINDS]
        raise errors.unknown_name("measure", text, names)
    if not at and kind in _WHOLE_LIST:
        return Measure(kind, kind, _ALL)
    if not cut.isdecimal() or not 1 <= int(cut[:9]) <= 100_000:
        raise InputError(f"measure '{measure}': write a cut-off from 1 to 100,000, as in '{kind}@10'")
    return Measure(f"{kind}@{int(cut)}", kind, int(cut))


def measure_by_query(rankings: Rankings, measure: str | object = "NDCG@10") -> FloatMatrix:
    """Return the value of a measure for each ranker on each query.

    Parameters
    ----------
    rankings : Rankings
        The orders to measure. Documents with equal scores are measured in the order that ``rankings`` gives them.
    measure : str or a measure of ir_measures
        The measure: ``NDCG@k``, ``ERR@k``, ``MAP``, ``MRR``, ``P@k`` or ``R@k`` (recall), with a number for k.

    Returns
    -------
    ndarray of float64, shape (K, n_queries)

    Raises
    ------
    InputError
        If the measure does not exist.

    Examples
    --------
    >>> from ltr_duel.data import make_corpus
    >>> from ltr_duel.rankers import feature_rankers
    >>> rankings = feature_rankers(make_corpus(queries=10, documents=8, features=3))
    >>> measure_by_query(rankings, "MRR").shape
    (3, 10)
    """
    (values,) = measures_by_query(rankings, [measure_named(measure)])
    return values


def measures_by_query(rankings: Rankings, measures: Sequence[Measure]) -> list[FloatMatrix]:
    """Return a list with one matrix for each measure; its rows are rankers, and its columns are queries."""
    highest = max(_GDEVAL_HIGHEST, rankings.grades - 1)
    tables = [np.empty((len(rankings), rankings.n_queries)) for _ in measures]
    deepest = max(measure.k for measure in measures)
    for number in range(rankings.n_queries):
        start, stop = (int(row) for row in rankings.query_ptr[number : number + 2])
        grades = rankings.relevance[start:stop]
        shown = grades[rankings.order[:, start : min(stop, start + deepest)]]
        best = np.sort(grades)[::-1]
        for table, (_, kind, k) in zip(tables, measures, strict=True):
            table[:, number] = _KINDS[kind](_Query(shown[:, :k], best, highest, k))
        if number % _QUERIES == 0:
            mapped.release_pages(rankings.order)
    return tables


def evaluate_rankers(
    rankings: Rankings,
    measures: Sequence[str | object] = DEFAULT_MEASURES,
    *,
    baseline: str | Sequence[str] = (),
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Measure each ranker by the relevance grades, and compare it with the best ranker or with baselines.

    Parameters
    ----------
    rankings : Rankings
    measures : sequence of str or of measures of ir_measures
        The measures to compute: ``NDCG@k``, ``ERR@k``, ``MAP``, ``MRR``, ``P@k``, ``R@k``.
    baseline : str or sequence of str, optional
        The rankers with which each ranker is compared. Choose them before you see the results. By default, each ranker
        is compared with the best ranker.
    confidence : float
        The confidence of the intervals for the means, between 0.5 and 1.

    Returns
    -------
    DataFrame
        One row for each measure and ranker, the best ranker of a measure first. The columns are measure, ranker, mean,
        low, high, difference, p and queries. ``mean`` is the mean of the measure over the queries. ``low`` and ``high``
        are the ends of Student's confidence interval, or NaN for a single query. ``difference`` is the mean of the
        ranker minus the mean of the best ranker.

        ``p`` is the p-value of the difference, or NaN for the best ranker. It is the larger p-value of two tests:
        Student's test for pairs, and a test with random signs. It is corrected for all pairs of rankers by Holm's
        method.

        With baselines, there is one row for each measure, baseline and ranker, and a column ``baseline``. Then
        ``difference`` is the difference from the baseline, and ``p`` is corrected only for pairs with a baseline.

    Raises
    ------
    InputError
        If a measure does not exist or is named twice, or if a baseline is not a ranker.

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
    single = isinstance(measures, str) or not isinstance(measures, Iterable)
    wanted = [measure_named(measure) for measure in ([measures] if single else measures)]
    if not wanted or len(set(wanted)) < len(wanted):
        raise InputError("the same measure is named twice" if wanted else "name at least one measure")
    baselines = dict.fromkeys(arguments.as_names("baselines", baseline))
    for name in baselines:
        errors.require_one_of("ranker", name, rankings.names)
    references = [rankings.names.index(name) for name in baselines]
    tables = zip(wanted, measures_by_query(rankings, wanted), strict=True)
    rows = (_evaluation(rankings, measure.name, values, confidence, references) for measure, values in tables)
    return pd.concat(rows, ignore_index=True)


def _evaluation(
    rankings: Rankings, measure: str, values: FloatMatrix, confidence: float, baselines: list[int]
) -> pd.DataFrame:
    means, (arms, queries) = values.mean(axis=1), values.shape
    order = np.argsort(-means, kind="stable")
    low, high = np.full(arms, np.nan), np.full(arms, np.nan)
    if queries > 1:
        reach = statistics.student_reach(values.std(axis=1, ddof=1) / np.sqrt(queries), queries - 1.0, confidence)
        unseen = float(statistics.clopper_pearson(0, queries, confidence)[1])  # highest share of other values
        alike = np.ptp(values, axis=1) == 0
        low = np.where(alike, means * (1 - unseen), np.maximum(means - reach, 0))
        high = np.where(alike, means + (1 - means) * unseen, np.minimum(means + reach, 1))
    references = baselines or [int(order[0])]
    p = _corrected(values, references, 0 if baselines else arms * (arms - 1) // 2)
    table = pd.DataFrame({"measure": measure, "ranker": np.array(rankings.names, object)[order]})
    table = table.assign(mean=means[order], low=low[order], high=high[order])
    compared = []
    for reference in references:
        rows = table.assign(difference=means[order] - means[reference], p=p[reference, order], queries=queries)
        if baselines:
            rows.insert(2, "baseline", rankings.names[reference])
        compared.append(rows)
    return pd.concat(compared, ignore_index=True)


def _corrected(values: FloatMatrix, references: list[int], family: int) -> FloatMatrix:
    p = np.full((len(values), len(values)), np.nan)
    if values.shape[1] > 1:
        pairs = {(min(i, j), max(i, j)) for i in references for j in range(len(values)) if i != j}
        first, second = np.array(sorted(pairs), np.int64).reshape(-1, 2).T
        tests = [statistics.mean_test(values[j] - values[i]) for i, j in zip(first, second, strict=True)]
        p[first, second] = p[second, first] = statistics.holm(np.array(tests), family)
    return p
