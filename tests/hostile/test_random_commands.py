"""Random commands with random options on random files: no input leads to a traceback."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
from pathlib import Path
from unittest import mock

import click
import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import given as tried_with
from hypothesis import strategies as st

from ltr_duel.bandits import POLICIES
from ltr_duel.cli.main import cli, main
from ltr_duel.experiment import make_schedule, run_experiment
from ltr_duel.preferences import load_preferences, save_preferences
from tests.hostile.commands import FILES

LEFT_OUT = {("data", "fetch"), ("data", "cache")}  # they use the network or the cache


def commands_in(group: click.Group, path: tuple[str, ...] = ()):
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands_in(command, (*path, name))
        elif (*path, name) not in LEFT_OUT:
            yield (*path, name), command


COMMANDS = dict(commands_in(cli))

# Valid numbers are small, so that valid commands are fast.
NUMBERS = ["1", "2", "3", "20", "0", "-1", "1.5", "1e1", "nan", "inf", "-inf", "1e30", "x", "", "9" * 400, "1_0", "٣"]
SMALL = {"--horizon", "--repetitions", "--comparisons", "--multileavings", "--impressions", "--pairs", "--at-most"}
_WORDS = """
rucb mdb rucb:alpha=1 rucb:alpha=x rubc all: random_slate navigational perfect navigationl probabilistic balanced sosm
team_draft:x=1 features features:1,2 features:9 1 run:run.trec scores:m.csv a=features:1 NDCG@10 ERR@3
MAP fixed_random shared file average copeland png svg sd none marginal_sign min 0.5 a,b a b=c 1/2 3/2
threads claims quick 3 2,3 letor , : = - --
"""
WORDS = [*_WORDS.split(), "", " ", "a\nb", "x" * 300, "\udcff", "é\u0301\u202e"]
_NAMES = """
small.txt m.csv m.parquet m.npy spec.toml other.toml run.trec store store/runs folder mine.py qrels:small.txt absent .
new new/deep folder/other.txt/x /dev/null /proc/nope arxiv loop new.csv new.png
"""
NAMES = [*_NAMES.split(), "", "x" * 300]
# Valid values of options and arguments. Most words are valid, because otherwise every command would fail early.
CORPORA, MATRICES, STORES = ("small.txt",), ("m.csv", "m.parquet", "m.npy", "arxiv"), ("store",)
RIGHT = {
    "--policy": ("rucb", "mdb:alpha=0.6", "random"), "--clicks": ("perfect", "navigational"),
    "--method": ("balanced",), "--slates": ("sosm",), "--ties": ("shared", "file"), "--measure": ("NDCG@10", "MAP"),
    "--regret": ("copeland",), "--rankers": ("features", "2"), "--sizes": ("2", "2,3"), "--scale": ("quick",),
    "--data": CORPORA, "--users": CORPORA, "--experiments": ("folder",), "--plugin": ("mine.py",),
    "--shard": ("1/2",), "--corpus": ("mq2008",),
    "--backend": ("threads",), "--accuracy": ("0.9",), "--least-gap": ("0",), "--outcome": ("sign",),
    "--sets": ("independent-coins",), "--against": ("1",), "--target-error": ("0.2",),
    "--out": ("new",),
    "--variance-reduction": ("none",), "--rename": ("a=z",), "--dialect": ("letor",),
    "--csv": ("new.csv",), "--top": ("3", "10"), "--rows": ("2",), "--sample": ("1",), "--size": ("2",),
    "--fill": ("0",), "--latex": ("new.tex",), "--plots": ("new",), "--features": ("3",),
    "--labels": ("round",), "names": ("perfect", "rucb", "balanced"), "file": MATRICES,
    "path": CORPORA, "a": MATRICES, "b": MATRICES, "spec": ("spec.toml",), "folder": STORES,
}  # fmt: skip
MUTATED = ["small.txt", "m.csv", "m.parquet", "m.npy", "spec.toml", "run.trec", "*run*", "*problem*", "*study*"]


@st.composite
def command_lines(draw) -> list[str]:
    path = draw(st.sampled_from(sorted(COMMANDS)))
    words = list(path)
    for param in COMMANDS[path].params:
        for _ in range(draw(st.integers(0, 2)) if param.multiple or param.nargs == -1 else 1):
            value = draw(values(param) if draw(st.integers(0, 9)) == 0 else right_values(param))
            if isinstance(param, click.Argument):
                words += [value] if draw(st.integers(0, 19)) else []
            elif param.required or param.opts[0] in SMALL | {"--jobs"} or draw(st.integers(0, 3)) == 0:
                words += [param.opts[0]] if getattr(param, "is_flag", False) else [param.opts[0], value]
    return words + ([] if draw(st.integers(0, 9)) else [draw(st.sampled_from(WORDS))])


def right_values(param: click.Parameter) -> st.SearchStrategy[str]:
    name = param.name if isinstance(param, click.Argument) else param.opts[0]
    if name == "--jobs":
        return st.just("1")
    known = RIGHT.get(str(name)) or getattr(param.type, "choices", None)
    return st.sampled_from(list(known)) if known else st.sampled_from(["1", "2", "20"])


def values(param: click.Parameter) -> st.SearchStrategy[str]:
    if param.opts[0] == "--jobs":
        return st.sampled_from(["1", "1", "1", "0", "1e9"])
    if isinstance(param.type, click.Path):
        return st.sampled_from(NAMES)
    numeric = not isinstance(param.type, click.types.StringParamType | click.Choice)
    usual, others = (NUMBERS, WORDS) if numeric else (WORDS, NUMBERS)
    return st.sampled_from([*usual, *usual, *others]) | st.text(max_size=12)


mutations = st.none() | st.tuples(
    st.sampled_from(MUTATED),
    st.integers(0, 3000),
    st.integers(0, 30),
    st.binary(max_size=8) | st.sampled_from([b"1e999", b"\n\n"]),
)


@pytest.fixture(autouse=True)
def no_policies_of_other_tests(monkeypatch):
    """Unload policies of other tests that fail or never end, because a command for all policies would run them."""
    POLICIES.names()
    own = {name: item for name, item in POLICIES._items.items() if item.init.__module__.startswith("ltr_duel.")}
    monkeypatch.setattr(POLICIES, "_items", own)


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Path:
    """A folder with a valid file of each kind, and a store of results."""
    folder = tmp_path_factory.mktemp("template") / "files"
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    matrix = load_preferences(folder / "m.csv")
    save_preferences(matrix, folder / "m.parquet")
    np.save(folder / "m.npy", matrix.p)
    (folder / "run.trec").write_text("0 Q0 D1 1 2.5 mine\n0 Q0 D2 2 1.5 mine\n")
    (folder / "mine.py").write_text("raise ValueError('no')\n")
    (folder / "loop").symlink_to("loop")
    run_experiment(make_schedule(folder / "spec.toml"), folder / "store")
    return folder


def check_some(template: Path, folder: Path, examples: int, *, repeatable: bool) -> None:
    """Run the given number of random commands in a copy of the template."""

    @settings(
        max_examples=examples, deadline=None, database=None, derandomize=repeatable,
        suppress_health_check=list(HealthCheck), print_blob=False,
    )  # fmt: skip
    @tried_with(command_lines(), mutations)
    def check(words, mutation):
        place = folder / "work"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(template, place, symlinks=True)
        mutate(place, mutation)
        with contextlib.chdir(place):
            code, err = typed(words)
        assert code in (0, 1, 2), err
        assert "Traceback" not in err
        if code == 2:
            assert err.splitlines()[-1].startswith("ltr-duel: "), err

    check()


def mutate(folder: Path, mutation) -> None:
    if mutation is None:
        return
    name, start, length, new = mutation
    if name.startswith("*"):
        found = {
            "*run*": sorted(folder.glob("store/runs/*")),
            "*problem*": sorted(folder.glob("store/problems/*")),
            "*study*": sorted(folder.glob("store/studies/*")),
        }[name]
        path = found[start % len(found)]
    else:
        path = folder / name
    content = path.read_bytes()
    start %= len(content) + 1
    path.write_bytes(content[:start] + new + content[start + length :])


def typed(words: list[str]) -> tuple[object, str]:
    """Run the command; only `SystemExit` may be raised."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch("sys.stdin", io.StringIO()),
        mock.patch("os._exit", lambda code: (_ for _ in ()).throw(SystemExit(code))),
        mock.patch.dict(os.environ, {"LTR_DUEL_PROGRESS": "0"}),
    ):
        try:
            main(*words)
        except SystemExit as stop:
            return stop.code or 0, err.getvalue()
    raise AssertionError("the command did not end by an exit code")


def test_no_traceback_in_a_hundred_commands(template, tmp_path):
    check_some(template, tmp_path, 100, repeatable=True)


@pytest.mark.long
def test_no_traceback_in_five_thousand_commands(template, tmp_path):
    check_some(template, tmp_path, 5000, repeatable=False)
