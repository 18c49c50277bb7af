"""A small experiment, a file of misbehaving policies, and drivers in separate processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pytest

from ltr_duel.experiment import make_schedule, read_spec
from ltr_duel.experiment.runs import COUNTED, Index
from ltr_duel.experiment.store import Store
from tests.conftest import hear_interrupts

ROOT = Path(__file__).resolve().parents[2]

SMALL = """
name = "small"
policies = ["rucb", "mdb"]
horizon = [50, 300]
repetitions = 3
seed = 7

[[matrices]]
name = "three arms"
p = [[0.5, 0.6, 0.7], [0.4, 0.5, 0.6], [0.3, 0.4, 0.5]]
answers = "independent_coins"

[[corpora]]
synthetic = { queries = 6, documents = 8, features = 8, grades = 2 }
comparisons = 40
clicks = "perfect"
answers = ["independent_coins", "users"]
"""

AWKWARD = """
import os
import time
from typing import NamedTuple

import numpy as np

from ltr_duel.bandits import register


class Params(NamedTuple):
    seconds: float = 0.02   # of a run, when nothing goes wrong
    share: float = 0.4      # of the runs in which it does


def make(name, trouble):
    State = NamedTuple(name + "State", [("count", np.ndarray)])

    def init(n_arms, horizon, params):
        return State(np.zeros(n_arms, np.int64))

    def select(state, params, t, rng):
        if t == 1:
            luck = rng.random()
            time.sleep(params.seconds)
            if luck < params.share:
                trouble()
        return int(rng.random() * len(state.count)), int(rng.random() * len(state.count))

    def update(state, params, t, first, second, outcome, rng):
        state.count[first if outcome >= 0 else second] += 1

    def recommend(state, params):
        return int(state.count.argmax())

    register(
        __name__, name=name, state=State, init=init, select=select, update=update, recommend=recommend,
        assumes="nothing", regret="linear", cost="a moment", where="here", compiled=False,
    )


def fail():
    raise ArithmeticError("the sum of the parts")


make("slow", lambda: None)
make("fails", fail)
make("dies", lambda: os._exit(3))
"""


def matrix_spec(policies, repetitions=4, horizon=5, more=""):
    listed = ", ".join(f'"{policy}"' for policy in policies)
    return (
        f"policies = [{listed}]\nrepetitions = {repetitions}\nhorizon = {horizon}\n{more}\n"
        '[[matrices]]\nname = "m"\nanswers = "independent_coins"\n'
        "p = [[0.5, 0.6, 0.7], [0.4, 0.5, 0.6], [0.3, 0.4, 0.5]]\n"
    )


@pytest.fixture
def spec_file(tmp_path):
    """Return a function that writes a spec."""

    def write(text=SMALL, name="spec.toml"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


@pytest.fixture(scope="session")
def awkward(tmp_path_factory):
    """Return the file of awkward policies."""
    path = tmp_path_factory.mktemp("plugins") / "awkward.py"
    path.write_text(AWKWARD)
    return path


def schedule_of(path, *plugins):
    return make_schedule(read_spec(path, plugins=plugins), jobs=1)


def results_of(folder) -> dict:
    """Return everything in a store that depends only on the study: matrices, and the counts of each run."""
    content = {path.name: sha256(path.read_bytes()).hexdigest() for path in (folder / "problems").iterdir()}
    index = Index(Store(folder))
    for group, rows in index.read(index.done, ("repetition", *COUNTED)):
        content |= {(group, row.pop("repetition")): repr(row) for row in rows.to_pylist()}
    return content


def count_runs(folder) -> int:
    return sum(map(len, Index(Store(folder)).done.values()))


def rows_of(folder) -> list[list]:
    """Return the rows of all runs, sorted by policy and repetition."""
    tables = [pa.ipc.open_file(path.read_bytes()).read_all() for path in (folder / "runs").iterdir()]
    return [
        list(row.values())
        for row in pa.concat_tables(tables).sort_by([("policy", "ascending"), ("repetition", "ascending")]).to_pylist()
    ]


def only_file(folder, kind):
    (path,) = (folder / kind).iterdir()
    return path


def start(*words, **options) -> subprocess.Popen:
    """Start ``ltr-duel`` in a separate process group."""
    environment = {**os.environ, "LTR_DUEL_PROGRESS": "0"}
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    command = [sys.executable, "-m", "ltr_duel.cli.main", *map(str, words)]
    options |= {"cwd": ROOT, "env": environment, "start_new_session": True, "preexec_fn": hear_interrupts}
    return subprocess.Popen(command, **options)


def finish(process: subprocess.Popen, seconds=120) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=seconds)
    return process.returncode, out, err


def kill_group(process: subprocess.Popen) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def wait_for(condition, seconds=60.0):
    """Wait until a condition is true."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("it did not come to that")
        time.sleep(0.02)
