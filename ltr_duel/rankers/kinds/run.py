"""``run:FILE``: the documents that a retrieval system returned, in TREC's format, plain or gzipped."""

from __future__ import annotations

from pathlib import Path

from ltr_duel.core import InputError
from ltr_duel.data import Dataset
from ltr_duel.rankers.runs import read_runs
from ltr_duel.rankers.sources import RANKER_KINDS, Ranker, RankerKind


def open_run(dataset: Dataset, what: str) -> list[Ranker]:
    """Read one run file."""
    (run,) = read_runs([what], dataset)
    if not run.lines:
        raise InputError(f"{run.path}: the run is empty")
    if not run.retrieved:
        raise InputError(f"{run.path}: none of its {run.lines:,} lines is about a document of {dataset.name}")
    about = {"kind": "run", "file": run.path.name, **run.about}
    return [Ranker(f"run:{run.name}", run.scores.copy, about)]


def example(dataset: Dataset, folder: Path) -> str:
    """Write a run that retrieves the first document of each query."""
    assert dataset.doc_ids is not None
    starts = zip(dataset.query_ids, dataset.doc_ids[dataset.query_ptr[:-1]], strict=True)
    path = folder / "example.trec"
    path.write_text("".join(f"{query} Q0 {document} 1 0.5 example\n" for query, document in starts), encoding="utf-8")
    return str(path)


RANKER_KINDS.add(
    RankerKind(
        name="run",
        open=open_run,
        means="a TREC run, plain or gzipped",
        pooled=lambda path: {str(path): path},
        example=example,
    )
)
