"""Reproduce the figures of four papers, and compare the papers' statements with our measurements.

The files in the folder `experiments` declare the figures.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
