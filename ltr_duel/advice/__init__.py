"""Simulation-based advice on the policy to deploy: the best candidate, its confidence, its cost, and its time.

This package uses only the exports of lower layers, and only the command line imports it.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
__all__ = ["Advice", "advise"]
