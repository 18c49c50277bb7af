"""Interleaving and dueling bandits on learning-to-rank corpora.

The package exports the functions that users call. It imports slow modules on first use.
"""

import lazy_loader

__version__ = "0.4.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]
