"""Policies: algorithms that choose which arms to compare next. An arm is usually a ranker.

The folder `policies` has a module for each algorithm or family of algorithms. A policy receives only the numbers of
arms and the outcomes of their comparisons. It never receives queries, lists or clicks.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
__all__ = [
    "POLICIES",
    "Learner",
    "Policy",
    "PolicyError",
    "best_arm",
    "check_policy",
    "policy_from_class",
    "register",
    "registers",
]
