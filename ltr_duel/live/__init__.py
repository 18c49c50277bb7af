"""Compare rankers with real users. A plan decides which page a search gets, and a policy learns from the clicks.

A plan contains the probability of each set of rankers. After a batch of outcomes, the policy makes the next plan.
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
