"""Policies choose the arms to compare next. Each algorithm (or family) is one file that follows its paper.

A policy receives arms and outcomes, never queries, lists or clicks.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
__all__ = [
    "POLICIES",
    "Learner",
    "Policy",
    "best_arm",
    "check_policy",
    "policy_from_class",
    "register",
    "registers",
]
