"""Click logs: impressions a second and memory, coverage of intervals, false alarms, stopping times, power."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.timing import table
from ltr_duel.logs import Spread, plan_impressions, write_log
from tests.logs.sequences import boundary, compared, first_alarm
from tests.logs.test_coverage import coverage

_AT_ONCE = 1 << 17
_COLUMNS = ("impression", "time", "query", "user", "shown", "clicks", "rankers", "owners")


def write_large_log(path: Path, impressions: int) -> None:
    """Write a log of two rankers: ten documents shown, up to two clicks, five impressions a user."""
    rng = np.random.default_rng(0)
    with write_log(path, _COLUMNS) as log:
        for start in range(0, impressions, _AT_ONCE):
            n = min(_AT_ONCE, impressions - start)
            clicks = rng.integers(0, 3, n)

            def lists(values, sizes):
                ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
                return pa.ListArray.from_arrays(pa.array(ends), pa.array(values))

            def texts(values):
                return pa.array(values).cast(pa.string())

            log.write(
                {
                    "impression": texts(np.arange(start, start + n)),
                    "time": pa.array(np.arange(start, start + n) / 10),
                    "query": texts(rng.integers(0, 50_000, n)),
                    "user": texts(rng.integers(0, impressions // 5, n)),
                    "shown": lists(texts(rng.integers(0, 10**6, 10 * n)), np.full(n, 10)),
                    "clicks": lists(rng.integers(1, 11, clicks.sum()).astype(np.int32), clicks),
                    "rankers": lists(["old", "new"] * n, np.full(n, 2)),
                    "owners": lists(rng.integers(0, 2, 10 * n).astype(np.int32), np.full(n, 10)),
                }
            )


def compared_in(path: Path) -> tuple[float, float]:
    """Return the seconds and the megabytes that `logs compare` takes, in a process of its own."""
    began = time.perf_counter()
    words = [sys.executable, "-m", "ltr_duel.cli.main", "logs", "compare", str(path), "--stop-at", "0.95"]
    subprocess.run(words, check=True, capture_output=True)
    return time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def main() -> None:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for impressions in (100_000, 1_000_000, 10_000_000):
            path = Path(folder) / "clicks.parquet"
            write_large_log(path, impressions)
            seconds, memory = compared_in(path)
            rows.append([f"{impressions:,}", f"{path.stat().st_size / 1e6:,.0f}", f"{seconds:.1f}", f"{memory:,.0f}"])
    table("logs compare --stop-at .95, from Parquet", ["impressions", "MB on disk", "seconds", "MB of memory"], rows)
    rows = []
    for users in (60, 300):
        for correlation in (0.0, 0.1, 0.2, 0.3):
            clustered, naive = coverage(correlation, users)
            rows.append([f"{users} users, correlation {correlation}", f"{clustered:.1%}", f"{naive:.1%}"])
    table("95 % intervals that hold the truth, of 2,000 logs", ["logs", "by user", "naive"], rows)
    limits = boundary(5000, 0.05)
    stops = np.concatenate([first_alarm(y, limits) for y in compared(10_000, 5000, 0)], axis=1)
    rows = [[name, f"{(stop <= 5000).mean():.2%}"] for name, stop in zip(("sequential", "z-tests"), stops, strict=True)]
    table("False alarms: 10,000 logs of identical rankers, looked at 5,000 times", ["test", "share"], rows)
    rows = []
    for effect in (0.2, 0.1, 0.05, 0.02):
        (plan,) = plan_impressions(Spread("a", "b", effect, 0.5))
        rows.append(
            [f"{effect}", f"{plan.fixed:,.0f}", f"{plan.sequential_mean:,.0f}", f"{plan.sequential_power:,.0f}"]
        )
    heads = ["effect", "fixed test", "sequential, in the mean", "sequential, power .8"]
    table("Impressions for power .8 at .95 (half of the impressions tie)", heads, rows)
