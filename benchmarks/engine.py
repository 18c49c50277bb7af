"""What the engine of experiments costs: time beside the runs themselves, memory, files, and how quickly they are read.

In the first table runs sleep instead of computing, so that the time of the runs is known exactly. In the second they
are 100 steps of two policies on five arms, in an experiment and in `simulate`, which stores nothing: milliseconds of a
run are those that were spent on a processor, so that a busy neighbour distorts less. ``engine:100000`` makes the second
table alone, of so many runs.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.timing import table

LONG, MANY = 1_000, 10_000  # runs
EMPTY = (200, LONG, 5_000, MANY)
SECONDS, WORKERS = 0.5, os.cpu_count() or 1

POLICY = """
import time
from typing import NamedTuple
import numpy as np
from ltr_duel.bandits import register
class Params(NamedTuple):
    seconds: float = 0.5
class State(NamedTuple):
    nothing: np.ndarray
def init(n_arms, horizon, params):
    return State(np.zeros(1))
def select(state, params, t, rng):
    time.sleep(params.seconds)
    return 0, 0
def update(state, params, t, first, second, outcome, rng):
    pass
def recommend(state, params):
    return 0
register(__name__, compiled=False)
"""

SPEC = """
policies = ["sleeper:seconds={seconds}"]
repetitions = {runs}
horizon = 1
[[matrices]]
name = "two"
p = [[0.5, 0.6], [0.4, 0.5]]
"""

SCRIPT = """
import json, resource, sys, time
from ltr_duel.experiment import Backend, make_plan, run_experiment
spec, out, plugin, backend, jobs = sys.argv[1:]
plan = make_plan(spec, plugins=[plugin])
began = time.perf_counter()
report = run_experiment(plan, out, backend=Backend(backend, int(jobs)))
seconds = time.perf_counter() - began
print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, report.done]))
"""


def experiment(folder: Path, name: str, runs: int, seconds: float, backend: str, jobs: int) -> tuple[float, float]:
    """Run sleepers: wall time and the driver's largest memory in MB."""
    (folder / "sleeper.py").write_text(POLICY)
    (folder / f"{name}.toml").write_text(SPEC.format(runs=runs, seconds=seconds))
    words = [str(folder / f"{name}.toml"), str(folder / name), str(folder / "sleeper.py"), backend, str(jobs)]
    environment = {**os.environ, "LTR_DUEL_PROGRESS": "0"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *words], capture_output=True, text=True, check=True, env=environment
    )
    wall, memory, count = json.loads(done.stdout)
    assert count == runs
    return wall, memory


TINY = """
policies = ["rucb", "rmed1"]
repetitions = {repetitions}
horizon = 100
[[matrices]]
name = "five"
p = [[0.5, 0.6, 0.65, 0.7, 0.8], [0.4, 0.5, 0.55, 0.6, 0.7], [0.35, 0.45, 0.5, 0.6, 0.7],
     [0.3, 0.4, 0.4, 0.5, 0.6], [0.2, 0.3, 0.3, 0.4, 0.5]]
"""

BARE = """
import sys, time
from ltr_duel.experiment import make_plan
from ltr_duel.simulation import simulate
spec, runs, jobs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
matrix = make_plan(spec).problems[0].matrix
simulate(matrix, ["rucb", "rmed1"], horizon=100, repetitions=2)
began = time.process_time()
simulate(matrix, ["rucb", "rmed1"], horizon=100, repetitions=runs // 2, jobs=jobs)
print(time.process_time() - began)
"""


def sleepers(folder: Path) -> None:
    """Time runs that sleep."""
    rows = []
    for backend in ("threads", "loky"):
        wall, memory = experiment(folder, f"long {backend}", LONG, SECONDS, backend, WORKERS)
        ideal = LONG * SECONDS / WORKERS
        what = f"{LONG:,} runs of {SECONDS} s, {WORKERS} workers, {backend}"
        rows.append([what, f"{wall:.1f} s", f"{100 * (wall - ideal) / ideal:.2f} %", f"{memory:.0f} MB"])
    memories = []
    for runs in EMPTY:
        wall, memory = experiment(folder, f"empty {runs}", runs, 0.0, "threads", 1)
        share = 100 * wall / runs / SECONDS
        memories.append(memory)
        rows.append([f"{runs:,} empty runs", f"{wall:.1f} s", f"{share:.2f} % of {SECONDS} s", f"{memory:.1f} MB"])
    slope = 1024**2 * (memories[-1] - memories[1]) / (MANY - LONG)
    rows.append([f"memory for each run from {LONG:,} to {MANY:,}", "", "", f"{slope:.0f} B"])
    began = time.perf_counter()
    command = [sys.executable, "-m", "ltr_duel.cli.main", "status", str(folder / f"empty {MANY}")]
    subprocess.run(command, check=True, capture_output=True)
    rows.append([f"status of {MANY:,} finished runs", f"{time.perf_counter() - began:.2f} s", "", ""])
    table("Engine: what is added to the runs", ["what", "wall time", "added by the engine", "driver's memory"], rows)


def tiny(folder: Path, runs: int) -> None:
    """Time many short runs, the store that they leave, and its commands."""
    rows, spec = [], folder / "tiny.toml"
    spec.write_text(TINY.format(repetitions=runs // 2))
    sample = min(runs, MANY)
    for jobs in (1, WORKERS):
        out = folder / f"tiny {jobs}"
        words = [sys.executable, "-c", BARE, str(spec), str(sample), str(jobs)]
        bare = float(subprocess.run(words, check=True, capture_output=True, text=True).stdout) / sample
        wall, spent = timed("run", str(spec), "--out", str(out), "--jobs", str(jobs))
        files = [path for path in out.rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files) / 1e6
        each = [f"{1e3 * one:.2f} ms" for one in (bare, spent / runs, spent / runs - bare)]
        read = ["{:.1f} s ({:.1f})".format(*timed(word, str(out))) for word in ("status", "results")]
        rows.append(
            [f"{runs:,} runs, {jobs} workers", *each, f"{wall:.0f} s", f"{len(files):,}", f"{size:.0f} MB", *read]
        )
    header = ["what", "simulate", "experiment", "added", "wall time", "files", "size", "status (processor)", "results"]
    table("Engine: runs of 100 steps", header, rows)


def timed(*words: str) -> tuple[float, float]:
    """Run a command of the package: seconds from the start of Python to its end, and those spent on processors."""
    command = [sys.executable, "-m", "ltr_duel.cli.main", *words]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "LTR_DUEL_PROGRESS": "0"})
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(runs: str = "") -> None:
    with tempfile.TemporaryDirectory() as name:
        if not runs:
            sleepers(Path(name))
        tiny(Path(name), int(float(runs or MANY)))
