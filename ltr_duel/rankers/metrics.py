"""NDCG: how good a ranking is by the grades, whatever users click.

Jarvelin, Kekalainen. Cumulated Gain-Based Evaluation of IR Techniques. TOIS 2002, with the gain of Burges et al. (ICML
2005) that the learning-to-rank corpora are evaluated by:

    DCG@k = sum over the first k documents of (2^grade - 1) / log2(1 + rank),    NDCG@k = DCG@k / ideal DCG@k

The ideal is made of all documents of the query, not of those retrieved. A query without a relevant document counts
0 and stays in the denominator (the LETOR habit; Yahoo's tools give 1/2 or 1), so that differences between rankers
only shrink by a common factor.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import FloatMatrix, FloatVector, require_between
from ltr_duel.rankers.rankings import Rankings


def ndcg(rankings: Rankings, k: int = 10) -> FloatVector:
    """Return the NDCG@k of each ranker, averaged over all queries.

    Parameters
    ----------
    rankings : Rankings
        Where ties are ordered anew in each comparison, one such order is measured.
    k : int
        How many documents count, at least 1.

    Returns
    -------
    ndarray of float64, shape (K,)

    Raises
    ------
    InputError
        For a k below 1.

    Examples
    --------
    >>> from ltr_duel.data import make_corpus
    >>> from ltr_duel.rankers import feature_rankers
    >>> rankings = feature_rankers(make_corpus(queries=4, documents=6, features=10), features=["1", "2"])
    >>> ndcg(rankings).round(3)
    array([0.433, 0.512])
    """
    means: FloatVector = ndcg_by_query(rankings, k).mean(axis=1)
    return means


def ndcg_by_query(rankings: Rankings, k: int = 10) -> FloatMatrix:
    """Return the NDCG@k of each ranker on each query; shape (K, n_queries).

    Parameters
    ----------
    rankings : Rankings
    k : int
        How many documents count, at least 1. A query with fewer counts them all.

    Raises
    ------
    InputError
        For a k below 1.
    """
    require_between("the number of documents that NDCG looks at", k, 1)
    table = np.zeros((len(rankings), rankings.n_queries))
    for query in range(rankings.n_queries):
        start, stop = rankings.query_ptr[query : query + 2]
        gain = _gain(rankings.relevance[start:stop])
        depth = min(k, len(gain))
        discount = 1 / np.log2(np.arange(2, depth + 2))
        ideal = (np.sort(gain)[::-1][:depth] * discount).sum()
        if ideal > 0:
            shown = rankings.order[:, start : start + depth]
            table[:, query] = (gain[shown] * discount).sum(axis=1) / ideal
    return table


def _gain(grades: NDArray[np.int16]) -> FloatVector:
    return 2.0 ** grades.astype(np.float64) - 1
