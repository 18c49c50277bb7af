"""Bad input ends in one sentence, exit code 2, and nothing written: one case for each class of refusal."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ltr_duel import analysis, bandits, core, data, experiment, interleaving, preferences, rankers, simulation
from ltr_duel.cli.main import main
from ltr_duel.core import InputError
from tests.hostile import damaged
from tests.hostile.calls import CALLS
from tests.hostile.commands import COMMANDS, FILES, SHORT, SPECS

LONGEST = 1500  # characters of a sentence: enough for the names of all policies, but not for a long value
FLOORS = (analysis, bandits, core, data, experiment, interleaving, preferences, rankers, simulation)
NAMES = {name: getattr(floor, name) for floor in FLOORS for name in floor.__all__}
NAMES |= {"np": np, "pd": pd, "replace": dataclasses.replace}
NAMES |= {"corpus": lambda: NAMES["make_corpus"](queries=3, documents=5, features=3)}
NAMES |= {"rankings": lambda: NAMES["feature_rankers"](NAMES["corpus"]())}
TABLES = {  # words of the command -> name of the file, files
    "data info a.txt": ("a.txt", damaged.CORPORA),
    "data info a": ("a", damaged.FOLDERS),
    "data fetch imat2009 --accept-terms --archive given --folder c": ("given", damaged.ARCHIVES),
    "prefs show m": ("m", damaged.MATRICES),
    "prefs estimate small.txt --comparisons 10 --jobs 1 --out new.csv": ("new.csv", damaged.OUTPUTS),
    "list policies --plugin mine.py": ("mine.py", damaged.PLUGINS),
    "results store": ("store", damaged.STORES),
}


def lines_of(table):
    """Return the two sides of each line of a table; ids are the left sides, cut."""
    sides = [line.rpartition(" => ")[::2] for line in table.splitlines() if line]
    return [pytest.param(left, says, id=left[:70]) for left, says in sides]


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    if callable(content):
        content(path)
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.fixture
def refused(tmp_path, monkeypatch, capfd):
    """Return a function that runs a command in a folder of `FILES`, and checks its sentence and the folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    for name, content in FILES.items():
        write(tmp_path / name, content)

    def run(words, says):
        before = listing(tmp_path)
        with pytest.raises(SystemExit) as stop:
            main(*words)
        err = capfd.readouterr().err
        line, newline, rest = err.partition("\n")
        assert stop.value.code == 2 and line.startswith("ltr-duel: ") and newline and not rest, err
        assert said(says, line) and listing(tmp_path) == before, line

    return run


def said(says, sentence):
    """Return whether a sentence is short and contains a text, in which ~ stands for any text."""
    return re.search(".*".join(map(re.escape, says.split("~"))), sentence) and len(sentence) <= LONGEST


def listing(folder):
    """Return the content of a folder by name; files with the digest of their content."""
    files = {path: path.is_file() and not path.is_symlink() for path in Path(folder).rglob("*")}
    return {str(path): hashlib.sha256(path.read_bytes()).digest() if real else None for path, real in files.items()}


@pytest.mark.parametrize(("line", "says"), lines_of(COMMANDS))
def test_bad_words_are_refused_in_one_sentence(line, says, refused):
    first, _, rest = line.partition(" ")
    refused(shlex.split(f"{SHORT.get(first, first)} {rest}"), says)


@pytest.mark.parametrize(("text", "says"), lines_of(SPECS))
def test_bad_files_of_experiments_are_refused_in_one_sentence(text, says, refused, tmp_path):
    spec, text = FILES["spec.toml"], text.replace("\\n", "\n")
    if text.startswith("CORPUS "):
        spec = f'policies = ["rucb"]\nhorizon = 50\n[[corpora]]\n{text.removeprefix("CORPUS ")}'
    elif " -> " not in text:
        spec = text
    for change in text.split("; ") if " -> " in text else []:
        old, _, new = change.partition(" -> ")
        assert old in spec
        spec = spec.replace(old, new)
    write(tmp_path / "spec.toml", spec)
    refused(["run", "spec.toml", "--dry-run"], says)


@pytest.mark.parametrize(("command", "name", "case"), [
    pytest.param(words, name, case, id=f"{words[:12]}: {title}")
    for words, (name, table) in TABLES.items() for title, case in table.items()
])  # fmt: skip
def test_bad_files_are_refused_in_one_sentence(command, name, case, refused, tmp_path):
    content, says, *more = case
    write(tmp_path / name, content)
    write(tmp_path / "made/a/data.parquet", b"PAR1")
    refused([*command.split(), *more], says)


@pytest.mark.parametrize(("expression", "says"), lines_of(CALLS))
def test_bad_arguments_are_refused_in_one_sentence(expression, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("small.txt", "m.csv"):
        write(tmp_path / name, FILES[name])
    before = listing(tmp_path)
    with pytest.raises((InputError, TypeError)) as error:
        eval(expression, NAMES)
    assert said(says, str(error.value)) and listing(tmp_path) == before, str(error.value)
