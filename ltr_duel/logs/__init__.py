"""Click logs of real searches, or simulated ones: who won, how sure, when to stop.

A log is read as a stream, and what is kept of it does not grow with its length. Nothing here draws lists for a search
page; crediting is done by the kernels of the methods.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "LOG_COLUMNS",
    "ClickLog",
    "Impressions",
    "LogComparison",
    "Spread",
    "check_log",
    "compare_log",
    "confidence_sequence",
    "describe_log",
    "plan_impressions",
    "plot_comparison",
    "sessions_in_log",
    "simulate_log",
    "stopping_decisions",
    "weigh_outcomes",
    "write_log",
]
