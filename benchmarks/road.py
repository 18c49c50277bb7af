"""``python -m benchmarks.road STAGE FILE`` runs one stage from text to a matrix, and prints its time and memory."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.row import timed
from ltr_duel import estimate_preferences, feature_rankers, load_dataset
from ltr_duel.data import Dataset
from ltr_duel.rankers import Rankings


def read(file: Path) -> Callable[[], Dataset]:
    """Read the text, or open its arrays in the cache."""
    return lambda: load_dataset(file)


def order(file: Path) -> Callable[[], Rankings]:
    """Order the documents of each query by each feature."""
    dataset = load_dataset(file)
    return lambda: feature_rankers(dataset, drop_constant=False)


def estimate(file: Path, comparisons: int) -> Callable[[], object]:
    """Compare all pairs of rankers."""
    rankings = feature_rankers(load_dataset(file), drop_constant=False)
    return lambda: estimate_preferences(rankings, comparisons=comparisons)


if __name__ == "__main__":
    stage, file, *more = sys.argv[1:]
    work = {"read": read, "order": order, "estimate": estimate}[stage](Path(file), *map(int, more))
    print(json.dumps(timed(work)[:3]))
