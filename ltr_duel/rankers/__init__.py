"""Rankers: the documents of each query in the order of a feature. Rankings, tie rules, ranking metrics.

Nothing here clicks or compares.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
