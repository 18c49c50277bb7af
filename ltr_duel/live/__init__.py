"""Compare rankers with real users: a plan decides which page a search gets, and a policy learns from the clicks.

A plan contains the probability of each set of rankers. From the outcomes under one plan, the policy makes the next.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["Decision", "Experiment", "LivePlan", "Settings", "next_plan", "read_keys", "read_settings"]
