"""Hostile input: each case of the tables `cases_*.py` ends in one sentence, the right exit code, nothing written."""

from __future__ import annotations

import hashlib
import importlib
import io
import re
import signal
import sys
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pytest

from ltr_duel.cli.main import main
from ltr_duel.core import InputError

TABLES = sorted(path.stem for path in Path(__file__).parent.glob("cases_*.py"))
CASES = [case for table in TABLES for case in importlib.import_module(f"tests.hostile.{table}").CASES]

SECONDS = 120  # a case that takes longer hangs: compiling on a busy machine takes some ten seconds
LONGEST = 1500  # characters of a sentence: enough for the names of all policies, but not for a long value


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_hostile_input_gets_one_sentence_and_leaves_nothing(case, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    case.write_files(tmp_path)
    before = listing(tmp_path)
    with ended_after(SECONDS):
        sentence = said_by_command(case, capfd) if case.words is not None else said_by_call(case)
    assert "\n" not in sentence and len(sentence) <= LONGEST
    assert re.search(case.says, sentence), sentence
    assert listing(tmp_path) == before


def said_by_command(case, capfd) -> str:
    with pytest.raises(SystemExit) as stop:
        main(*case.words)
    err = capfd.readouterr().err
    assert "Traceback" not in err
    assert stop.value.code == case.code, err
    line, newline, rest = err.partition("\n")
    assert line.startswith("ltr-duel: ") and newline and not rest, err
    return line


def said_by_call(case) -> str:
    with pytest.raises((InputError, TypeError)) as error:
        case.call()
    return str(error.value)


def listing(folder: Path) -> dict[str, str]:
    """Return the content of a folder by name; files with the digest of their content."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        if path.is_file() and not path.is_symlink()
        else "not a file"
        for path in folder.rglob("*")
    }


@contextmanager
def ended_after(seconds: int):
    def hangs(signum, frame):
        raise AssertionError(f"no answer after {seconds} seconds")

    before = signal.signal(signal.SIGALRM, hangs)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def test_the_table_is_long():
    assert len(CASES) >= 250


def test_each_case_has_a_name_of_its_own():
    assert [name for name, times in Counter(case.name for case in CASES).items() if times > 1] == []
