"""Compare rankers by interleaving: merge their rankings into one list, and decide from its clicks which ranker won.

Each comparison method is one module of `ltr_duel.interleaving.methods`.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "METHODS",
    "Method",
    "MethodError",
    "Page",
    "check_method",
    "interleave",
    "method_from_functions",
    "register",
]
