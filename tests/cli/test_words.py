"""The shell completes all words, and the README's Python code and commands are the same experiment."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.shell_completion import ShellComplete

import ltr_duel
from ltr_duel.advice import advise
from ltr_duel.cli.main import cli
from ltr_duel.data import make_corpus
from ltr_duel.interleaving import METHODS
from ltr_duel.preferences import estimate_preferences
from ltr_duel.preferences.io import load_preferences
from ltr_duel.rankers import feature_rankers
from tests.cli.test_readme import TEXT

README = Path(__file__).resolve().parents[2] / "README.md"


@pytest.mark.parametrize(
    ("typed", "begun", "completed"),
    [
        ("", "simu", ["simulate"]),
        ("prefs", "est", ["estimate"]),
        ("simulate --policy", "rm", ["rmed1", "rmed2", "rmed2fh"]),
        ("demo --policy", "md", ["mdb"]),
        ("list policies", "rc", ["rcs"]),
        ("list methods", "sos", ["sosm"]),
        ("prefs estimate corpus --method", "bal", ["balanced"]),
        ("simulate --slates", "sos", ["sosm"]),
        ("sensitivity corpus --clicks", "alm", ["almost_random"]),
        ("results folder --band", "q", ["quantiles"]),
    ],
)
def test_the_shell_completes(typed, begun, completed):
    shell = ShellComplete(cli, {}, "ltr-duel", "_LTR_DUEL_COMPLETE")
    assert [one.value for one in shell.get_completions(typed.split(), begun)] == completed


def test_python_and_command_line_of_the_readme_are_the_same_experiment(ltr_duel, tmp_path, monkeypatch, capsys):
    """The first number that Python prints is a mean."""
    monkeypatch.chdir(tmp_path)
    text = TEXT.replace("100_000", "1_000")
    text = re.sub("repetitions([= ])10", r"repetitions\g<1>2", text.replace("1e5", "1e3"))
    python = re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]
    names = {}
    exec(python, names)  # the text of the README is the subject
    printed = capsys.readouterr().out
    for command in re.findall(
        r"^ltr-duel (prefs estimate .* --out matrix.parquet|simulate matrix.parquet .*)$", text, re.MULTILINE
    ):
        answer = ltr_duel(*shlex.split(command, comments=True))
        assert answer.code == 0, answer.err
    assert len(names["rankers"]) == 9 and len(names["rankers"].left_out) == 1, "the column of zeros is no ranker"
    matrix, typed = load_preferences("matrix.parquet"), pd.read_parquet("runs/results.parquet")
    assert matrix.names == names["matrix"].names and np.array_equal(matrix.p, names["matrix"].p)
    written = names["results"].to_frame()
    assert list(typed["policy"]) == list(written["policy"])
    assert np.array_equal(typed["regret_average"], written["regret_average"])
    mean = names["results"].summary()["mean"][0]
    assert f"{mean:.6f}" in printed


def test_the_list_of_figures_fits_100_columns(ltr_duel):
    lines = ltr_duel("reproduce", "--list").out.splitlines()
    assert len(lines) > 10 and max(map(len, lines)) <= 100


PLAIN = """
    budget, clicks, comparisons, confidence, corpus, corpus sha256, difference, direction, documents,
    first, fitted, interval, iterations, log-likelihood, losses, margin, mean, measure, method parameters, model,
    outcome, pair, parameters, queries, ranker, rankers, repetitions, runs, second, seed, simulations, source,
    ties, top, users, versions, wins
"""  # need no entry: heads of tables, and settings


MAKES_ROWS = "_table$|_row$|^_head$|^_one_look$|^_any_time$"


def heads_of_outputs():
    """Yield the heads of tables in functions and pages, and the settings of advice and matrices."""
    package = Path(ltr_duel.__file__).parent
    for path in (
        one
        for name in ("advice", "analysis", "cli", "clicks", "logs", "simulation")
        for one in package.glob(f"{name}/**/*.py")
    ):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named = isinstance(function, ast.FunctionDef) and re.search(MAKES_ROWS, function.name)
            if named and ast.unparse(function.returns) in ("pd.DataFrame", "dict[str, str]"):
                keys = (key for node in ast.walk(function) if isinstance(node, ast.Dict) for key in node.keys)
                yield from (key.value for key in keys if isinstance(key, ast.Constant))
    for path in package.rglob("*.html"):
        yield from re.findall(r"<th>([^<{]+)", path.read_text(encoding="utf-8"))
    rankings = feature_rankers(make_corpus(queries=4, documents=4, features=3))
    yield from estimate_preferences(rankings, clicks="perfect", comparisons=50).provenance
    yield from advise(rankings, budget=100, clicks="perfect", margin=1).settings


def test_the_glossary_has_each_head_of_a_table_and_each_setting_that_outputs_write():
    page = (README.parent / "docs" / "glossary.md").read_text(encoding="utf-8").casefold()
    known = {word.strip() for row in re.findall(r"^\| (.*?) \|", page, re.M) for word in row.split(",")}
    plain = {word.strip() for word in PLAIN.split(",")}
    heads = {head.replace("_", " ").casefold() for head in heads_of_outputs()} - {"", "a", "b"}
    assert {"sure from", "lost after", "tie seed", "beats", "share of the pages"} <= heads
    words = {head.partition(",")[0] for head in heads}
    assert sorted(word for word in words if not {word, word + "s", word.removesuffix("s")} & (known | plain)) == []
    assert sorted(plain - words) == [], "listed as plain, and written by no output"


def test_the_glossary_has_the_words_of_outputs(ltr_duel, corpus, tmp_path):
    ltr_duel("prefs", "estimate", corpus, "--comparisons", "300", "--out", tmp_path / "m.parquet")
    printed = ltr_duel("prefs", "show", tmp_path / "m.parquet").out
    printed += ltr_duel("prefs", "show", "arith51").out + ltr_duel("power", "--help").out
    glossary = (README.parent / "docs" / "glossary.md").read_text(encoding="utf-8").casefold()
    words = (
        "Borda, Copeland, Condorcet winner, von Neumann, top cycle, Strong transitivity, ±, lower bound, mean outcome"
    )
    for word in words.split(", "):
        assert word.casefold() in printed.casefold() and word.casefold() in glossary, word
    rules = {rule for method in METHODS for rule in method.outcomes}
    rules |= {"incumbent", "gamma_btm", "even pair", "p(winner)", "identification time", "e-value"}
    assert [rule for rule in rules if rule not in glossary] == []


def test_help_is_whole_and_begins_with_what_a_command_has_alone(ltr_duel):
    commands = ltr_duel("--help").out.partition("Start here:")[2]
    assert "..." not in commands and "decide when to stop." in " ".join(commands.split())
    for command, first, heading in (
        ("advise", "--budget", "How feature files are read:"),
        ("prefs estimate", "--comparisons", "Documents with equal scores:"),
        ("logs compare", "--stop-at", "How a log is read:"),
    ):
        text = ltr_duel(*command.split(), "--help").out
        assert 0 < text.index(first) < text.index(heading) < text.index("How it runs:") < text.index("--plugin"), (
            command
        )


def test_options_for_reading_are_folded_by_help_and_described_by_help_all(ltr_duel):
    folded, described = (ltr_duel("evaluate", word).out for word in ("--help", "--help-all"))
    assert "--split --fold" in folded and "Replacement for NULL" not in folded
    assert "Replacement for NULL" in described and described.startswith(folded[:200])


def test_a_table_that_leaves_out_lines_ends_in_how_many(ltr_duel, corpus):
    answer = ltr_duel("evaluate", corpus, "--measure", "MAP", "--rows", "1")
    assert answer.out.splitlines()[-1] == "2 more rankers for each measure; --rows 3 lists them"
    assert "more rankers" not in ltr_duel("evaluate", corpus, "--measure", "MAP").out
    assert ltr_duel("prefs", "show", "arith51").out.count("41 more rankers; --rows 51 lists them") == 1
