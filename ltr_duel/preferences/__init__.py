"""K x K preference matrices (estimated, published and synthetic), their winners, and bounds on regret.

This package does not depend on bandits.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "FAMILIES",
    "SYNTHETIC",
    "UTILITY_SETS",
    "PreferenceMatrix",
    "arxiv",
    "condorcet_confidence",
    "condorcet_shares",
    "estimate_preferences",
    "gamma_btm",
    "gamma_rucb",
    "gaps",
    "load_preferences",
    "lower_bound",
    "matrix_properties",
    "save_preferences",
    "synthetic_preferences",
    "total_order_share",
    "transitive_null",
]
