"""A live experiment: the service over loopback with durable answers, and plans.

The service runs on one core, and the simulated users on another.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from benchmarks.row import Cost, Row, peak_of

RANKERS = tuple(str(k + 1) for k in range(5))
USERS = {
    1: "usual",
    8: "quick",
    16: "asked",
    32: "usual",
}  # number of users at once -> selection in which the row is measured
KEY = "0123456789abcdef"
CONFIG = """
[experiment]
name = "benchmark"
rankers = ["1", "2", "3", "4", "5"]
policy = "rucb"
window = 2

[serve]
port = 0
"""


def rows() -> list[Row]:
    """Return the rows: several numbers of users at once, then calls without HTTP."""
    made = [
        Row(
            f"http-{several}",
            f"ltr-duel serve live.toml; {several} users at once",
            0,
            "requests",
            partial(over_http, several),
            {"users at once": several},
            clock="wall",
            when=when,
        )
        for several, when in USERS.items()
    ]
    decide = "plan.decide(user, query, lists)  # {}"
    return made + [
        Row(f"plan-{method}", decide.format(method), 100_000, "calls", partial(planned, method), {"method": method})
        for method in ("team_draft", "probabilistic")
    ]


def users(seed: int):
    """Return the row of simulated users with lists of twenty documents."""
    from ltr_duel.data import make_corpus
    from ltr_duel.live import Visitors
    from ltr_duel.rankers import feature_rankers

    corpus = make_corpus(queries=100, documents=20, features=5)
    return Visitors(feature_rankers(corpus), seed=seed)


@contextmanager
def serving(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield the address and the process of a service that runs on one core."""
    (folder / "live.toml").write_text(CONFIG)
    words = [sys.executable, "-m", "ltr_duel.cli.main", "serve", str(folder / "live.toml")]
    env = os.environ | {"LTR_DUEL_API_KEY": KEY}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env) as child:
        assert child.stdout is not None
        url = child.stdout.readline().split()[-1]
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(child.pid, {max(os.sched_getaffinity(child.pid))})
        try:
            yield url, child.pid
        finally:
            child.terminate()


def over_http(several: int):
    """Send requests until the policy and its kernels are warm, then measure."""
    from benchmarks.visitors import visit

    def work() -> Cost:
        with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as (url, pid):
            visit(users(0), url, 300, several=8, key=KEY)
            cpu, wall = spent(pid), time.perf_counter()
            found = visit(users(several), url, min(5_000, 500 * several), several=several, key=KEY)
            wall, cpu = time.perf_counter() - wall, spent(pid) - cpu
            assert not found.error, found.error
            requests = sum(map(len, found.times.values()))
            quantiles = {
                f"{path}, {share:.0%}": found.quantile(path, share) for path in found.times for share in (0.5, 0.99)
            }
            return Cost(wall, cpu, peak_of(str(pid)), requests, quantiles)

    return work


def spent(pid: int) -> float:
    """Return the processor time that a process has used, in seconds (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def planned(method: str):
    """Decide by a plan, for two lists of ten with half in common; `clients/js/test.mjs` measures JavaScript."""
    from benchmarks.lists import RANKINGS
    from ltr_duel.live import Settings, next_plan

    plan = next_plan(Settings(name="benchmark", rankers=tuple(RANKINGS), policy="random", method=method), None, at=0)

    def work(times: int = 100_000) -> None:
        for user in range(times):
            plan.decide(str(user), "red shoes", RANKINGS)

    work(1000)
    return work
