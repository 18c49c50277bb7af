"""Preference matrices: for each pair of rankers, the probability that one beats the other.

Matrices can be estimated from simulated users, read from files, taken from papers, or made from a rule.
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
