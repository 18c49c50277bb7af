"""``run:FILE``: the documents that a retrieval system returned, in TREC's format, plain or gzipped."""

from __future__ import annotations

from ltr_duel.core import InputError
from ltr_duel.data import Dataset
from ltr_duel.rankers.runs import read_runs
from ltr_duel.rankers.scores import Ranker


def open_run(dataset: Dataset, what: str) -> list[Ranker]:
    """Read one run file."""
    (run,) = read_runs([what], dataset)
    if not run.lines:
        raise InputError(f"{run.path}: the run is empty")
    if not run.retrieved:
        raise InputError(f"{run.path}: none of its {run.lines:,} lines is about a document of {dataset.name}")
    about = {"kind": "run", "file": run.path.name, **run.about}
    return [Ranker(f"run:{run.name}", run.scores.copy, about)]
