"""Simulate policies by running them against a source of outcomes, and compute their regret.

No module of this package reads files or draws figures.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
__all__ = [
    "FromMatrix",
    "FromSchedule",
    "FromUtilities",
    "Results",
    "SimulatedUsers",
    "dynamic_regret",
    "identification_table",
    "identify",
    "measure_distortion",
    "measure_sensitivity",
    "simulate",
]
