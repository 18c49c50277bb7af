"""Two or more rankings become one list; clicks on it become credit, and credit says who won.

One method, one file. Nothing here knows a bandit.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "METHODS",
    "Comparer",
    "Method",
    "MethodError",
    "Page",
    "PairMethodPage",
    "PlainMethodPage",
    "SlateMethodPage",
    "check_method",
    "compare_pair",
    "compare_slate",
    "draw_slate",
    "interleave",
    "method_from_functions",
    "register",
]
