"""Rankers: the documents of each query in the order of a feature. Rankings, tie rules, ranking metrics.

Nothing here clicks or compares.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "TIE_RULES",
    "Rankings",
    "Run",
    "column_means",
    "constant_features",
    "feature_rankers",
    "ndcg",
    "rankings_from_scores",
    "read_runs",
    "run_rankers",
]
