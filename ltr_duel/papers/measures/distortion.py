"""The share of rankers that beat the Condorcet winner in multileaved sets of rankers (Multi-Dueling Bandits, Table 3).

The share is measured on one corpus by `ltr_duel.simulation.measure_distortion`.

Brost, Seldin, Cox, Lioma. Multi-Dueling Bandits and Their Application to Online Ranker Evaluation. CIKM 2016,
section 4.2.6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ltr_duel.papers.expand import Found
from ltr_duel.papers.measures.inputs import load_corpus
from ltr_duel.rankers import constant_features, feature_rankers
from ltr_duel.simulation import distortion_table, measure_distortion


def measure(
    *,
    found: Found,
    jobs: int,
    corpus: str,
    sizes: Sequence[int],
    printed: Mapping[str, Sequence[float]] | None = None,
    without: int | None = None,
    **sampled: Any,
) -> pd.DataFrame:
    """Return the percentage of rankers that beat the Condorcet winner, for each set size up to the number of rankers.

    corpus: name of the corpus in the table.
    printed: the printed percentages for each click model, in the order of the sizes; NaN if not printed.
    without: the position, from 0, of a feature to leave out.
    **sampled: other parameters of `measure_distortion`.
    """
    dataset = load_corpus(found, jobs=jobs)
    left_out = set(constant_features(dataset))
    if without is not None:
        left_out.add(dataset.feature_names[without])
    kept = [name for name in dataset.feature_names if name not in left_out]
    rankings = feature_rankers(dataset, features=kept, jobs=jobs)
    fitting = [size for size in sizes if size <= len(rankings)]
    table = distortion_table(measure_distortion(rankings, methods=["sosm"], sizes=fitting, jobs=jobs, **sampled))
    said = {
        (model, size): float(percent)
        for model, percents in (printed or {}).items()
        for size, percent in zip(sizes, percents, strict=True)
    }
    return pd.DataFrame(
        {
            "corpus": corpus,
            "of": len(rankings),
            "rankers": table["rankers"],
            "clicks": table["clicks"],
            "value": table["percent"],
            "standard_error": table["standard_error"],
            "clear": table["percent_clear"],
            "printed": [said.get(cell, np.nan) for cell in zip(table["clicks"], table["rankers"], strict=True)],
            "source": found.source,
        }
    )
