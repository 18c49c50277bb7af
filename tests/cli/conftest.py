"""Run the command line in this process."""

from __future__ import annotations

import sys
from typing import NamedTuple

import pytest

from ltr_duel.cli.main import main


class Answer(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def ltr_duel(capsys, monkeypatch):
    """Return a function that runs ``ltr-duel`` with the given words."""

    def run(*words) -> Answer:
        monkeypatch.setattr(sys, "argv", ["ltr-duel", *map(str, words)])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return run


@pytest.fixture
def corpus(tmp_path):
    """Write a small corpus with a constant column, and return its path."""
    import numpy as np

    rng = np.random.default_rng(0)
    lines = []
    for query in range(6):
        for doc in range(12):
            grade = int(rng.integers(0, 3))
            values = [grade + rng.normal(), grade + 3 * rng.normal(), rng.normal(), query]
            pairs = " ".join(f"{k}:{v:.6f}" for k, v in enumerate(values, 1))
            lines.append(f"{grade} qid:{query} {pairs} #docid = D{query}-{doc}\n")
    path = tmp_path / "small.txt"
    path.write_text("".join(lines))
    return path
