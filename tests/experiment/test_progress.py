"""The progress of an experiment: a bar on a terminal, sentences elsewhere."""

from __future__ import annotations

import re
import sys

import pytest

from ltr_duel.experiment.progress import Progress


@pytest.mark.parametrize("terminal, line", [(True, r"100%\|.*\| 4/4 \["), (False, "3 of 4 runs, [0-9]+ s left\n")])
def test_progress_counts_runs_from_those_that_exist(monkeypatch, capsys, terminal, line):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    monkeypatch.setenv("LTR_DUEL_PROGRESS", "1")
    monkeypatch.setattr("ltr_duel.core.progress.PlainLine.EVERY", 0)
    progress = Progress(total=4, finished=1)
    progress.show(3)
    progress.show(4)
    progress.close()
    assert re.search(line, capsys.readouterr().err)
