"""Feature files become a `Dataset`: readers, corpora, synthetic data.

Nothing here orders documents, clicks or compares.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
