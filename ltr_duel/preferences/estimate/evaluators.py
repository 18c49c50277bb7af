"""Which evaluator the settings of an estimate ask for."""

from __future__ import annotations

import numpy as np

from ltr_duel.preferences.estimate.antithetic import Antithetic
from ltr_duel.preferences.estimate.blocks import Played
from ltr_duel.preferences.estimate.integrated import Integrated, open_tree
from ltr_duel.preferences.estimate.settings import Settings


def open_evaluator(settings: Settings) -> Played | Integrated | Antithetic:
    """Allocate what one worker needs to turn a query and two rankers into an outcome."""
    comparison, n_queries, top = settings.comparer.open(), settings.rankings.n_queries, settings.comparer.top
    if settings.antithetic:
        return Antithetic(comparison, n_queries, open_tree(top), np.zeros(top))
    if settings.integrated:
        return Integrated(comparison, n_queries, open_tree(top))
    return Played(comparison, n_queries)
