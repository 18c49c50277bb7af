"""Progress: a bar on a terminal and in a notebook, lines elsewhere, nothing if disabled."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from types import SimpleNamespace

import pytest

from ltr_duel.core import progress
from ltr_duel.core.parallel import run_tasks
from ltr_duel.core.progress import PlainLine, progress_wanted


@pytest.fixture
def notebook(monkeypatch):
    """Make the process look like a Jupyter kernel: IPython is loaded, and stderr is not a terminal."""
    shell = SimpleNamespace(config={"IPKernelApp": {}})
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setenv("LTR_DUEL_PROGRESS", "1")
    return shell


def test_without_a_terminal_lines_say_how_far_long_work_is(monkeypatch, capsys):
    monkeypatch.setenv("LTR_DUEL_PROGRESS", "1")
    monkeypatch.setattr(PlainLine, "EVERY", 0.0)
    list(run_tasks(abs, range(4), total=4, jobs=1, label="estimate", unit="pair"))
    assert [line.split(" ", 1)[1] for line in capsys.readouterr().err.splitlines()] == [
        f"estimate: {part}%" for part in (25, 50, 75, 100)
    ]
    monkeypatch.setenv("LTR_DUEL_PROGRESS", "0")
    list(run_tasks(abs, range(4), total=4, jobs=1, label="estimate", unit="pair"))
    assert not capsys.readouterr().err


def test_progress_is_drawn_on_a_terminal_only_and_can_be_switched_off(monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert progress_wanted()
    monkeypatch.setenv("LTR_DUEL_PROGRESS", "0")
    assert not progress_wanted()


def test_a_notebook_has_a_bar_and_no_lines_once_work_takes_a_while(notebook, monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)  # without ipywidgets
    monkeypatch.setattr(PlainLine, "EVERY", 0.0)
    monkeypatch.setattr(progress, "QUICK", 60.0)
    list(run_tasks(abs, range(4), total=4, jobs=1, label="estimate", unit="pair"))
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(progress, "QUICK", 0.0)
    list(run_tasks(abs, range(4), total=4, jobs=1, label="estimate", unit="pair"))
    shown, errors = capsys.readouterr()
    assert "estimate: 100%|" in shown and "4.00/4.00" in shown
    assert shown.count("\n") == 1, "one line, drawn over and over"
    assert not errors


HOST = """
import multiprocessing, sys, threading
from ltr_duel.core import parallel, progress
if sys.argv[1:]:
    progress.progress_wanted = lambda: True
assert list(parallel.run_tasks(abs, [-1, 2, -3], total=3, jobs=2, label="numbers", unit="number")) == [1, 2, 3]
assert multiprocessing.get_start_method(allow_none=True) is None
assert not [thread for thread in threading.enumerate() if type(thread).__name__ == "TMonitor"]
"""


@pytest.mark.parametrize("drawn", [[], ["drawn"]])
def test_a_bar_leaves_the_process_free_to_choose_how_it_starts_others(drawn):
    subprocess.run([sys.executable, "-c", HOST, *drawn], check=True, stderr=subprocess.PIPE)
