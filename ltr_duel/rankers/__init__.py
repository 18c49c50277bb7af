"""Rankers order the documents of each query by a feature, a run or a model. Measures say how good the orders are."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "Rankings",
    "evaluate_rankers",
    "feature_rankers",
    "measure_by_query",
    "model_rankers",
    "pool_runs",
    "rankers_named",
    "rankings_from_scores",
    "run_rankers",
]
