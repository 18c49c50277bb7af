"""Run a service for an hour with users at a steady rate and with attacks, and then check all counts in the store.

    python -m benchmarks.soak [--minutes 60] [--rate 500] [--rankers 40] [--folder FOLDER]

Users search, reload, go to page two, and report their clicks once, in parts, or never. The program prints a line each
minute, and the errors at the end: a valid request without a valid answer, an attack with an unexpected answer, or an
acknowledged page or click that the store does not contain exactly once.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sqlite3
import subprocess
import sys
import tempfile
from array import array
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import psutil

from benchmarks.attacks import WANTED
from benchmarks.visitors import ASK, DEADLINE, STICKY, TOP, Site, users
from ltr_duel.live import Experiment, check_store

READ = "soak-key-of-prometheus"
CONFIG = """
[experiment]
name = "soak"
rankers = {rankers}
policy = "rucb"
top = {top}
deadline = {deadline}
sticky = {sticky}

[serve]
port = 0
key_file = "live.keys"
api_key_file = "api.keys"
"""


def miscounted(store: Path, clicks: dict[int, int], lost: int) -> list[str]:
    """Return a sentence for each kind of acknowledged data missing from a closed store, or counted wrongly in it.

    Parameters
    ----------
    store : Path
    clicks : dict of int to int
        Page -> acknowledged positions, one bit each; -1 for a page whose report was not acknowledged or not sent.
    lost : int
        Number of searches without an answer; the store may contain up to this many further pages.
    """
    found = check_store(store)
    with closing(sqlite3.connect(store)) as db:
        pages = {page for (page,) in db.execute("SELECT page FROM pages")}
        ended = Counter[int]()
        kept = dict[int, int]()
        for page, places in db.execute(
            "SELECT page, clicks FROM events WHERE kind > 0 UNION ALL SELECT page, clicks FROM gathered"
        ):
            ended[page] += 1
            kept[page] = sum(1 << place for place in array("H", places or b""))
    if missing := clicks.keys() - pages:
        found.append(f"{len(missing):,} acknowledged pages are missing, for example {min(missing)}")
    if len(pages) - len(clicks) > lost:
        found.append(f"{len(pages) - len(clicks):,} pages have no acknowledged user, and {lost:,} answers were lost")
    if twice := [page for page, times in ended.items() if times > 1]:
        found.append(f"{len(twice):,} pages are counted twice, for example {twice[0]}")
    if other := [page for page, places in clicks.items() if places >= 0 and kept.get(page) != places]:
        found.append(f"{len(other):,} pages differ from their acknowledged clicks, for example {other[0]}")
    if more := [page for page, places in clicks.items() if places < 0 and kept.get(page)]:
        found.append(f"{len(more):,} pages have unacknowledged clicks, for example {more[0]}")
    return found


def soak(folder: Path, minutes: float, rate: float, rankers: int) -> list[str]:
    """Return the errors, one sentence each."""
    names = [f"ranker {k}" for k in range(rankers)]
    (folder / "live.toml").write_text(
        CONFIG.format(rankers=json.dumps(names), top=TOP, deadline=DEADLINE, sticky=STICKY)
    )
    (folder / "api.keys").write_text(f"{ASK} ask site\n{READ} read prometheus\n")
    with (
        (folder / "log").open("wb") as log,
        process("ltr_duel.cli.main", "serve", str(folder / "live.toml"), log=log) as service,
    ):
        assert service.stdout is not None
        url = service.stdout.readline().decode().split()[-1]
        with process("benchmarks.attacks", url, ASK, READ, str(60 * minutes)) as attacks:
            site, memory = asyncio.run(_used(url, names, minutes, rate, psutil.Process(service.pid)))
            answered = json.loads(attacks.communicate()[0])
    print(f"\n{site.sent:,} requests, {len(site.clicks):,} pages, {site.late:,} reports sent too late")
    print("p50, p99, largest (ms):", end=" ")
    print(", ".join(f"{1000 * one:.1f}" for one in np.quantile(site.times, [0.5, 0.99, 1.0])))
    if len(memory) > 3:
        half = memory[len(memory) // 2 :]
        slope = np.polyfit(np.arange(len(half)), half, 1)[0] * 60
        print(f"memory: {memory[0]:.0f} MB after a minute, {half[0]:.0f} half-way, {half[-1]:.0f} at the end;", end=" ")
        print(f"{slope:+.1f} MB per hour in the second half")
    for kind, status, count in answered:
        print(f"{count:8,} {kind}: {status}{'' if status in WANTED[kind] else '  <- wrong'}")
    with Experiment.open(folder / "live.db") as experiment:
        counts = experiment.counts
        print(
            f"{counts.pages:,} pages: {counts.clicked:,} clicked, {counts.unclicked:,} not, {counts.expired:,} expired"
        )
    sure = {page: places for page, places in site.clicks.items() if page not in site.unsure}
    return [
        *(f"{count:,} x {what}" for what, count in site.wrong.items()),
        *(f"{count:,} x {kind}: {status}" for kind, status, count in answered if status not in WANTED[kind]),
        *miscounted(folder / "live.db", sure, site.lost + len(site.unsure)),
    ]


@contextmanager
def process(*words: str, log: IO[bytes] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Run a Python module as a process, and terminate the process at the end."""
    with subprocess.Popen([sys.executable, "-m", *words], stdout=subprocess.PIPE, stderr=log) as child:
        try:
            yield child
        finally:
            child.terminate()


async def _used(url: str, names: list[str], minutes: float, rate: float, service: psutil.Process) -> Any:
    site = Site(url, names)
    try:
        return site, await users(site, minutes, rate, service)
    finally:
        site.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--rate", type=float, default=500, help="valid requests per second")
    parser.add_argument("--rankers", type=int, default=40)
    parser.add_argument("--folder", type=Path, help="folder that keeps the store; by default the store is deleted")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that the child processes end too
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        wrong = soak(folder, given.minutes, given.rate, given.rankers)
    print("\n".join(["", *wrong]) if wrong else "\nall acknowledged pages and clicks are counted exactly once")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
