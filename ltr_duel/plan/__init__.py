"""Deciding without a service: a plan says with which probability a search is shown which rankers.

log of earlier plans -> policy -> plan -> decide, on any number of machines -> log. Nothing asks over a network.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["LivePlan", "PlanDecision", "next_plan"]
