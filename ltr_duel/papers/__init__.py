"""Reproduce the figures of four papers, and compare what a paper prints with what we measure.

The files in the folder `experiments` declare the figures with `figure`, `study`, `measured`, `row` and sources of data.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
