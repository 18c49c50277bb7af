"""Click logs: impressions a second and memory, coverage of intervals, false alarms, stopping times, power."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.timing import table
from ltr_duel.interleaving import interleave
from ltr_duel.logs import SCHEMA, Spread, plan_impressions, write_log
from tests.logs.sequences import boundary, compared, first_alarm
from tests.logs.test_coverage import coverage

_AT_ONCE = 1 << 16
_POOL, _DOCUMENTS, _SHOWN = 20_000, 20, 10
_FORMS = {
    "owners": ("rankers", "owners"),
    "rankings": ("rankers", "rankings", "method"),
    "page tokens": ("page",),
}


def write_large_log(path: Path, impressions: int, form: str) -> None:
    """Write a log of two rankers: ten of twenty documents shown, up to two clicks, five impressions a user.

    The pages are drawn from 20,000 different ones, made by team draft for logs with owners, else by probabilistic
    interleaving.
    """
    rng = np.random.default_rng(0)
    columns = _pages("team_draft" if form == "owners" else "probabilistic", _FORMS[form], rng)
    with write_log(path, ("impression", "time", "user", "clicks", *columns)) as log:
        for start in range(0, impressions, _AT_ONCE):
            n = min(_AT_ONCE, impressions - start)
            clicks, drawn = rng.integers(0, 3, n), pa.array(rng.integers(0, _POOL, n))
            ends = np.concatenate([[0], np.cumsum(clicks)]).astype(np.int32)
            places = rng.integers(1, _SHOWN + 1, clicks.sum()).astype(np.int32)
            log.write(
                {
                    "impression": pa.array(np.arange(start, start + n)).cast(pa.string()),
                    "time": pa.array(np.arange(start, start + n) / 10),
                    "user": pa.array(rng.integers(0, max(impressions // 5, 1), n)).cast(pa.string()),
                    "clicks": pa.ListArray.from_arrays(pa.array(ends), pa.array(places)),
                    **{name: column.take(drawn) for name, column in columns.items()},
                }
            )


def _pages(method: str, columns: tuple[str, ...], rng: np.random.Generator) -> dict[str, pa.Array]:
    """Return query, list and what credit rests on of different pages."""
    rows = []
    for number in range(_POOL):
        ids = [str(document) for document in rng.choice(10**6, _DOCUMENTS, replace=False)]
        rankings = {name: [ids[k] for k in rng.permutation(_DOCUMENTS)] for name in ("old", "new")}
        page = interleave(rankings, method, top=_SHOWN, rng=rng)
        owners = [-1 if owner is None else page.rankers.index(owner) for owner in page.owners]
        rows.append((str(number), page.shown, page.rankers, owners, list(rankings.values()), page.method))
        rows[-1] += (page.to_json(),)
    names = ("query", "shown", "rankers", "owners", "rankings", "method", "page")
    made = dict(zip(names, zip(*rows, strict=True), strict=True))
    return {name: pa.array(made[name], SCHEMA.field(name).type) for name in ("query", "shown", *columns)}


def compared_in(path: Path) -> tuple[float, float, float]:
    """Return the seconds, the seconds of all cores, and the megabytes of `logs compare`, in a process of its own."""
    began = time.perf_counter()
    words = [sys.executable, "-m", "ltr_duel.cli.main", "logs", "compare", str(path), "--stop-at", "0.95"]
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"{' '.join(words)} failed")
    return time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main(most: str = "1e6") -> None:
    """Measure, with logs of up to so many impressions."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clicks.parquet"
        for form in _FORMS:
            for impressions in (int(float(most)) // 10, int(float(most))):
                write_large_log(path, impressions, form)
                seconds, cpu, memory = compared_in(path)
                size = path.stat().st_size / 1e6
                figures = (f"{size:,.0f}", f"{seconds:.1f}", f"{cpu:.1f}", f"{memory:,.0f}")
                rows.append([form, f"{impressions:,}", *figures])
    heads = ["credit by", "impressions", "MB on disk", "seconds", "of all cores", "MB of memory"]
    table("logs compare --stop-at .95, from Parquet", heads, rows)
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
