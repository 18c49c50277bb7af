"""Describe the matrix that defines regret and accuracy: its winner, its precision, and other possible winners.

Each order of tied documents defines different rankers, and may have a different winner.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from ltr_duel.analysis import confidence_sentence, winner_sentence
from ltr_duel.core import FloatVector, files
from ltr_duel.experiment import Schedule, make_schedule
from ltr_duel.preferences import PreferenceMatrix, condorcet_confidence
from ltr_duel.rankers import Rankings

_RULES = {"method": "method", "clicks": "clicks", "outcome": "outcome rule", "ties": "equal scores"}
OTHERS: Mapping[str, Mapping[str, Any]] = {
    "seed-1": {"tie_seed": 1},
    "seed-2": {"tie_seed": 2},
    "resample": {"ties": "resample"},
}
_ALIKE = 1e-12  # rankers with the same lists have the same NDCG, except for rounding errors up to this size
_SURE = 0.95
_FEW_TIES = 0.01  # if the share of tied documents is smaller, their order is not mentioned


def reference_of(
    matrix: PreferenceMatrix, source: str, ndcg: FloatVector | None = None, users: Rankings | None = None
) -> dict[str, Any]:
    """Return ``winner``, the ``probability`` that it truly wins, the ``best`` by NDCG@10 (or None), and a ``text``.

    source: the kind of source, which distinguishes an exact matrix from one published without standard errors.
    ndcg: NDCG of each ranker, by which NDCG regret is measured; shape (K,).
    users: the rankings that simulated users see.
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
            parts.append(f"The Condorcet winner has {own:.4f}, rank {int((ndcg > own).sum()) + 1}.")
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
    return f"{users.n_queries:,} queries; {bare:,} of them {have} no relevant document, and {count} like any other."


def _known(matrix: PreferenceMatrix, source: str) -> str:
    """Describe in a sentence whether the matrix is exact, or how it was estimated and how large its errors are."""
    if not matrix.standard_error.any():
        published = "The matrix was published without standard errors, and is taken as exact."
        return published if source == "published matrix" else "The matrix is known exactly."
    pairs = np.triu_indices(len(matrix), 1)
    rules = [f"{word} {matrix.provenance[key]}" for key, word in _RULES.items() if key in matrix.provenance]
    return (
        f"Preferences: {int(np.median(matrix.comparisons[pairs])):,} comparisons of each pair ({', '.join(rules)});"
        f" the median standard error of a preference is {np.median(matrix.standard_error[pairs]):.2g}."
    )


def tie_order_sentences(schedule: Schedule, table: Mapping[str, Any], folder: Path, jobs: int) -> dict[str, str]:
    """For each problem whose users see tied documents, describe which winner each of several orders of ties has.

    table: the content of the study's TOML file.
    folder: folder to which studies with other orders are written.
    """
    usual = {
        problem.name: problem.matrix
        for problem in schedule.problems
        if problem.rankings is not None and problem.matrix.provenance.get("tied_share", 0.0) >= _FEW_TIES
    }
    if not usual:
        return {}
    found = {name: [_winner(matrix)] for name, matrix in usual.items()}
    for word, order in OTHERS.items():
        other = {**table, "corpora": [{**corpus, **order} for corpus in table["corpora"]]}
        other = {key: one for key, one in other.items() if key not in ("matrices", "utilities")}
        files.write_text(folder / f"ties-{word}.toml", tomli_w.dumps(other))
        for problem in make_schedule(folder / f"ties-{word}.toml", jobs=jobs).problems:
            if problem.name in found:
                found[problem.name].append(_winner(problem.matrix))
    return {name: f"Winner for each order of tied documents: {'; '.join(some)}." for name, some in found.items()}


def _winner(matrix: PreferenceMatrix) -> str:
    """Return a phrase: the order of ties, and the likeliest Condorcet winner or "none", with its probability."""
    sure = condorcet_confidence(matrix)
    best, none = int(sure.argmax()), max(0.0, 1 - float(sure.sum()))
    if none >= _SURE:
        return f"{matrix.tie_order}, none ({_chance(none)})"
    doubt = "" if sure[best] >= _SURE else "undecided, likeliest "
    return f"{matrix.tie_order}, {doubt}{matrix.names[best]} ({_chance(float(sure[best]))})"


def _chance(share: float) -> str:
    return "P > 0.999" if share > 0.999 else f"P = {share:.3f}"
