"""Simulate a policy against an oracle for T steps; compute regret from pulls.

No module of this folder reads files or draws figures.
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
