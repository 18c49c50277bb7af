"""The progress line of an experiment reads like a sentence, on a terminal and elsewhere."""

from __future__ import annotations

import sys

from ltr_duel.experiment.progress import Progress


def test_the_bar_is_followed_by_the_sentence_alone(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("LTR_DUEL_PROGRESS", "1")
    progress = Progress(total=4, finished=1)
    progress.add(2_000)
    progress.show(4)
    progress.close()
    first, *_, last = capsys.readouterr().err.replace("\n", "\r").strip("\r").split("\r")
    assert first.startswith(" 25%|") and first.endswith("| 1 of 4 runs, 0.00 duels/s")
    assert last.startswith("100%|") and "| 4 of 4 runs, " in last and last.endswith("duels/s, 0 s left")
