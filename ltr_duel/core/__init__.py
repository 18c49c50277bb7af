"""What every floor stands on: randomness, compiled kernels, errors, registries, parallel tasks.

Nothing here knows of rankers, clicks or bandits.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "CLICKS",
    "CORRECT",
    "DRAW",
    "GAMMA",
    "HORIZON",
    "LOWER_BOUND",
    "POLICY",
    "PROBLEM",
    "RANKERS",
    "REGRET",
    "REPETITION",
    "SIZE",
    "SOURCE",
    "STUDY",
    "SUBSET",
    "Component",
    "Configured",
    "FloatMatrix",
    "FloatVector",
    "InputError",
    "IntMatrix",
    "IntVector",
    "NoParams",
    "Plugin",
    "Reference",
    "Registry",
    "T",
    "cache_home",
    "coin",
    "columns",
    "interpreted",
    "kernel",
    "load_plugin",
    "random_below",
    "reference_of",
    "regret_label",
    "replacing",
    "run_tasks",
    "shuffle",
    "stream",
    "unknown_name",
]
