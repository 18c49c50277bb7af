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
from tests.hostile.calls import CALLS
from tests.hostile.commands import COMMANDS, FILES, SHORT, SPECS
from tests.hostile.damaged import TABLES

LONGEST = 1500  # characters of a sentence: enough for the names of all policies, but not for a long value
FLOORS = (analysis, bandits, core, data, experiment, interleaving, preferences, rankers, simulation)
NAMES = {name: getattr(floor, name) for floor in FLOORS for name in floor.__all__}
NAMES |= {"np": np, "pd": pd, "replace": dataclasses.replace}
NAMES |= {"corpus": lambda: NAMES["make_corpus"](queries=3, documents=5, features=3)}
NAMES |= {"rankings": lambda: NAMES["feature_rankers"](NAMES["corpus"]())}


def lines_of(table):
    """Return the two sides of each line of a table; ids are the left sides, cut."""
    sides = [line.rpartition(" => ")[::2] for line in table.splitlines() if line]
    return [pytest.param(left, sentence, id=left[:70]) for left, sentence in sides]


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    if callable(content):
        content(path)
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Work in a folder of `FILES`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    for name, content in FILES.items():
        write(tmp_path / name, content)
    return tmp_path


@pytest.fixture
def refused(here, capfd):
    """Return a function that runs a command, and checks its sentence and that no file changes."""

    def run(words, expected):
        before = listing(here)
        with pytest.raises(SystemExit) as stop:
            main(*words)
        err = capfd.readouterr().err
        line, newline, rest = err.partition("\n")
        assert stop.value.code == 2 and line.startswith("ltr-duel: ") and newline and not rest, err
        assert matches(expected, line) and listing(here) == before, line

    return run


def matches(expected, sentence):
    """Return whether a sentence is short and contains a text, in which ~ stands for any text."""
    return re.search(".*".join(map(re.escape, expected.split("~"))), sentence) and len(sentence) <= LONGEST


def listing(folder):
    """Return the content of a folder by name; files with the digest of their content."""
    files = {path: path.is_file() and not path.is_symlink() for path in Path(folder).rglob("*")}
    return {str(path): hashlib.sha256(path.read_bytes()).digest() if real else None for path, real in files.items()}


@pytest.mark.parametrize(("line", "sentence"), lines_of(COMMANDS))
def test_bad_words_are_refused_in_one_sentence(line, sentence, refused):
    first, _, rest = line.partition(" ")
    refused(shlex.split(f"{SHORT.get(first, first)} {rest}"), sentence)


@pytest.mark.parametrize(("text", "sentence"), lines_of(SPECS))
def test_bad_files_of_experiments_are_refused_in_one_sentence(text, sentence, refused, here):
    spec, text = FILES["spec.toml"], text.replace("\\n", "\n")
    if text.startswith("CORPUS "):
        spec = f'policies = ["rucb"]\nhorizon = 50\n[[corpora]]\n{text.removeprefix("CORPUS ")}'
    elif " -> " not in text:
        spec = text
    for change in text.split("; ") if " -> " in text else []:
        old, _, new = change.partition(" -> ")
        assert old in spec
        spec = spec.replace(old, new)
    write(here / "spec.toml", spec)
    refused(["run", "spec.toml", "--dry-run"], sentence)


@pytest.mark.parametrize(("command", "case"), [
    pytest.param(words, case, id=f"{words[:12]}: {title}")
    for words, table in TABLES.items() for title, case in table.items()
])  # fmt: skip
def test_bad_files_are_refused_in_one_sentence(command, case, refused, here):
    content, sentence, *more = case
    write(here / command.split()[-1], content)
    refused([*command.split(), *more], sentence)


@pytest.mark.parametrize(("expression", "sentence"), lines_of(CALLS))
def test_bad_arguments_are_refused_in_one_sentence(expression, sentence, here):
    before = listing(here)
    with pytest.raises((InputError, TypeError)) as error:
        eval(expression, NAMES)
    assert matches(sentence, str(error.value)) and listing(here) == before, str(error.value)
