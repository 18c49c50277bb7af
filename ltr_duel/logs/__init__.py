"""Analysis of click logs of real or simulated searches: compare rankers, compute intervals, decide when to stop.

Comparisons read a log as a stream, so their memory use does not grow with the length of the log. Clicks are credited
by the kernels of the interleaving methods. To create lists for search pages, use `ltr_duel.interleaving`.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "ClickLog",
    "Outcome",
    "Ratio",
    "check_log",
    "compare_log",
    "decide",
    "describe_log",
    "required_impressions",
    "simulate_log",
    "subgroups",
    "write_log",
]
