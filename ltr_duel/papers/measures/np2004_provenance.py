"""Find out how the preference matrix of NP2004 in the RUCB paper was made: compare it with estimates made in many ways.

The published matrix does not name its rankers, so matrices are compared by profiles that do not depend on names: the
sorted row means, and the quantiles of ``|p - 1/2|``. The available corpus may contain only some of the paper's queries.
A matrix is therefore estimated query by query, and the error of a number is its spread over resampled queries
(bootstrap).

Zoghi, Whiteson, Munos, de Rijke. RUCB. ICML 2014, section 6: probabilistic interleave, 4,000 comparisons of each pair
of the 64 feature rankers of NP2004. The paper names neither the click model nor the treatment of ties.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ltr_duel.core import FloatMatrix, FloatVector, InputError, parallel, stream
from ltr_duel.data import load_dataset
from ltr_duel.papers.expand import Found
from ltr_duel.preferences import estimate_preferences, load_preferences
from ltr_duel.rankers import Rankings, feature_rankers

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
_BOOTSTRAPS = 400
_CHOICE = ("clicks", "ties", "outcome", "top")  # settings of a variant


def measure(
    *, found: Found, jobs: int, variants: Sequence[Mapping[str, Any]], comparisons: int, seed: int = 0
) -> pd.DataFrame:
    """Compare each variant with the published matrix: the distance of row means ("rmse"), and quantiles of the gaps.

    found: a source with both a corpus (``path``) and the published matrix (``file``).
    variants: ways to estimate the matrix, each with the settings ``clicks`` and ``ties``, and optionally ``outcome``
        and ``top``.
    comparisons: number of comparisons of each pair, divided evenly among the queries.
    """
    if "path" not in found.entry or "file" not in found.entry:
        raise InputError("this measure needs both the feature files of NP2004 and the published matrix of its rankers")
    published = load_preferences(found.entry["file"]).p
    dataset = load_dataset(found.entry["path"], jobs=jobs, **found.reading)
    if dataset.n_features != len(published):
        raise InputError(
            f"{found.entry['path']} has {dataset.n_features} features; the published matrix has {len(published)}"
        )
    rows = []
    for variant in variants:
        choice = {"outcome": "marginal_sign", "top": 10, **variant}
        rankings = feature_rankers(dataset, ties=choice["ties"], drop_constant=False, jobs=jobs)
        shares, matrices = _by_query(rankings, choice, comparisons, seed, jobs)
        for item, value, error, printed in _compared(shares, matrices, published, seed):
            rows.append((*(choice[key] for key in _CHOICE), len(published), item, value, error, printed))
    columns = [*_CHOICE, "rankers", "item", "value", "standard_error", "printed"]
    return pd.DataFrame(rows, columns=columns).assign(source=found.source)


def _by_query(
    rankings: Rankings, choice: dict[str, Any], comparisons: int, seed: int, jobs: int
) -> tuple[FloatVector, NDArray[np.float64]]:
    """Return each part's share of the queries, shape (parts,), and each part's matrix, shape (parts, K, K)."""
    parts = _parts(rankings)
    shares = np.array([part.n_queries / rankings.n_queries for part in parts])

    def estimate(number: int) -> FloatMatrix:
        return estimate_preferences(
            parts[number],
            clicks=choice["clicks"],
            outcome=choice["outcome"],
            top=choice["top"],
            variance_reduction="none",
            comparisons=max(2, ceil(comparisons * shares[number])),
            seed=int(stream(seed, "own matrix", number).integers(2**62)),
            jobs=1,
        ).p

    tasks, label = range(len(parts)), f"{choice['clicks']}, {choice['ties']}"
    return shares, np.array(
        list(parallel.run_tasks(estimate, tasks, total=len(parts), jobs=jobs, label=label, unit="query"))
    )


def _parts(rankings: Rankings) -> list[Rankings]:
    """Split the corpus by query; a query without relevant documents is joined to the query before it.

    At the beginning, such queries are joined to the first query with relevant documents.
    """
    ptr = rankings.query_ptr
    relevant = np.maximum.reduceat(rankings.relevance, ptr[:-1]) > 0
    first = np.append(np.flatnonzero(relevant), rankings.n_queries)
    first[0] = 0
    parts = []
    for low, high in pairwise(first):
        here = slice(ptr[low], ptr[high])
        columns: dict[str, NDArray[Any]] = {"order": rankings.order, "rank": rankings.rank}
        columns |= {"tied": rankings.tied} if rankings.tied.size else {}
        arrays: dict[str, Any] = {name: np.ascontiguousarray(column[:, here]) for name, column in columns.items()}
        relevance, query_ptr = np.ascontiguousarray(rankings.relevance[here]), ptr[low : high + 1] - ptr[low]
        unknown = np.zeros(0, np.int64)
        parts.append(replace(rankings, **arrays, relevance=relevance, query_ptr=query_ptr, tied_documents=unknown))
    return parts


def _compared(
    shares: FloatVector, matrices: NDArray[np.float64], published: FloatMatrix, seed: int
) -> list[tuple[str, float, float, float]]:
    """Return the rows (item, value, standard error, value of the published matrix)."""
    rng = stream(seed, "own matrix", "bootstrap")
    size, wanted = len(published), profile(published)
    drawn = rng.multinomial(len(shares), np.full(len(shares), 1 / len(shares)), _BOOTSTRAPS) * shares
    values = profile(np.tensordot(shares, matrices, 1))
    again = np.array([profile(np.tensordot(weights / weights.sum(), matrices, 1)) for weights in drawn])

    def distance(one: FloatVector) -> float:
        return float(np.sqrt(np.mean((one[:size] - wanted[:size]) ** 2)))

    answers = [("rmse", distance(values), float(np.std([distance(one) for one in again], ddof=1)), np.nan)]
    for number, q in enumerate(QUANTILES, size):
        answers.append((f"quantile {q:g}", float(values[number]), float(again[:, number].std(ddof=1)), wanted[number]))
    return answers


def profile(p: FloatMatrix) -> FloatVector:
    """Return a profile that is independent of the order of rankers: sorted row means, then quantiles of |p - 1/2|."""
    gaps = np.abs(p[np.triu_indices(len(p), 1)] - 0.5)
    return np.concatenate([np.sort(p.mean(axis=1)), np.quantile(gaps, QUANTILES)])
