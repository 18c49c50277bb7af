"""K x K preference matrices (estimated, published and synthetic), their winners, and bounds on regret.

This package does not depend on bandits.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "PreferenceMatrix",
    "arxiv",
    "condorcet_confidence",
    "estimate_preferences",
    "load_preferences",
    "matrix_properties",
    "save_preferences",
    "synthetic_preferences",
    "transitive_null",
]
