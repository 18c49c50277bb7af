"""A live experiment: requests a second over loopback, time of an answer, memory, time to start again.

The service has a core of its own and makes every answer durable; simulated users ask from another core.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from benchmarks.timing import table
from ltr_duel.data import make_corpus
from ltr_duel.live import Decide, Experiment, Record, Settings
from ltr_duel.rankers import feature_rankers
from ltr_duel.replay import Replayed, SimulatedUsers, replay

RANKERS = tuple(str(k + 1) for k in range(5))
USERS, PAGES = (1, 8, 16, 32), 10_000
CONFIG = """
[experiment]
name = "benchmark"
rankers = ["1", "2", "3", "4", "5"]
policy = "rucb"

[serve]
key_file = "live.keys"
port = 0
"""


def users(seed: int) -> SimulatedUsers:
    """Simulate users with lists of twenty documents."""
    corpus = make_corpus(queries=100, documents=20, features=5)
    return SimulatedUsers(feature_rankers(corpus), seed=seed)


@contextmanager
def serving(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield address and process of a service that has one core."""
    (folder / "live.toml").write_text(CONFIG)
    words = [sys.executable, "-m", "ltr_duel.cli.main", "serve", str(folder / "live.toml")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(process.pid, {max(os.sched_getaffinity(process.pid))})
        try:
            yield url, process.pid
        finally:
            process.terminate()


def spent(pid: int) -> float:
    """Return the seconds of the processor that a process has used (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(pid: int) -> float:
    """Return the memory of a process in megabytes (Linux)."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def over_http(folder: Path) -> None:
    """Print rates and times for several numbers of users at once."""
    rows = []
    with serving(folder) as (url, pid):
        replay(users(0), url, steps=500, concurrency=8)
        for concurrency in USERS:
            before, steps = spent(pid), min(PAGES, 1000 * concurrency)
            found = replay(users(concurrency), url, steps=steps, concurrency=concurrency)
            rows.append(_row(str(concurrency), found, spent(pid) - before, resident(pid)))
    heads = ["users at once", "requests/s", "of CPU alone", "decide: half", "99 %", "clicks: half", "99 %", "MB"]
    table("The service over loopback, one core, every answer durable (times in ms)", heads, rows)


def _row(name: str, found: Replayed, seconds: float, memory: float) -> list[str]:
    requests = sum(map(len, found.times.values()))
    quantiles = [1000 * found.quantile(path, share) for path in found.times for share in (0.5, 0.99)]
    cells = [f"{one:.2f}" for one in quantiles]
    return [name, f"{found.rate:,.0f}", f"{requests / seconds:,.0f}", *cells, f"{memory:,.0f}"]


def in_process(folder: Path, pages: int) -> None:
    """Print speed and memory of the experiment without HTTP as it grows, and the time to open it."""
    rows, people, batch, done = [], users(1), 64, 0
    settings = Settings(name="benchmark", rankers=RANKERS, policy="rucb")
    corpus = feature_rankers(make_corpus(queries=100, documents=20, features=5))
    lists = [
        dict(zip(RANKERS, corpus.order[:, start:stop].tolist(), strict=True))
        for start, stop in pairwise(corpus.query_ptr.tolist())
    ]
    experiment = Experiment.open(folder / "large.db", settings)
    for goal in (pages // 100, pages // 10, pages):
        began, before = time.process_time(), done
        while done < goal:
            queries = [people.next_query() for _ in range(batch)]
            shown = experiment.answer([Decide(str(query), lists[query]) for query in queries])
            experiment.answer(
                [
                    Record(page.token, people.clicks(query, page.shown) if len(page.rankers) > 1 else [])
                    for query, page in zip(queries, shown, strict=True)
                ]
            )
            done += batch
        rate = 2 * (done - before) / (time.process_time() - began)
        experiment.close()
        size = sum(path.stat().st_size for path in folder.glob("large.db*")) / 1e6
        began = time.perf_counter()
        experiment = Experiment.open(folder / "large.db", settings)
        opened = time.perf_counter() - began
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        rows.append([f"{done:,}", f"{rate:,.0f}", f"{opened:.2f}", f"{memory:,.0f}", f"{size:,.0f}"])
    experiment.close()
    heads = ["pages", "calls a second of CPU", "seconds to open", "MB of memory", "MB on disk"]
    table(f"The experiment alone, {batch} calls in a transaction", heads, rows)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        over_http(Path(folder))
        print()
        in_process(Path(folder), 1_000_000)


if __name__ == "__main__":
    main()
