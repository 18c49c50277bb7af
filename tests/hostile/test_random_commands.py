"""Random commands with random options on random files: no input leads to a traceback."""

from __future__ import annotations

import contextlib
import io
import os
import random
import shutil
import warnings
from pathlib import Path
from unittest import mock

import click
import numpy as np
import pytest

from ltr_duel.bandits import POLICIES
from ltr_duel.cli.main import cli, main
from ltr_duel.experiment import make_schedule, run_experiment
from ltr_duel.preferences import load_preferences, save_preferences
from tests.hostile.commands import FILES

LEFT_OUT = {("data", "fetch"), ("data", "cache"), ("serve",)}  # the network, the cache, a command that does not end


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
SMALL = {"--horizon", "--repetitions", "--comparisons", "--impressions", "--pairs", "--at-most", "--jobs", "--budget"}
_WORDS = """
rucb mdb rucb:alpha=1 rucb:alpha=x rubc all: random_slate navigational navigationl probabilistic balanced sosm
team_draft:x=1 features features:9 1 run:run.trec scores:m.csv a=features:1 NDCG@10 ERR@3 average
marginal_sign min 0.5 a,b b=c 3/2 claims 2,3 letor , : = - --
"""
WORDS = [*_WORDS.split(), *NUMBERS, " ", "a\nb", "x" * 300, "\udcff", "é\u0301\u202e"]
_NAMES = """
small.txt m.csv m.parquet m.npy spec.toml other.toml run.trec store store/runs folder mine.py qrels:small.txt absent .
new new/deep folder/other.txt/x /dev/null /proc/nope arxiv loop new.csv new.png
"""
NAMES = [*_NAMES.split(), "", "x" * 300]
# Valid values of options and arguments. Most words are valid, because otherwise every command would fail early.
RIGHT = {
    "--policy": "rucb mdb:alpha=0.6 random", "--clicks": "perfect navigational", "--method": "balanced",
    "--slates": "sosm", "--ties": "shared file", "--measure": "NDCG@10 MAP", "--regret": "copeland",
    "--rankers": "features 2", "--scale": "quick", "--data": "small.txt", "--users": "small.txt", "--plugin": "mine.py",
    "--shard": "1/2", "--backend": "threads", "--accuracy": "0.9", "--least-gap": "0", "--outcome": "sign",
    "--against": "1", "--until-winner": "0.9", "--target-error": "0.2", "--out": "new new.csv", "--dialect": "letor",
    "--top": "3 10", "--fill": "0", "--features": "3", "--labels": "round", "--jobs": "1", "names": "rucb balanced",
    "file": "m.csv m.parquet m.npy arxiv", "a": "m.csv", "b": "m.npy", "path": "small.txt", "spec": "spec.toml",
    "folder": "store",
}  # fmt: skip


def value_of(param: click.Parameter, draw: random.Random) -> str:
    """Return a value that is usually valid."""
    name = str(param.name if isinstance(param, click.Argument) else param.opts[-1])
    valid = RIGHT[name].split() if name in RIGHT else getattr(param.type, "choices", None) or ["1", "2", "20"]
    if name != "--jobs" and draw.random() < 0.1:
        valid = NAMES if isinstance(param.type, click.Path) else WORDS
    return str(draw.choice(list(valid)))


def command_line(draw: random.Random) -> list[str]:
    path = draw.choice(sorted(COMMANDS))
    words = list(path)
    for param in COMMANDS[path].params:
        for _ in range(draw.randint(0, 2) if param.multiple or param.nargs == -1 else 1):
            if isinstance(param, click.Argument):
                words += [value_of(param, draw)] * (draw.random() < 0.95)
            elif param.required or param.opts[-1] in SMALL or draw.random() < 0.25:
                words += [param.opts[-1], *[value_of(param, draw)] * (not getattr(param, "is_flag", False))]
    return words + [draw.choice(WORDS)] * (draw.random() < 0.1)


@pytest.fixture
def template(tmp_path, monkeypatch) -> Path:
    """A folder with a valid file of each kind, and a store of results; policies of other tests are unloaded."""
    POLICIES.names()
    own = {name: item for name, item in POLICIES._items.items() if item.init.__module__.startswith("ltr_duel.")}
    monkeypatch.setattr(POLICIES, "_items", own)
    folder = tmp_path / "template"
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


def damage(folder: Path, draw: random.Random) -> None:
    """Change some bytes of a file."""
    path = draw.choice([path for path in sorted(folder.rglob("*")) if path.is_file()])
    content, start = path.read_bytes(), draw.randint(0, path.stat().st_size)
    path.write_bytes(content[:start] + draw.randbytes(draw.randint(0, 8)) + content[start + draw.randint(0, 30) :])


def check_some(template: Path, first: int, number: int) -> None:
    """Run random commands, each in a copy of the template, with seeds from ``first``."""
    for seed in range(first, first + number):
        draw, folder, err = random.Random(seed), template.with_name("work"), io.StringIO()
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(template, folder, symlinks=True)
        words = command_line(draw)
        if draw.random() < 0.5:
            damage(folder, draw)
        with (
            contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err),
            mock.patch("sys.stdin", io.StringIO()), mock.patch("os._exit", side_effect=SystemExit),
            mock.patch.dict(os.environ, {"LTR_DUEL_PROGRESS": "0"}), pytest.raises(SystemExit) as stop,
            warnings.catch_warnings(action="ignore"),
        ):  # fmt: skip
            main(*words)
        code, text = stop.value.code or 0, err.getvalue()
        assert code in (0, 1, 2) and "Traceback" not in text, (seed, words, text)
        assert code != 2 or text.splitlines()[-1].startswith("ltr-duel: "), (seed, words, text)


def test_no_traceback_in_a_hundred_commands(template):
    check_some(template, 0, 100)


@pytest.mark.long
def test_no_traceback_in_five_thousand_commands(template):
    check_some(template, 1000, 5000)
