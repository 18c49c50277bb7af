"""K x K preference matrices: estimated, published, synthetic; their winners and bounds.

Nothing here knows a bandit.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
