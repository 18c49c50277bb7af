"""Feature files: reading text on one core, also with other readers, and on all cores."""

from __future__ import annotations

import os
import warnings
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from benchmarks.row import Cost, Row, scratch

SHAPES = {
    "dense": {"queries": 1000, "documents": 100, "features": 136, "doc_ids": False},
    "sparse": {"queries": 2500, "documents": 24, "features": 700, "sparsity": 0.7, "ties": 0.1, "doc_ids": False},
}
CALLS = {
    "ltr_duel": "load_dataset(file, jobs=1, cache=False)",
    "sklearn": "load_svmlight_file(file, query_id=True, dtype=np.float32)",
    "xgboost": 'DMatrix(f"{file}?format=libsvm", nthread=1)',
}


def rows() -> list[Row]:
    """Return the rows: all readers on one core, `load_dataset` on all cores."""
    made = []
    for shape in SHAPES:
        for reader, call in CALLS.items():
            if find_spec(reader):
                made.append(row(f"{shape}-{reader}", call, partial(prepare_reader, shape, reader), shape, "cpu"))
        call = "load_dataset(file, jobs=-1, cache=False)"
        made.append(row(f"{shape}-all-cores", call, partial(prepare_reader, shape, "all cores"), shape, "wall"))
    return made


def row(name: str, call: str, prepare, shape: str, clock: str) -> Row:
    """Return a row of a task with a file; the size is known once the file is written."""
    when = "quick" if name == "dense-ltr_duel" else "usual"
    return Row(name, call, 0, "MB", prepare, {"text": shape}, clock, when)


def made(shape: str) -> tuple[Path, float]:
    """Write a file; return its path and size in megabytes."""
    from ltr_duel.data import make_corpus, write_svmlight

    file = scratch() / f"{shape}.txt"
    if not file.exists():
        write_svmlight(make_corpus(**SHAPES[shape]), file, sparse=shape == "sparse")
    return file, file.stat().st_size / 1e6


def prepare_reader(shape: str, reader: str):
    """Pin one-core readers, with all their threads, to one core."""
    file, size = made(shape)
    if reader != "all cores" and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    read = reading(reader, file)
    read()
    return lambda: timed_with(read, size)


def timed_with(work, size: float) -> Cost:
    """Time work on a file of the given megabytes."""
    from benchmarks.row import timed

    return timed(work)._replace(amount=size)


def reading(reader: str, file: Path):
    """Return a function that reads the file."""
    if reader == "sklearn":
        import numpy as np
        from sklearn.datasets import load_svmlight_file

        return lambda: load_svmlight_file(str(file), query_id=True, dtype=np.float32)
    if reader == "xgboost":
        from xgboost import DMatrix

        warnings.simplefilter("ignore")
        return lambda: DMatrix(f"{file}?format=libsvm", nthread=1, silent=True)
    from ltr_duel import load_dataset

    return lambda: load_dataset(file, jobs=-1 if reader == "all cores" else 1, cache=False)
