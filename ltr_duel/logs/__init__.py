"""Analysis of click logs of real or simulated searches: compare rankers, compute intervals, decide when to stop.

Start with `compare_log`, which reads a log as a stream, so that a log may be larger than memory. As in simulations,
the comparison methods of `ltr_duel.interleaving` credit the clicks.
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
