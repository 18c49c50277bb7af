"""Live experiments: a plan decides each search, a policy learns from the outcomes, and the next plan follows.

Deciding needs the plan only, in any number of processes. Outcomes come from a click log or the store of a service.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["Decision", "Experiment", "LivePlan", "Settings", "next_plan", "read_keys", "read_settings"]
