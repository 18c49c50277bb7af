"""Properties of the papers' matrices, beside what the papers print of them.

Beat the Mean, Table 1 (the matrix itself, its order and gamma); RUCB, section 3 (gamma of three matrices);
Multi-Dueling Bandits, Table 1 (fifteen sets of utilities).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ltr_duel.core import unknown_name
from ltr_duel.papers.measures import MEASURES
from ltr_duel.papers.measures.inputs import matrix_of
from ltr_duel.papers.measures.items import ITEMS
from ltr_duel.papers.measures.subset_gammas import subset_gammas
from ltr_duel.preferences import SYNTHETIC, UTILITY_SETS, PreferenceMatrix, arxiv

if TYPE_CHECKING:
    from ltr_duel.papers.find_data import Found

_COLUMNS = ["problem", "item", "rankers", "value", "standard_error", "printed"]


def properties(settings: dict[str, Any], *, found: Found, jobs: int) -> pd.DataFrame:
    """Return the items asked for, of each matrix.

    Parameters
    ----------
    settings : dict
        ``matrices``: "arxiv" and names of `SYNTHETIC`; without it, the matrix that was found, called ``problem``.
        ``items``: names of `ITEMS`; a set of utilities gives its best, second and last utility besides.
        ``printed``: what the paper prints, a number for each label, for all matrices; or a table for each matrix.
        ``subset_sizes``, ``subsets``, ``seed``: see `subset_gammas`. And those of `matrix_of`.
    found : Found
        A matrix, or a corpus to estimate one on, unless the settings name matrices.
    jobs : int

    Returns
    -------
    DataFrame
        ``problem`` (the matrix), ``item``, ``rankers``, ``value``, ``standard_error``, ``printed`` (NaN where the
        paper does not say) and ``source``.
    """
    rows: list[tuple[Any, ...]] = []
    for problem, matrix in _matrices(settings, found, jobs):
        said = settings.get("printed", {})
        printed = {**said, **said.get(problem, {})}
        answers = [(f"utility {place}", value, 0.0) for place, value in _utilities(problem)]
        for name in settings["items"]:
            if name not in ITEMS:
                raise unknown_name("property", name, ITEMS)
            answers += ITEMS[name](matrix)
        rows += [
            (problem, label, len(matrix), value, error, float(printed.get(label, np.nan)))
            for label, value, error in answers
        ]
        subsets, seed = settings.get("subsets", 10_000), settings.get("seed", 0)
        sizes = settings.get("subset_sizes", [])
        rows += [(problem, *row) for row in subset_gammas(matrix, sizes, subsets=subsets, seed=seed, jobs=jobs)]
    return pd.DataFrame(rows, columns=_COLUMNS).assign(source=found.source)


def _matrices(settings: dict[str, Any], found: Found, jobs: int) -> Iterator[tuple[str, PreferenceMatrix]]:
    if "matrices" not in settings:
        yield settings["problem"], matrix_of(found, settings, jobs=jobs)
    for name in settings.get("matrices", ()):
        if name != "arxiv" and name not in SYNTHETIC:
            raise unknown_name("matrix", name, ["arxiv", *SYNTHETIC])
        yield name, arxiv() if name == "arxiv" else SYNTHETIC[name]()


def _utilities(problem: str) -> list[tuple[str, float]]:
    if problem not in UTILITY_SETS:
        return []
    ordered = sorted(UTILITY_SETS[problem], reverse=True)
    return [("best", ordered[0]), ("second", ordered[1]), ("last", ordered[-1])]


MEASURES.add("properties", properties)
