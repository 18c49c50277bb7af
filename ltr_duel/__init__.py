"""Interleaving and dueling bandits on learning-to-rank corpora.

The verbs users type; everything heavy is imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ltr_duel.data.svmlight import load_dataset as load_dataset
    from ltr_duel.preferences.estimate import estimate_preferences as estimate_preferences
    from ltr_duel.preferences.files import load_preferences as load_preferences
    from ltr_duel.preferences.files import save_preferences as save_preferences
    from ltr_duel.preferences.matrix import PreferenceMatrix as PreferenceMatrix
    from ltr_duel.rankers.features import feature_rankers as feature_rankers
    from ltr_duel.simulation.live import Live as Live
    from ltr_duel.simulation.simulate import simulate as simulate

__version__ = "0.1.0"

_HOMES = {
    "Live": "ltr_duel.simulation.live",
    "PreferenceMatrix": "ltr_duel.preferences.matrix",
    "estimate_preferences": "ltr_duel.preferences.estimate",
    "feature_rankers": "ltr_duel.rankers.features",
    "load_dataset": "ltr_duel.data.svmlight",
    "load_preferences": "ltr_duel.preferences.files",
    "save_preferences": "ltr_duel.preferences.files",
    "simulate": "ltr_duel.simulation.simulate",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'ltr_duel' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
