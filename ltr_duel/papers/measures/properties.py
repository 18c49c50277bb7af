"""Properties of the papers' matrices, together with the printed values.

Beat the Mean, Table 1 (the matrix, its order and gamma); RUCB, section 3 (gamma of three matrices, two of which are
random subsets that the paper does not name); Multi-Dueling Bandits, Table 1 (fifteen sets of utilities).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import sqrt
from typing import Any

import numpy as np
import pandas as pd

from ltr_duel.core import FloatMatrix, FloatVector, errors, parallel, stream
from ltr_duel.papers.expand import Found
from ltr_duel.papers.measures.inputs import load_matrix
from ltr_duel.preferences import (
    SYNTHETIC,
    UTILITY_SETS,
    PreferenceMatrix,
    arxiv,
    cyclic_triples,
    gamma_btm,
    gamma_rucb,
    gaps,
    lower_bound,
    multiduel_bound,
    random_condorcet_subset,
    strong_violations,
    total_order,
    transitive_null,
    triangle_violations,
)

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
Answer = tuple[str, float, float]  # label, value, standard error
Item = Callable[[PreferenceMatrix], list[Answer]]
_Statistic = tuple[Callable[[PreferenceMatrix], float | None], int]  # a statistic of `transitive_null`
_LOW_GAMMA = f"gamma_btm quantile {QUANTILES[0]:g}"
_TRANSITIVE = {"strong_violations": 0.0, _LOW_GAMMA: 1.0}
_WORLDS, _FEW_WORLDS, _FEW_SUBSETS = 400, 99, 200
_COLUMNS = ["problem", "item", "rankers", "value", "standard_error", "printed"]


def measure(
    *,
    found: Found,
    jobs: int,
    items: Sequence[str],
    matrices: Sequence[str] = (),
    problem: str = "",
    printed: Mapping[str, Any] | None = None,
    subset_sizes: Sequence[Mapping[str, float]] = (),
    subsets: int = 10_000,
    clicks: str = "informational",
    comparisons: int = 4000,
    compared: Sequence[str] = (),
    seed: int = 0,
) -> pd.DataFrame:
    """Return the items (names in `ITEMS`) of each matrix; for utility sets, also the best, second and last utility.

    matrices: "arxiv" and names in `SYNTHETIC`. By default, there is one matrix, whose name is ``problem``: the matrix
        that was found, or an estimate (with ``clicks`` and ``comparisons``) on the corpus that was found.
    printed: the printed values, as {label: number} for all matrices or {matrix: {label: number}}.
    subset_sizes: mappings with ``rankers`` (a size) and ``printed`` (the printed gamma of one subset of this size).
    subsets: number of random subsets of each size.
    compared: items to test against simulated transitive matrices with the same noise: "strong_violations", or
        "gamma_btm quantile 0.05" of the subsets. For a matrix without standard errors, the noise of ``comparisons``
        comparisons of each pair is assumed.

    Columns: ``problem``, ``item``, ``rankers``, ``value``, ``standard_error``, ``printed`` (NaN if not printed),
    ``p_value`` (share of simulated transitive matrices that look at least as intransitive as this matrix; NaN for items
    that are not tested), ``transitive`` (the item's value for a transitive matrix without noise), ``source``.
    """
    rows: list[tuple[Any, ...]] = []
    chances: dict[tuple[str, str, int], float] = {}
    named = [(name, _matrix(name)) for name in matrices]
    if not named:
        named = [(problem, load_matrix(found, clicks=clicks, comparisons=comparisons, seed=seed, jobs=jobs))]
    for name, matrix in named:
        said = dict(printed or {})
        said |= said.get(name, {})
        for label, value, error in _answers(name, matrix, items):
            rows.append((name, label, len(matrix), value, error, float(said.get(label, np.nan))))
        if "strong_violations" in compared:
            chance = _chance(matrix, (_strong_share, +1), _WORLDS, comparisons, seed)
            chances[name, "strong_violations", len(matrix)] = chance
        for wanted in subset_sizes:
            size, gamma = int(wanted["rankers"]), float(wanted["printed"])
            btm, rucb = _gammas_of_subsets(matrix, size, subsets, seed, jobs)
            answers = [*_share_up_to(rucb, gamma), *_quantiles("gamma_rucb", rucb, gamma)]
            rows += [(name, label, size, *numbers) for label, *numbers in (*answers, *_quantiles("gamma_btm", btm))]
            if _LOW_GAMMA in compared:
                low = partial(_low_gamma, size=size, seed=seed), +1
                chances[name, _LOW_GAMMA, size] = _chance(matrix, low, _FEW_WORLDS, comparisons, seed)
    keys = [row[:3] for row in rows]
    return pd.DataFrame(rows, columns=_COLUMNS).assign(
        p_value=[chances.get(key, np.nan) for key in keys],
        transitive=[_TRANSITIVE[item] if (name, item, size) in chances else np.nan for name, item, size in keys],
        source=found.source,
    )


def _chance(matrix: PreferenceMatrix, one: _Statistic, worlds: int, comparisons: int, seed: int) -> float:
    rng = stream(seed, "transitive worlds", matrix.digest)
    table = transitive_null(matrix, rng, worlds=worlds, comparisons=comparisons, statistics={"": one})
    return float(table["p_value"].iloc[0])


def _strong_share(matrix: PreferenceMatrix) -> float:
    broken, triples = strong_violations(matrix)
    return broken / max(1, triples)


def _low_gamma(matrix: PreferenceMatrix, *, size: int, seed: int) -> float:
    """Return the 5 % quantile of gamma over a few random subsets with a Condorcet winner."""
    return float(np.quantile(_gammas_of_subsets(matrix, size, _FEW_SUBSETS, seed, 1)[0], QUANTILES[0]))


def _matrix(name: str) -> PreferenceMatrix:
    errors.require_one_of("matrix", name, ["arxiv", *SYNTHETIC])
    return arxiv() if name == "arxiv" else SYNTHETIC[name]()


def _answers(name: str, matrix: PreferenceMatrix, items: Sequence[str]) -> Iterator[Answer]:
    if name in UTILITY_SETS:
        ordered = sorted(UTILITY_SETS[name], reverse=True)
        for place, value in (("best", ordered[0]), ("second", ordered[1]), ("last", ordered[-1])):
            yield f"utility {place}", value, 0.0
    for item in items:
        errors.require_one_of("property", item, ITEMS)
        yield from ITEMS[item](matrix)


def _gammas_of_subsets(matrix: PreferenceMatrix, size: int, subsets: int, seed: int, jobs: int) -> FloatMatrix:
    """Return gamma of random subsets with a Condorcet winner, as defined by Beat the Mean and as defined by RUCB."""

    def one(number: int) -> tuple[float, float]:
        chosen = random_condorcet_subset(matrix, size, seed=seed * subsets + number)
        return float(gamma_btm(chosen) or np.nan), float(gamma_rucb(chosen) or np.nan)

    label = f"gamma of {size} rankers"
    made = parallel.run_tasks(one, range(subsets), total=subsets, jobs=jobs, label=label, unit="set", first_alone=False)
    return np.array(list(made)).T


def _share_up_to(drawn: FloatVector, printed: float) -> Iterator[tuple[str, float, float, float]]:
    """Yield label, value, standard error and printed value for the share of gammas up to the printed gamma."""
    share = float((drawn <= printed).mean())
    yield "gamma_rucb share up to printed", share, sqrt(share * (1 - share) / len(drawn)), np.nan


def _quantiles(name: str, drawn: FloatVector, printed: float = np.nan) -> Iterator[tuple[str, float, float, float]]:
    for q in QUANTILES:
        off = sqrt(q * (1 - q) / len(drawn))  # standard error of the quantile's level
        low, value, high = np.quantile(drawn, [max(0.0, q - off), q, min(1.0, q + off)])
        yield f"{name} quantile {q:g}", float(value), float(high - low) / 2, printed


def _number(label: str, measured: Callable[[PreferenceMatrix], float | None]) -> Item:
    """Make an item with one number, whose standard error is 0; an undefined number is NaN."""

    def item(matrix: PreferenceMatrix) -> list[Answer]:
        value = measured(matrix)
        return [(label, np.nan if value is None else float(value), 0.0)]

    return item


def _pairs(matrix: PreferenceMatrix) -> list[Answer]:
    """Return p - 1/2 for each ordered pair, and an extra item for each pair that is exactly even."""
    names, size = matrix.names, len(matrix)
    pairs = [(i, j) for i in range(size) for j in range(size) if i != j]
    gap = [(f"e[{names[i]}, {names[j]}]", matrix.p[i, j] - 0.5, matrix.standard_error[i, j]) for i, j in pairs]
    return gap + [(f"even {names[i]}, {names[j]}", 1.0, 0.0) for i, j in pairs if i < j and matrix.p[i, j] == 0.5]


def _triangle(matrix: PreferenceMatrix) -> list[Answer]:
    """Return how many pairs of the winner's rivals violate the triangle inequality, and by how much each pair does."""
    table = triangle_violations(matrix)
    if table is None:
        return [("triangle_violations", np.nan, 0.0)]
    rows = zip(table["j"], table["k"], table["excess"].tolist(), strict=True)
    each = [(f"triangle excess {j}, {k}", excess, 0.0) for j, k, excess in rows]
    return [("triangle_violations", float(len(table)), 0.0), *each]


def _smallest_gap(matrix: PreferenceMatrix) -> list[Answer]:
    gap = gaps(matrix)
    if gap is None or len(gap) < 2:
        return [("smallest_gap", np.nan, 0.0)]
    winner = matrix.index(str(matrix.condorcet_winner))
    rival = min((k for k in range(len(gap)) if k != winner), key=lambda k: float(gap[k]))
    return [("smallest_gap", float(gap[rival]), float(matrix.standard_error[winner, rival]))]


def _mean_gap(matrix: PreferenceMatrix) -> float | None:
    """Return the mean gap of all rankers except the winner: the regret of a step that plays two of them at random."""
    gap = gaps(matrix)
    return None if gap is None or len(gap) < 2 else float(gap.sum() / (len(gap) - 1))


_NUMBERS: dict[str, Callable[[PreferenceMatrix], float | None]] = {
    "pairs_in_order": lambda matrix: float(np.triu(matrix.p > 0.5, 1).sum()),  # pairs in which the first ranker wins
    "even_pairs": lambda matrix: float(np.triu(matrix.p == 0.5, 1).sum()),
    "total_order": lambda matrix: float(total_order(matrix) is not None),
    "cyclic_triples": cyclic_triples,
    "strong_violations": lambda matrix: strong_violations(matrix)[0],
    "gamma_btm": gamma_btm,
    "gamma_rucb": gamma_rucb,
    "mean_gap": _mean_gap,
    "lower_bound": lower_bound,
    "multiduel_bound": lambda matrix: getattr(multiduel_bound(matrix), "constant", None),
}
ITEMS: dict[str, Item] = {
    "pairs": _pairs,
    "triangle_violations": _triangle,
    "smallest_gap": _smallest_gap,
    **{label: _number(label, measured) for label, measured in _NUMBERS.items()},
}
