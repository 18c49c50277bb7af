"""Compare rankers with real users: a plan decides which page a search gets, and a policy learns from the clicks.

A plan contains the probability of each set of rankers. The policy learns from the outcomes, and makes the next plan.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "Decision",
    "Experiment",
    "LivePlan",
    "Settings",
    "StoreError",
    "TokenError",
    "next_plan",
    "read_keys",
    "read_settings",
]
