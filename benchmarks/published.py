"""The matrices of the benchmarks: published matrices if their files exist, otherwise synthetic ones of equal size."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

# Files in preference_matrices/ of the folder that ``--data`` names, with their sources.
FILES = {
    64: "wolfenfeld_PMat_64.npy",  # github.com/wolfenfeld/Dueling-Bandits-Algorithms
    136: "MergeDTS_MSLR-Nabigational.txt.gz",  # github.com/chang-li/MergeDTS: MSLR, navigational clicks
}


def kind(size: int) -> str:
    """Return the kind of the matrix of a size: published or synthetic."""
    return "published" if _file(size) else "Bradley-Terry"


def matrix(size: int):
    """Return a published matrix of this size, otherwise Bradley and Terry's model with evenly spaced utilities."""
    from ltr_duel import PreferenceMatrix, load_preferences

    if file := _file(size):
        return load_preferences(file)
    utility = np.linspace(1.0, 0.0, size)
    return PreferenceMatrix(1 / (1 + np.exp(utility[None, :] - utility[:, None])))


def _file(size: int) -> Path | None:
    folder = os.environ.get("LTR_DUEL_BENCHMARK_DATA")
    if not folder or size not in FILES:
        return None
    path = Path(folder) / "preference_matrices" / FILES[size]
    return path if path.exists() else None
