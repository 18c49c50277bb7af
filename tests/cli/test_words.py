"""Help, completion, options that commands share, and the words of outputs in the glossary."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

import ltr_duel as package
from ltr_duel.advice import advise
from ltr_duel.cli.main import cli
from ltr_duel.core import InputError
from ltr_duel.data import make_corpus
from ltr_duel.interleaving import METHODS
from ltr_duel.preferences import estimate_preferences
from ltr_duel.rankers import feature_rankers

GLOSSARY = Path(__file__).resolve().parents[2] / "docs" / "glossary.md"
READING = {
    "--split", "--fold", "--queries", "--dialect", "--features", "--first-id", "--fill", "--labels", "--unlabelled",
    "--omitted", "--no-cache",
}  # fmt: skip
READERS = {
    "data info", "data fetch", "prefs estimate", "simulate", "demo", "sensitivity", "evaluate", "power", "advise",
    "replay",
}  # fmt: skip


def commands(group=cli, before=""):
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        yield from commands(command, f"{name} ") if hasattr(command, "list_commands") else [(before + name, command)]


@pytest.mark.parametrize(
    ("typed", "begun", "completed"),
    [
        ("", "simu", ["simulate"]),
        ("prefs", "est", ["estimate"]),
        ("simulate --policy", "rm", ["rmed1", "rmed2", "rmed2fh"]),
        ("prefs estimate corpus --method", "bal", ["balanced"]),
        ("sensitivity corpus --clicks", "alm", ["almost_random"]),
    ],
)
def test_the_shell_completes(typed, begun, completed):
    shell = ShellComplete(cli, {}, "ltr-duel", "_LTR_DUEL_COMPLETE")
    assert [item.value for item in shell.get_completions(typed.split(), begun)] == completed


def test_an_option_of_a_name_means_the_same_in_all_commands():
    kinds: dict[str, set[str]] = {}
    short = {"-o": "--out", "-s": "--seed", "-j": "--jobs", "-q": "--quiet"}
    for name, command in commands():
        options = {param.opts[-1]: param for param in command.params if param.opts[0].startswith("-")}
        assert "--quiet" in options, name
        for option, param in options.items():
            kinds.setdefault(option, set()).add(type(param.type).__name__)
            assert [short[word] for word in param.opts if word in short] in ([], [option]), name
    assert kinds["--out"] == {"OutputPath"} and kinds["--format"] == {"StringParamType"}
    assert kinds["--seed"] == kinds["--jobs"] == {"Count"}


def test_help_begins_with_what_a_command_has_alone_and_folds_the_reading_options(succeed):
    top = succeed("--help").partition("Start here:")[2]
    assert "..." not in top and "decide when to stop." in " ".join(top.split())
    for command, first, heading in (
        ("advise", "--budget", "How feature files are read:"),
        ("logs compare", "--stop-at", "How a log is read:"),
    ):
        text = succeed(*command.split(), "--help")
        assert 0 < text.index(first) < text.index(heading) < text.index("How it runs:") < text.index("--plugin")
    folded, described = (succeed("evaluate", word) for word in ("--help", "--help-all"))
    assert "--split --fold" in folded and "Replacement for NULL" not in folded and "Replacement for NULL" in described


def test_every_command_that_reads_a_corpus_has_all_reading_and_tie_options():
    expected = READING | {"--ties", "--tie-seed"}
    names = {name: {word for param in command.params for word in param.opts} & expected for name, command in commands()}
    assert {name for name, words in names.items() if words >= READING} == READERS
    assert {name for name, words in names.items() if "--ties" in words} == READERS - {"data info", "data fetch"}


@pytest.mark.parametrize(
    "words",
    [
        ("prefs", "estimate", "PATH", "--out", "o.parquet"),
        ("simulate", "--users", "PATH", "--policy", "random"),
        ("demo", "--data", "PATH"),
        ("data", "info", "PATH"),
    ],
)
def test_reading_options_reach_the_reader(refuse, monkeypatch, tmp_path, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "test.txt").write_text("0 qid:1 0:1\n")
    monkeypatch.setattr("ltr_duel.data.load_dataset", lambda path, **options: seen.update(options) or fail())

    def fail():
        raise InputError("enough")

    seen: dict = {}
    given = ("--fill", "min", "--labels", "round", "--split", "test", "--features", 5, "--first-id", 0, "--no-cache")
    refuse("enough", *("odd" if word == "PATH" else word for word in words), *given)
    settings = {"fill": "min", "labels": "round", "features": 5, "first_id": 0}
    assert seen == {"split": "test", "fold": None, "cache": False, **settings}


def test_the_list_of_figures_fits_100_columns(succeed):
    lines = succeed("reproduce", "--list").splitlines()
    assert len(lines) > 10 and max(map(len, lines)) <= 100


PLAIN = """
    budget, clicks, comparisons, confidence, corpus, corpus sha256, difference, direction, documents,
    first, fitted, high, interval, iterations, log-likelihood, losses, margin, mean, measure, method parameters, model,
    outcome, pair, parameters, queries, ranker, rankers, repetitions, runs, second, seed, simulations, source,
    low, ties, top, users, versions, wins
"""  # need no entry: heads of tables, and settings
MAKES_ROWS = "_table$|_row$|^_head$|^_one_look$|^_any_time$"


def heads_of_outputs():
    """Yield the heads of tables in functions and pages, and the settings of advice and matrices."""
    folder = Path(package.__file__).parent
    for floor in ("advice", "analysis", "cli", "clicks", "logs", "simulation"):
        for path in folder.glob(f"{floor}/**/*.py"):
            for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                named = isinstance(function, ast.FunctionDef) and re.search(MAKES_ROWS, function.name)
                if named and ast.unparse(function.returns) in ("pd.DataFrame", "dict[str, str]"):
                    keys = (key for node in ast.walk(function) if isinstance(node, ast.Dict) for key in node.keys)
                    yield from (key.value for key in keys if isinstance(key, ast.Constant))
    for path in folder.rglob("*.html"):
        yield from re.findall(r"<th>([^<{]+)", path.read_text(encoding="utf-8"))
    rankings = feature_rankers(make_corpus(queries=4, documents=4, features=3))
    yield from estimate_preferences(rankings, clicks="perfect", comparisons=50).provenance
    yield from advise(rankings, budget=100, clicks="perfect", margin=1).settings


def test_the_glossary_has_each_head_of_a_table_and_each_setting_that_outputs_write():
    page = GLOSSARY.read_text(encoding="utf-8").casefold()
    entries = {word.strip() for row in re.findall(r"^\| (.*?) \|", page, re.M) for word in row.split(",")}
    plain = {word.strip() for word in PLAIN.split(",")}
    heads = {head.replace("_", " ").casefold() for head in heads_of_outputs()} - {"", "a", "b"}
    words = {head.partition(",")[0] for head in heads}
    assert sorted(word for word in words if not {word, word + "s", word.removesuffix("s")} & (entries | plain)) == []


def test_the_glossary_has_the_words_of_outputs(succeed):
    printed = succeed("prefs", "show", "arith51", "--explain") + succeed("power", "--help")
    glossary = GLOSSARY.read_text(encoding="utf-8").casefold()
    for word in (
        "Borda",
        "Copeland",
        "Condorcet winner",
        "von Neumann",
        "top cycle",
        "Strong transitivity",
        "mean outcome",
    ):
        assert word.casefold() in printed.casefold() and word.casefold() in glossary, word
    rules = {rule for method in METHODS for rule in method.outcomes}
    rules |= {"incumbent", "gamma_btm", "even pair", "p(winner)", "identification time", "e-value"}
    assert [rule for rule in rules if rule not in glossary] == []
