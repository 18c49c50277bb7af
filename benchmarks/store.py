"""The store: runs of 100 steps of two policies on five arms, and the commands that read the stored runs."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

from benchmarks.row import Cost, Row, command, scratch

SPEC = """
policies = ["rucb", "rmed1"]
repetitions = {repetitions}
horizon = 100
[[matrices]]
name = "five"
p = [[0.5, 0.6, 0.65, 0.7, 0.8], [0.4, 0.5, 0.55, 0.6, 0.7], [0.35, 0.45, 0.5, 0.6, 0.7],
     [0.3, 0.4, 0.4, 0.5, 0.6], [0.2, 0.3, 0.3, 0.4, 0.5]]
"""


def rows() -> list[Row]:
    """Return the rows: a run in an experiment on one core and on all cores, a run without a store, and the commands."""
    made = []
    for runs, when in ((10_000, "usual"), (100_000, "asked")):
        made += [
            row(f"simulate-{runs}", "simulate(matrix, policies, horizon=100, ...)", runs, partial(bare, runs), when),
            row(f"run-{runs}", "ltr-duel run study.toml --out runs --jobs 1", runs, partial(run, runs), when),
            row(f"status-{runs}", "ltr-duel status runs", runs, partial(read, "status", runs), when),
            row(f"results-{runs}", "ltr-duel results runs", runs, partial(read, "results", runs), when),
        ]
    return made


def row(name: str, call: str, runs: int, prepare, when: str) -> Row:
    """Return the row of a task with the given number of runs."""
    return Row(name, call, runs, "runs", prepare, {"runs": runs}, when=when)


def bare(runs: int):
    """Simulate without storing runs."""
    from ltr_duel import simulate
    from ltr_duel.experiment import make_schedule

    matrix = make_schedule(spec(runs)).problems[0].matrix
    policies = ["rucb", "rmed1"]
    simulate(matrix, policies, horizon=100, repetitions=2)
    return lambda: simulate(matrix, policies, horizon=100, repetitions=runs // 2, jobs=1)


def run(runs: int):
    """Run the experiment into a new folder, which the commands read."""
    few, folder = spec(10), scratch() / f"runs-{runs}"
    shutil.rmtree(scratch() / "few", ignore_errors=True)
    command("run", few, "--out", scratch() / "few", "--jobs", "1")

    def work() -> Cost:
        shutil.rmtree(folder, ignore_errors=True)
        cost = command("run", spec(runs), "--out", folder, "--jobs", "1")
        files = [path for path in folder.rglob("*") if path.is_file()]
        return cost._replace(more={"files": len(files), "MB on disk": sum(path.stat().st_size for path in files) / 1e6})

    return work


def read(word: str, runs: int):
    """Read the folder; run the experiment first if the folder does not exist."""
    folder = scratch() / f"runs-{runs}"
    if not folder.exists():
        command("run", spec(runs), "--out", folder, "--jobs", "1")
    return lambda: command(word, folder)


def spec(runs: int) -> Path:
    """Return the file of an experiment."""
    path = scratch() / f"tiny-{runs}.toml"
    path.write_text(SPEC.format(repetitions=runs // 2))
    return path
