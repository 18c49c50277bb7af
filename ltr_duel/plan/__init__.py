"""Decide which rankers a search shows, without a service: a plan is a file with the probabilities of sets of rankers.

Log of earlier plans -> policy -> plan -> decide (on any number of machines, without a network) -> log.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["LivePlan", "PlanDecision", "next_plan"]
