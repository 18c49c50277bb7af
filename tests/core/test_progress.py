"""Progress: a bar on a terminal and in a notebook, lines elsewhere, nothing if disabled."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

from ltr_duel.core import InputError, progress
from ltr_duel.core.parallel import run_tasks
from ltr_duel.core.progress import PlainLine


def run(jobs=1, total=4):
    return list(run_tasks(lambda x: x * x, range(total), total=total, jobs=jobs, label="estimate", unit="pair"))


def test_answers_are_in_the_order_of_the_tasks_on_any_number_of_workers():
    for jobs in (1, 2, -1):
        assert run(jobs, 20) == [x * x for x in range(20)]
    with pytest.raises(InputError, match="number of jobs must be between 1 and 4096, not 0"):
        run(0)


def test_without_a_terminal_lines_report_the_progress_of_long_work(monkeypatch, capsys):
    monkeypatch.setenv("LTR_DUEL_PROGRESS", "1")
    monkeypatch.setattr(PlainLine, "EVERY", 0.0)
    run()
    assert [line.split(" ", 1)[1] for line in capsys.readouterr().err.splitlines()] == [
        f"estimate: {part}%" for part in (25, 50, 75, 100)
    ]
    monkeypatch.setenv("LTR_DUEL_PROGRESS", "0")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    run()
    assert not capsys.readouterr().err


def test_a_notebook_has_a_bar_on_stdout_once_work_takes_a_while(monkeypatch, capsys):
    shell = SimpleNamespace(config={"IPKernelApp": {}})  # as in a Jupyter kernel
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setenv("LTR_DUEL_PROGRESS", "1")
    monkeypatch.setattr(PlainLine, "EVERY", 0.0)
    monkeypatch.setattr(progress, "QUICK", 60.0)
    run()
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(progress, "QUICK", 0.0)
    run()
    shown, errors = capsys.readouterr()
    assert "estimate: 100%|" in shown and "4.00/4.00" in shown and not errors


HOST = """
import multiprocessing, threading
from ltr_duel.core import parallel, progress
for drawn in (False, True):
    progress.progress_wanted = lambda: drawn
    assert list(parallel.run_tasks(abs, [-1, 2, -3], total=3, jobs=2, label="numbers", unit="number")) == [1, 2, 3]
assert multiprocessing.get_start_method(allow_none=True) is None
assert not [thread for thread in threading.enumerate() if type(thread).__name__ == "TMonitor"]
"""


def test_a_bar_leaves_the_process_free_to_choose_how_it_starts_others():
    subprocess.run([sys.executable, "-c", HOST], check=True, stderr=subprocess.PIPE)
