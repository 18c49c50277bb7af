"""All code of the README runs in order, its two ways are the same experiment; the links and the picture exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ltr_duel.data import make_corpus
from ltr_duel.preferences import load_preferences
from tests.site.snippets import python_code, run_page

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_corpus_of_the_readme_has_a_column_of_zeros():
    corpus = make_corpus(queries=200, documents=20, features=10, seed=3, dead=0.1)
    assert "dead=0.1" in TEXT and corpus.features.any(axis=0).sum() == 9


def test_the_readme_is_a_page_whose_first_screen_installs_and_leads_on():
    assert TEXT.count("\n") <= 80
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
    assert [page.name for page in pages if re.search(r"pip install '?ltr-duel(?!\[)", page.read_text("utf-8"))] == []


def test_python_and_command_line_of_the_readme_are_the_same_experiment(succeed, tmp_path, monkeypatch, capsys):
    """The first number that Python prints is a mean."""
    monkeypatch.chdir(tmp_path)
    text = TEXT.replace("100_000", "1_000")
    text = re.sub("repetitions([= ])10", r"repetitions\g<1>2", text.replace("1e5", "1e3"))
    names: dict = {}
    (tmp_path / "short.md").write_text(text)
    exec(python_code(tmp_path / "short.md")[0], names)  # the text of the README is the subject
    printed = capsys.readouterr().out
    typed = r"^ltr-duel (prefs estimate .* --out matrix.parquet|simulate matrix.parquet .*)$"
    for command in re.findall(typed, text, re.MULTILINE):
        succeed(*shlex.split(command, comments=True))
    assert len(names["rankers"]) == 9 and len(names["rankers"].left_out) == 1, "the column of zeros is no ranker"
    matrix, results = load_preferences("matrix.parquet"), pd.read_parquet("runs/results.parquet")
    assert matrix.names == names["matrix"].names and np.array_equal(matrix.p, names["matrix"].p)
    written = names["results"].to_frame()
    assert list(results["policy"]) == list(written["policy"])
    assert np.array_equal(results["regret_average"], written["regret_average"])
    assert f"{names['results'].summary()['mean'][0]:.6f}" in printed


@pytest.mark.long
def test_the_readme_runs_as_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(ROOT / "README.md", lambda step: step.kind == "command" and not step.text.startswith("ltr-duel "))
    left = {"regret.png", "matrix.parquet", "runs", "advice", "decision.html"}
    assert left <= {path.name for path in tmp_path.iterdir()}


def test_the_make_targets_and_commands_of_the_readme_exist(succeed):
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M)
    assert set(re.findall(r"\bmake ([\w-]+)", TEXT)) <= set(targets)
    names = set(re.findall(r"[`^\n]ltr-duel ([\w-]+)", TEXT))
    assert len(names) > 5
    for name in names:
        succeed(name, "--help")


def test_links_of_the_readme_exist_and_its_picture_is_small():
    links = {link.partition("#")[0] for link in re.findall(r"\]\(([^)]+)\)", TEXT) if "://" not in link}
    assert links and not [link for link in links if not (ROOT / link).exists()]
    assert (ROOT / "docs" / "readme.png").stat().st_size < 150_000
