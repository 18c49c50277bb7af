"""All code of the README runs in order; the links and the picture exist.

The first snippet and its commands are compared with each other in `test_words`.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.conftest import REAL_DATA

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.M | re.S)
COMMANDS = [line for kind, body in BLOCKS if not kind for line in body.splitlines() if line.startswith("ltr-duel ")]
SMALLER = {"MQ2008/Fold1": "{corpus}", "features:25,37": "features:1,2", "1e5": "1e3"}


def run_all(ltr_duel, commands):
    for command in commands:
        answer = ltr_duel(*shlex.split(command, comments=True)[1:])
        assert answer.code == 0, f"{command}: {answer.err}"


def test_the_readme_is_a_page():
    assert TEXT.count("\n") <= 80


def test_the_first_screen_installs_calls_the_command_and_leads_on():
    first = "\n".join(TEXT.splitlines()[:18])
    for word in (
        "make demo",
        ". .venv/bin/activate",
        "pip install .",
        "docs/tutorials/",
        "docs/howto.md",
        "docs/faq.md",
    ):
        assert word in first, word


def test_no_page_installs_from_an_index_that_does_not_have_the_package():
    pages = [ROOT / "README.md", *(one for one in (ROOT / "docs").rglob("*.md") if "generated" not in one.parts)]
    assert [one.name for one in pages if re.search(r"pip install '?ltr-duel(?!\[)", one.read_text("utf-8"))] == []


@pytest.mark.long
def test_the_commands_about_policies_and_logs_run(ltr_duel, corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chosen = [one for one in COMMANDS if re.match(r"ltr-duel (policies|logs|simulate --live)", one)]
    for long, short in SMALLER.items():
        chosen = [one.replace(long, short.format(corpus=corpus)) for one in chosen]
    run_all(ltr_duel, chosen)
    assert len(chosen) == 4 and Path("decision.html").stat().st_size > 1000


def test_the_page_of_plain_lists_is_credited_as_printed(capsys):
    (snippet,) = [body for kind, body in BLOCKS if kind == "python" and "interleave" in body]
    exec(snippet, {})  # the text of the README is the subject
    printed = re.search(r"# (\{.*?\}): dense won", snippet)[1]
    assert capsys.readouterr().out.splitlines()[1] == printed


@pytest.mark.long
def test_everything_runs_as_printed(ltr_duel, real_data, tmp_path, monkeypatch, capsys):
    if not (REAL_DATA / "MQ2008" / "Fold1").is_dir():
        pytest.skip("needs ../shared/data/MQ2008/Fold1")
    (tmp_path / "MQ2008").symlink_to(real_data / "MQ2008")
    monkeypatch.chdir(tmp_path)
    for kind, body in BLOCKS:
        if kind == "python":
            exec(body, {})
        else:
            run_all(ltr_duel, [line for line in body.splitlines() if line.startswith("ltr-duel ")])
    left = {"regret.png", "mq2008.parquet", "runs", "advice", "clicks.parquet", "decision.html"}
    assert left <= {path.name for path in tmp_path.iterdir()}


def test_the_targets_and_commands_that_it_names_are_there(ltr_duel):
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M)
    assert set(re.findall(r"\bmake ([\w-]+)", TEXT)) <= set(targets)
    named = set(re.findall(r"[`^\n]ltr-duel ([\w-]+)", TEXT))
    assert len(named) > 8
    for name in named:
        assert ltr_duel(name, "--help").code == 0


def test_links_and_pictures_are_there_and_the_picture_is_small():
    links = {link.partition("#")[0] for link in re.findall(r"\]\(([^)]+)\)", TEXT) if "://" not in link}
    assert links and not [link for link in links if not (ROOT / link).exists()]
    assert (ROOT / "docs" / "demo_regret.png").stat().st_size < 150_000
