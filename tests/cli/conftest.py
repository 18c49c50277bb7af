"""Run the command line in this process."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from ltr_duel.cli.main import main


class Answer(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def ltr_duel(capsys):
    """Return a function that runs ``ltr-duel`` with the given words."""

    def run(*words) -> Answer:
        with pytest.raises(SystemExit) as stop:
            main(*map(str, words))
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Answer(int(stop.value.code or 0), captured.out, captured.err)

    return run


@pytest.fixture
def succeed(ltr_duel):
    """Return a function that runs ``ltr-duel``, whose exit code must be 0, and returns what it prints on stdout."""

    def run(*words) -> str:
        answer = ltr_duel(*words)
        assert answer.code == 0, answer.err
        return answer.out

    return run


@pytest.fixture
def refuse(ltr_duel):
    """Return a function that runs ``ltr-duel``, which must refuse its words in a sentence with the given text."""

    def run(text, *words) -> None:
        answer = ltr_duel(*words)
        assert answer.code == 2 and answer.err.startswith("ltr-duel: ") and answer.err.count("\n") == 1, answer.err
        assert text in answer.err, answer.err

    return run


@pytest.fixture
def corpus(tmp_path):
    """Write a small corpus with a constant column, and return its path."""
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
