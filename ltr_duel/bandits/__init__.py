"""Policies: algorithms that choose which arms to compare next. An arm is usually a ranker.

Each algorithm, or family of algorithms, is one file in `policies` and follows its paper. A policy receives only the
numbers of arms and the outcomes of their comparisons, never queries, lists or clicks.
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
