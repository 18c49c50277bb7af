"""One ranker for each feature column: the documents of a query by that feature, highest first.

Direction is always descending, also where ascending would rank better: the arms of the published experiments.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ltr_duel.core.errors import InputError, unknown_name
from ltr_duel.data.dataset import Dataset
from ltr_duel.rankers.rankings import Rankings
from ltr_duel.rankers.scores import rankings_from_scores
from ltr_duel.rankers.ties import TieRule


def feature_rankers(
    dataset: Dataset,
    *,
    features: Sequence[str] | None = None,
    ties: TieRule = "fixed_random",
    seed: int = 0,
    drop_constant: bool = False,
    jobs: int = -1,
) -> Rankings:
    """Build one ranker for each feature.

    Parameters
    ----------
    dataset : Dataset
    features : sequence of str, optional
        Names of the features to use; all by default.
    ties : {"fixed_random", "shared", "file", "resample", "redraw_at_inference"}
        How tied documents are ordered (see `ltr_duel.rankers.ties`).
    seed : int
        Of the tie rule.
    drop_constant : bool
        Leave out features that are constant within every query. They order nothing: such a ranker is its tie rule.
    jobs : int
        Threads; -1 for all cores.

    Returns
    -------
    Rankings

    Raises
    ------
    InputError
        For an unknown feature or tie rule, a query of more than 32,767 documents, or where no ranker is left.
    """
    columns = _chosen(dataset, features)
    if drop_constant:
        constant = set(constant_features(dataset))
        columns = [c for c in columns if dataset.feature_names[c] not in constant]
        if not columns:
            raise InputError(f"{dataset.name}: every feature is constant within each query: no ranker is left")

    names = tuple(dataset.feature_names[c] for c in columns)
    return rankings_from_scores(
        dataset, names, lambda k: dataset.features[:, columns[k]], ties=ties, seed=seed, jobs=jobs
    )


def constant_features(dataset: Dataset) -> tuple[str, ...]:
    """Return the names of the features that have a single value within each query: they order nothing."""
    starts = dataset.query_ptr[:-1]
    names = []
    for column, name in enumerate(dataset.feature_names):
        scores = dataset.features[:, column]
        if (np.maximum.reduceat(scores, starts) == np.minimum.reduceat(scores, starts)).all():
            names.append(name)
    return tuple(names)


def _chosen(dataset: Dataset, features: Sequence[str] | None) -> list[int]:
    if features is None:
        return list(range(dataset.n_features))
    for name in features:
        if name not in dataset.feature_names:
            raise unknown_name(f"feature in {dataset.name} called", name, dataset.feature_names)
    return [dataset.feature_names.index(name) for name in features]

