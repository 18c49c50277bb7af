"""Tools that all other packages use: random numbers, compiled functions (kernels), errors, registries, parallel tasks.

Nothing in this package depends on rankers, clicks or bandits.
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
