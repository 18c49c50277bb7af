"""Merge two or more rankings into one list, credit the clicks on it, and derive the winner from the credit.

Each comparison method is one module. This package does not depend on `ltr_duel.bandits`.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["METHODS", "Method", "Page", "check_method", "interleave", "method_from_functions", "register"]
