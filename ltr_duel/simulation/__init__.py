"""A policy against an oracle, for T steps; regret from pulls.

Nothing here reads files or draws pictures.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
