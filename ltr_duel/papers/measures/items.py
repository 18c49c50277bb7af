"""What can be asked of a matrix, by name; each answer is one or more numbers with a label and a standard error."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ltr_duel.preferences import (
    PreferenceMatrix,
    cyclic_triples,
    gamma_btm,
    gamma_rucb,
    gaps,
    gaps_table,
    lower_bound,
    multiduel_bound,
    strong_violations,
    total_order,
    triangle_violations,
)

Answer = tuple[str, float, float]  # label, value, standard error
Item = Callable[[PreferenceMatrix], list[Answer]]


def _one(label: str, measured: Callable[[PreferenceMatrix], float | None]) -> tuple[str, Item]:
    """Make an item of one number; NaN where a matrix has none."""

    def item(matrix: PreferenceMatrix) -> list[Answer]:
        value = measured(matrix)
        return [(label, np.nan if value is None else float(value), 0.0)]

    return label, item


def _pairs(matrix: PreferenceMatrix) -> list[Answer]:
    """Return p - 1/2 for each ordered pair, and a row for each pair that is exactly even."""
    names, size = matrix.names, len(matrix)
    pairs = [(i, j) for i in range(size) for j in range(size) if i != j]
    gap = [(f"e[{names[i]}, {names[j]}]", matrix.p[i, j] - 0.5, matrix.standard_error[i, j]) for i, j in pairs]
    return gap + [(f"even {names[i]}, {names[j]}", 1.0, 0.0) for i, j in pairs if i < j and matrix.p[i, j] == 0.5]


def _triangle(matrix: PreferenceMatrix) -> list[Answer]:
    """Return how many pairs of rivals break the triangle inequality, and each one's excess."""
    table = triangle_violations(matrix)
    if table is None:
        return [("triangle_violations", np.nan, 0.0)]
    rows = zip(table["j"], table["k"], table["excess"].tolist(), strict=True)
    each = [(f"triangle excess {j}, {k}", excess, 0.0) for j, k, excess in rows]
    return [("triangle_violations", float(len(table)), 0.0), *each]


def _smallest_gap(matrix: PreferenceMatrix) -> list[Answer]:
    table = gaps_table(matrix)
    if table is None or table.empty:
        return [("smallest_gap", np.nan, 0.0)]
    return [("smallest_gap", float(table["gap"].iloc[0]), float(table["standard_error"].iloc[0]))]


def _pairs_in_order(matrix: PreferenceMatrix) -> float:
    """Count the pairs in which the ranker that stands first wins."""
    return float(np.triu(matrix.p > 0.5, 1).sum())


def _mean_gap(matrix: PreferenceMatrix) -> float | None:
    """Return the mean gap of the others: the regret of a step that plays two of them at random."""
    gap = gaps(matrix)
    return None if gap is None or len(gap) < 2 else float(gap.sum() / (len(gap) - 1))


def _set_bound(matrix: PreferenceMatrix) -> float | None:
    bound = multiduel_bound(matrix)
    return None if bound is None else bound.constant


ITEMS: dict[str, Item] = {
    "pairs": _pairs,
    "triangle_violations": _triangle,
    "smallest_gap": _smallest_gap,
    **dict(
        (
            _one("pairs_in_order", _pairs_in_order),
            _one("even_pairs", lambda matrix: float(np.triu(matrix.p == 0.5, 1).sum())),
            _one("total_order", lambda matrix: float(total_order(matrix) is not None)),
            _one("cyclic_triples", cyclic_triples),
            _one("strong_violations", lambda matrix: strong_violations(matrix)[0]),
            _one("gamma_btm", gamma_btm),
            _one("gamma_rucb", gamma_rucb),
            _one("mean_gap", _mean_gap),
            _one("lower_bound", lower_bound),
            _one("multiduel_bound", _set_bound),
        )
    ),
}
