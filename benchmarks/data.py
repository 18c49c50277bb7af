"""Feature text read in MB/s, beside scikit-learn and xgboost in the same run; conversion, memory, opening, orders."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.timing import table
from ltr_duel.data import load_dataset, make_corpus, open_converted, write_svmlight

DENSE = {"queries": 1500, "documents": 100, "features": 136, "doc_ids": False}
SPARSE = {"queries": 2500, "documents": 24, "features": 700, "sparsity": 0.7, "ties": 0.1, "doc_ids": False}
WEB10K = {"queries": 10_000, "documents": 120, "features": 136, "doc_ids": False}

_CONVERT = """
import re, sys, time
from ltr_duel.data import convert
memory = int(sys.argv[2]) or None
began = time.perf_counter()
folder = convert(sys.argv[1], memory=memory)
seconds = time.perf_counter() - began
peak = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read()).group(1)) * 1024
print(seconds, peak, folder)
"""


def main() -> None:
    """Print the tables. ``LTR_DUEL_BENCHMARK_GB=2`` converts a file of that size instead of a small one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["LTR_DUEL_HOME"] = str(folder / "home")
        reading(folder)
        converting(folder, float(os.environ.get("LTR_DUEL_BENCHMARK_GB", "0.3")))
        ordering()


def reading(folder: Path) -> None:
    """Compare readers on dense and sparse text, on one core and on all."""
    rows = []
    for title, shape in (("dense, 136 features", DENSE), ("sparse, 700 features", SPARSE)):
        file = write_svmlight(make_corpus(**shape), folder / "text.txt", sparse="sparsity" in shape)
        size = file.stat().st_size
        with one_core():
            ours = speed(size, lambda f=file: load_dataset(f, jobs=1), time.process_time)
            readers = [reader for reader in (scikit_learn(), xgboost()) if reader]
            others = [speed(size, lambda f=file, r=r: r(str(f)), time.process_time) for r in readers]
            elapsed = speed(size, lambda f=file: load_dataset(f, jobs=1))
        all_cores = speed(size, lambda f=file: load_dataset(f, jobs=-1))
        cells = [f"{size / 1e6:.0f} MB", f"{ours:.0f}"]
        cells += [f"{other:.0f} ({ours / other:.1f} x)" for other in others]
        cells += [""] * (2 - len(others))
        rows.append([title, *cells, f"{all_cores:.0f} ({all_cores / elapsed:.2f} x)"])
    header = ["reading, MB/s", "size", "one core", "scikit-learn", "xgboost", f"{os.cpu_count()} cores"]
    table("Best of three; our digest of the bytes included; one core: all threads pinned to it, CPU time", header, rows)


def converting(folder: Path, gigabytes: float) -> None:
    """Convert text of a given size in a process of its own, without and with a memory cap; open what comes out."""
    queries = max(1, int(gigabytes * 1e9 / (120 * 1270)))
    corpus = make_corpus(queries=queries, documents=120, features=136, doc_ids=False)
    file = write_svmlight(corpus, folder / "large.txt")
    matrix, size = corpus.features.nbytes, file.stat().st_size
    del corpus
    rows = []
    for title, memory in (("no cap", 0), ("--memory 400", 400 * 2**20)):
        seconds, peak, place = convert_apart(file, memory)
        opened = min(timed(lambda p=place: open_converted(Path(p))) for _ in range(5))
        rows.append(
            [
                title,
                f"{seconds:.1f} s",
                f"{size / seconds / 1e6:.0f} MB/s",
                f"{peak / 1e6:.0f} MB",
                f"{peak / matrix:.2f} x",
                f"{1000 * opened:.1f} ms",
            ]
        )
        subprocess.run(["rm", "-rf", place], check=True)
    print()
    header = ["converting", "time", "rate", "peak memory", "of the matrix", "open"]
    table(f"{size / 1e9:.2f} GB of text, a float32 matrix of {matrix / 1e9:.2f} GB; two passes", header, rows)


def convert_apart(file: Path, memory: int) -> tuple[float, int, str]:
    """Run the conversion in another process; return seconds, peak resident bytes and the folder."""
    words = [sys.executable, "-c", _CONVERT, str(file), str(memory)]
    seconds, peak, place = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    return float(seconds), int(peak), place


def ordering() -> None:
    """Time the orders and ranks of all features of a corpus as large as MSLR-WEB10K."""
    from ltr_duel.rankers import feature_rankers

    corpus = make_corpus(**WEB10K)
    seconds = timed(lambda: feature_rankers(corpus))
    print()
    rows = [[f"{corpus.n_docs:,} documents, {corpus.n_features} features", f"{seconds:.1f} s"]]
    table("Orders and ranks", ["all cores", "time"], rows)


def scikit_learn() -> Callable[[str], object] | None:
    from sklearn.datasets import load_svmlight_file

    return lambda file: load_svmlight_file(file, query_id=True, dtype=np.float32)


def xgboost() -> Callable[[str], object] | None:
    try:
        from xgboost import DMatrix
    except ImportError:
        return None

    def read(file: str) -> object:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return DMatrix(f"{file}?format=libsvm", nthread=1, silent=True)

    return read


def speed(size: int, work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Return MB/s, the best of three after one to warm up."""
    work()
    return size / min(timed(work, clock) for _ in range(3)) / 1e6


def timed(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    began = clock()
    work()
    return clock() - began


@contextmanager
def one_core() -> Iterator[None]:
    """Pin this process, all its threads included, to one core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
