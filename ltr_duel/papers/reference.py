"""What regret and accuracy on a problem are measured against, and how well that is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from ltr_duel.analysis import confidence_sentence, winner_sentence
from ltr_duel.core import FloatVector
from ltr_duel.preferences import PreferenceMatrix, condorcet_confidence
from ltr_duel.rankers import Rankings

_RULES = {"method": "method", "clicks": "clicks", "outcome": "outcome rule", "ties": "equal scores"}

_ALIKE = 1e-12  # rankers with the same lists have the same NDCG, but for its last digits
_SURE = 0.95


def reference_of(
    matrix: PreferenceMatrix, source: str, ndcg: FloatVector | None = None, users: Rankings | None = None
) -> dict[str, Any]:
    """Return what a problem is measured against, as JSON.

    matrix: by which average regret and accuracy are measured.
    source: where the problem comes from; it tells an exact matrix from one that was published without standard errors.
    ndcg: shape (K,); by which NDCG regret is measured.
    users: what simulated users are shown.

    Returns ``winner``: the Condorcet winner, or None; ``probability`` that it truly is; ``best``: the rankers with the
    highest NDCG@10, or None where that is not known; ``text``: all of it in sentences.
    """
    winner, sure = matrix.condorcet_winner, condorcet_confidence(matrix)
    best = None if ndcg is None else np.flatnonzero(ndcg >= ndcg.max() - _ALIKE)
    parts = [_known(matrix, source), winner_sentence(matrix)]
    if matrix.standard_error.any() and sure.max() < _SURE:
        parts.append(
            f"Probability of being the true winner: {confidence_sentence(matrix).removeprefix('Condorcet winner: ')}."
        )
    if ndcg is not None and best is not None:
        parts.append(f"Highest NDCG@10: {' and '.join(matrix.names[k] for k in best)}, {ndcg.max():.4f}.")
        if winner is not None and matrix.index(winner) not in best:
            own = ndcg[matrix.index(winner)]
            parts.append(f"The Condorcet winner has {own:.4f}, place {int((ndcg > own).sum()) + 1}.")
    if users is not None:
        parts.append(_queries(users))
    return {
        "winner": winner,
        "probability": float(sure[matrix.index(winner)]) if winner is not None else 0.0,
        "best": None if best is None else [matrix.names[k] for k in best],
        "text": " ".join(parts),
    }


def _queries(users: Rankings) -> str:
    bare = int((np.maximum.reduceat(users.relevance, users.query_ptr[:-1]) == 0).sum())
    if not bare:
        return f"{users.n_queries:,} queries."
    have, count = ("has", "counts") if bare == 1 else ("have", "count")
    return f"{users.n_queries:,} queries; {bare:,} of them {have} no relevant document, and {count} as any other."


def _known(matrix: PreferenceMatrix, source: str) -> str:
    """Say whether the matrix is exact, or how it was estimated and how large its errors are."""
    if not matrix.standard_error.any():
        published = "The matrix was published without standard errors, and is taken as exact."
        return published if source == "published matrix" else "The matrix is known exactly."
    pairs = np.triu_indices(len(matrix), 1)
    rules = [f"{word} {matrix.provenance[key]}" for key, word in _RULES.items() if key in matrix.provenance]
    return (
        f"Preferences: {int(np.median(matrix.comparisons[pairs])):,} comparisons of each pair ({', '.join(rules)});"
        f" the standard error of one is {np.median(matrix.standard_error[pairs]):.2g} (median)."
    )
