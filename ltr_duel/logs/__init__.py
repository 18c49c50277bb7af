"""Analysis of click logs of real or simulated searches: the better ranker, the confidence interval, when to stop.

A log is read as a stream, in memory that does not grow with its length. Clicks are credited by the kernels of the
interleaving methods; this package does not create lists for search pages.
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
