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

# On Linux, the system's figure for a child includes the memory of its parent from before exec.
_TELLING = """
import atexit, os, runpy, sys
told, *sys.argv[1:] = sys.argv[1:]
if os.path.exists("/proc/self/status"):
    atexit.register(lambda: open(told, "w").write(open("/proc/self/status").read()))
runpy.run_module("ltr_duel.cli.main", run_name="__main__", alter_sys=True)
"""
_LONG = 2.0  # seconds; longer calls are not repeated


class Cost(NamedTuple):
    """Time and memory of a call."""

    wall: float  # seconds
    cpu: float  # seconds, summed over all threads
    peak: float  # megabytes, largest memory of the whole process
    amount: float = 0.0  # amount of work, if the row does not contain it
    more: Mapping[str, float] = {}  # other figures of the same call


class Row(NamedTuple):
    """A public call that is measured."""

    name: str
    call: str  # the call as a user types it
    amount: float  # amount of work of a call, in units
    unit: str  # name of the unit
    prepare: Callable[[], Callable[[], object]]  # makes the data and compiles; the returned function is timed
    facts: Mapping[str, Any] = {}  # K, T, ...
    clock: str = "cpu"  # clock of the rate: "cpu" or "wall"
    when: str = "usual"  # "quick": in any selection; "asked": only if named; "full", "tenth": rows of the subject full
    after: str = ""  # a smaller row; if the smaller row takes long, this row is omitted
    tries: int = 3  # largest number of tries


def measured(row: Row) -> dict[str, Any]:
    """Measure a row; short rows are tried several times, and the best try counts."""
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
    """Time a call, unless the call returns its own `Cost`."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return result if isinstance(result, Cost) else Cost(wall, cpu, peak_of("self"))


def command(*words: str | Path, **environment: str) -> Cost:
    """Run ``ltr-duel``, timed from the start of Python to its end."""
    with TemporaryDirectory() as folder:
        told = Path(folder) / "status"
        cost = process("-c", _TELLING, str(told), *map(str, words), **environment)
        return cost._replace(peak=high_water(told)) if told.exists() else cost


def process(*words: str, **environment: str) -> Cost:
    """Run Python in a separate process."""
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
    """Read the largest memory of a process from its status file (Linux)."""
    return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) / 1024


def kernels() -> int:
    """Count the files of compiled kernels; a process that adds files has spent time and memory on compiling."""
    home = os.environ.get("LTR_DUEL_HOME", "")
    return sum(1 for _ in Path(home).rglob("*.nbc")) if home else 0


def scratch() -> Path:
    """Return the folder of files that several rows share."""
    return Path(os.environ["LTR_DUEL_BENCHMARK_SCRATCH"])
