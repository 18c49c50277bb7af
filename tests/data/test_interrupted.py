"""A kill during the renaming of a conversion: old corpora survive, and the new one is complete or absent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ltr_duel.data.load import load_dataset
from ltr_duel.data.store.convert import convert
from ltr_duel.data.store.converted import open_converted

SCRIPT = """
import os, pathlib, sys, time
from ltr_duel.data.store import convert

def wait():
    print("waiting", flush=True)
    time.sleep(60)

place, name = (pathlib.Path, "rename") if sys.argv[3] == "rename" else (os, "replace")
real = getattr(place, name)

def stopped(path, target):
    if sys.argv[2] == "after":
        real(path, target)
    wait()

setattr(place, name, stopped)
convert.convert(sys.argv[1])
"""


def killed(file: Path, when: str, step: str) -> None:
    """Convert in a separate process, and kill this process before or after a step."""
    child = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(file), when, step],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},  # interpreted, so that nothing is compiled first
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None and child.stdout.readline() == b"waiting\n"
    child.send_signal(signal.SIGKILL)
    child.wait(20)
    child.stdout.close()


@pytest.mark.parametrize("step", ["rename", "replace"], ids=["the folder", "what is known of the files"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_at_the_last_step_leaves_nothing_or_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str, step: str
) -> None:
    home, file = tmp_path / "home", tmp_path / "a.txt"
    monkeypatch.setenv("LTR_DUEL_HOME", str(home))
    file.write_text("0 qid:1 1:1 2:5\n")
    old = convert(file)
    file.write_text("0 qid:1 1:2 2:0.5\n1 qid:2 1:7 2:3\n")
    killed(file, when, step)

    visible = {p for p in (home / "corpora").iterdir() if not p.name.startswith(".")}
    assert open_converted(old).features.tolist() == [[1, 5]]
    assert len(visible) == (1 if (when, step) == ("before", "rename") else 2)
    for folder in visible - {old}:
        assert open_converted(folder).features.tolist() == [[2, 0.5], [7, 3]]
    assert load_dataset(file).features.tolist() == [[2, 0.5], [7, 3]]
    again = convert(file)
    assert visible <= {old, again}
    assert np.array_equal(open_converted(again).features, load_dataset(file).features)
