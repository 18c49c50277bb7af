"""One row of a benchmark: a public call, prepared and then timed, with the largest memory of its process."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

# What the system says of a child counts the memory of its parent, from before it became another program (Linux).
_TELLING = """
import atexit, os, runpy, sys
told, *sys.argv[1:] = sys.argv[1:]
if os.path.exists("/proc/self/status"):
    atexit.register(lambda: open(told, "w").write(open("/proc/self/status").read()))
runpy.run_module("ltr_duel.cli.main", run_name="__main__", alter_sys=True)
"""
_LONG = 2.0  # seconds after which nothing is repeated


class Cost(NamedTuple):
    """What a call took."""

    wall: float  # seconds
    cpu: float  # seconds, of all threads
    peak: float  # megabytes of its whole process
    amount: float = 0.0  # what was done, where the row does not say it
    more: Mapping[str, float] = {}  # other figures of the same call


class Row(NamedTuple):
    """A public call that is measured."""

    name: str
    call: str  # as it is typed
    amount: float  # what it does ...
    unit: str  # ... of what
    prepare: Callable[[], Callable[[], object]]  # makes the data and compiles; what it returns is timed
    facts: Mapping[str, Any] = {}  # K, T, ...
    clock: str = "cpu"  # or "wall": what the rate is of
    when: str = (
        "usual"  # or "quick": in any selection; "asked": only if it is named; "full" or "tenth": also by --quick
    )
    after: str = ""  # a smaller row; where that takes long, this one is left out
    tries: int = 3  # at most


def measured(row: Row) -> dict[str, Any]:
    """Do a row; the best of several tries, of what does not take long."""
    before = kernels()
    work = row.prepare()
    costs, began = [timed(work)], time.perf_counter()
    while len(costs) < row.tries and time.perf_counter() - began + costs[0].wall < _LONG:
        costs.append(timed(work))
    best = min(costs, key=lambda cost: getattr(cost, row.clock))
    amount = best.amount or row.amount
    return {
        "amount": amount,
        "wall": best.wall,
        "cpu": best.cpu,
        "rate": amount / getattr(best, row.clock),
        "peak": max(cost.peak for cost in costs),
        "compiled": kernels() != before,
        **best.more,
    }


def timed(work: Callable[[], object]) -> Cost:
    """Call, unless the call says itself what it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return result if isinstance(result, Cost) else Cost(wall, cpu, peak_of("self"))


def command(*words: str | Path, **environment: str) -> Cost:
    """Run ``ltr-duel`` from the start of Python to its end."""
    with TemporaryDirectory() as folder:
        told = Path(folder) / "status"
        cost = process("-c", _TELLING, str(told), *map(str, words), **environment)
        return cost._replace(peak=high_water(told)) if told.exists() else cost


def process(*words: str, **environment: str) -> Cost:
    """Run Python in a process of its own."""
    began = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "LTR_DUEL_PROGRESS": "0", **environment},
        text=True,
    )
    assert child.stderr is not None
    said = child.stderr.read()
    _, status, used = os.wait4(child.pid, 0)
    if status:
        sys.exit(said.strip() or f"{words} failed")
    return Cost(time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def peak_of(process: str) -> float:
    """Return the largest memory of a process so far, in megabytes."""
    status = Path(f"/proc/{process}/status")
    if status.exists():
        return high_water(status)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def high_water(status: Path) -> float:
    """Read the largest memory of a process from what Linux says of it."""
    return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) / 1024


def kernels() -> int:
    """Count the files of compiled kernels: a process that adds to them has needed memory and time for it."""
    home = os.environ.get("LTR_DUEL_HOME", "")
    return sum(1 for _ in Path(home).rglob("*.nbc")) if home else 0


def scratch() -> Path:
    """Where rows leave what others use too."""
    return Path(os.environ["LTR_DUEL_BENCHMARK_SCRATCH"])
