"""A small experiment, a file of misbehaving policies, and drivers in separate processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import pytest

from ltr_duel.experiment.counts import counts_of
from ltr_duel.experiment.plan import Plan
from ltr_duel.experiment.plan_file import read_plans
from ltr_duel.experiment.problems import build_problems
from ltr_duel.experiment.runs_file import Row, encode_rows
from ltr_duel.experiment.spec import read_spec
from ltr_duel.experiment.store import Store
from ltr_duel.experiment.stored_runs import StoredRuns
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
answers = ["independent_coins", "live"]
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


def init_of(name):
    State = NamedTuple(name + "State", [("count", np.ndarray)])

    def init(n_arms, horizon, params):
        return State(np.zeros(n_arms, np.int64))

    return State, init


def make(name, trouble):
    State, init = init_of(name)

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


def hang():
    while True:
        time.sleep(0.01)


make("slow", lambda: None)
make("fails", fail)
make("hangs", hang)
make("dies", lambda: os._exit(3))
"""


def matrix_spec(policies, repetitions=4, horizon=5, more=""):
    listed = ", ".join(f'"{one}"' for one in policies)
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


def plan_of(path, *plugins) -> Plan:
    file = read_spec(path, plugins=plugins)
    return Plan(file, build_problems(file))


def results_of(folder: Path) -> dict[str, str]:
    """Return the digests of all results: runs, plans and matrices, without manifests."""
    files = [path for name in ("plans", "problems") for path in sorted((folder / name).glob("*.parquet"))]
    found = {path.relative_to(folder).as_posix(): sha256(path.read_bytes()).hexdigest() for path in files}
    runs = stored_runs(folder)
    for names, rows in runs.batches(runs.index.done):
        for k, digest in enumerate(names):
            counts = counts_of(rows, k)
            arrays = [b"" if one is None else one.tobytes() for one in (counts.steps, counts.exposure)]
            found[digest] = sha256(b"".join([repr(counts[:2]).encode(), *arrays])).hexdigest()
    return found


def stored_runs(folder: Path) -> StoredRuns:
    """Return the runs of a store."""
    return StoredRuns(Store(folder), read_plans(Store(folder)))


def runs_in(folder: Path) -> list[str]:
    """Return the digests of the runs of a store in the order of the files; none without a store."""
    found = Store(folder).scan().done if (folder / "runs").is_dir() else {}
    return sorted(found, key=found.__getitem__)


def row_of(folder: Path, digest: str) -> Row:
    """Return a stored run."""
    ((_, rows),) = stored_runs(folder).batches([digest])
    return Row(**rows.to_pylist()[0])


def add_row(folder: Path, row: Row, name: str = "abc.arrows", **changed) -> None:
    """Append a run to a file."""
    Store(folder).append(name, encode_rows([row._replace(**changed)]))


def damage(folder: Path, digest: str, at: int = -40) -> None:
    """Change a byte of the batch of a run."""
    place = Store(folder).scan().done[digest]
    path = folder / "runs" / place.file
    data = bytearray(path.read_bytes())
    data[place.offset + at % place.size] ^= 1
    path.write_bytes(bytes(data))


@pytest.fixture
def apart(monkeypatch):
    """Give each run a separate batch."""
    monkeypatch.setattr("ltr_duel.experiment.pace._MOMENT", 0.0)
    monkeypatch.setattr("ltr_duel.experiment.scheduler._TOGETHER", 1)


def command(*words) -> list[str]:
    return [sys.executable, "-m", "ltr_duel.cli.main", *map(str, words)]


def start(*words, **options) -> subprocess.Popen:
    """Start ``ltr-duel`` in a separate process group."""
    environment = {**os.environ, "LTR_DUEL_PROGRESS": "0", **options.pop("env", {})}
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    return subprocess.Popen(
        command(*words), cwd=ROOT, env=environment, start_new_session=True, preexec_fn=hear_interrupts, **options
    )


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
