"""What every floor stands on: randomness, compiled kernels, errors, registries, parallel tasks.

Nothing here knows of rankers, clicks or bandits.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
