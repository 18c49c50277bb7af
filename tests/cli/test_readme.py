"""All code of the README runs in order; the links and the picture exist.

The first snippet and its commands are compared with each other in `test_words`.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from ltr_duel.data import make_corpus

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.M | re.S)


def run_all(ltr_duel, commands):
    for command in commands:
        answer = ltr_duel(*shlex.split(command, comments=True)[1:])
        assert answer.code == 0, f"{command}: {answer.err}"


def test_the_corpus_of_the_readme_is_tested_with_a_column_of_zeros():
    assert (
        "dead=0.1" in TEXT
        and make_corpus(queries=200, documents=20, features=10, seed=3, dead=0.1).features.any(axis=0).sum() == 9
    )


def test_the_readme_is_a_page():
    assert TEXT.count("\n") <= 66


def test_the_first_screen_installs_calls_the_command_and_leads_on():
    first = "\n".join(TEXT.splitlines()[:18])
    for word in (
        "make demo",
        ". .venv/bin/activate",
        "pip install .",
        "docs/first_regret_curve.md",
        "docs/questions.md",
    ):
        assert word in first, word


def test_no_page_installs_from_an_index_that_does_not_have_the_package():
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    assert [one.name for one in pages if re.search(r"pip install '?ltr-duel(?!\[)", one.read_text("utf-8"))] == []


@pytest.mark.long
def test_everything_runs_as_printed(ltr_duel, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for kind, body in BLOCKS:
        if kind == "python":
            exec(body, {})  # the text of the README is the subject
        else:
            run_all(ltr_duel, [line for line in body.splitlines() if line.startswith("ltr-duel ")])
    left = {"regret.png", "matrix.parquet", "runs", "advice", "decision.html"}
    assert left <= {path.name for path in tmp_path.iterdir()}


def test_the_targets_and_commands_that_it_names_are_there(ltr_duel):
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M)
    assert set(re.findall(r"\bmake ([\w-]+)", TEXT)) <= set(targets)
    named = set(re.findall(r"[`^\n]ltr-duel ([\w-]+)", TEXT))
    assert len(named) > 5
    for name in named:
        assert ltr_duel(name, "--help").code == 0


def test_links_and_pictures_are_there_and_the_picture_is_small():
    links = {link.partition("#")[0] for link in re.findall(r"\]\(([^)]+)\)", TEXT) if "://" not in link}
    assert links and not [link for link in links if not (ROOT / link).exists()]
    assert (ROOT / "docs" / "readme.png").stat().st_size < 150_000
