"""What the engine of experiments costs: time beside the runs themselves, memory, and how quickly `status` answers.

The runs sleep instead of computing, so that the time of the runs is known exactly.
"""

from __future__ import annotations

import json
import os
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
from ltr_duel.experiment.backends.backend import Backend
from ltr_duel.experiment.run import make_plan, run_experiment
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


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder, rows = Path(name), []
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
        table(
            "Engine: what is added to the runs", ["what", "wall time", "added by the engine", "driver's memory"], rows
        )
