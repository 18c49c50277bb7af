"""The basis of all other packages: randomness, compiled kernels, errors, registries, parallel tasks.

This package does not depend on rankers, clicks or bandits.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "InputError",
    "coin",
    "kernel",
    "load_plugin",
    "random_below",
    "shuffle",
    "stream",
    "uniform",
]
