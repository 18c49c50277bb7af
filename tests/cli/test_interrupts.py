"""Interrupts of every long command, errors of plug-ins, and two processes that write to one path."""

from __future__ import annotations

import io
import os
import re
import signal
import time
from contextlib import nullcontext

import pytest

from ltr_duel.cli import _signals
from ltr_duel.cli._output import end
from ltr_duel.cli.main import main
from ltr_duel.core.files import sole_writer
from ltr_duel.core.progress import PlainLine
from ltr_duel.data import make_corpus, write_svmlight
from ltr_duel.experiment.progress import Progress
from ltr_duel.preferences import save_preferences, synthetic_preferences
from tests.experiment.conftest import AWKWARD, matrix_spec

SPEC = matrix_spec(["mdb"], repetitions=40, horizon=50)

# Each command is interrupted after the first of several tasks.
LONG = {
    "demo": "demo --data corpus.txt --comparisons 100 --horizon 100 --out out",
    "simulate": "simulate matrix.parquet --policy mdb --sets independent-coins --repetitions 40 --horizon 50 --out out",
    "estimate": "prefs estimate corpus.txt --comparisons 100 --out out/matrix.parquet",
    "sensitivity": "sensitivity corpus.txt --pairs 3 --impressions 20 --repetitions 4 --out out",
    "run": "run spec.toml --out store",
    "reproduce": "reproduce beat_the_mean_figure_1 --out store",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Make a folder with the input of the commands."""
    folder = tmp_path_factory.mktemp("long")
    write_svmlight(make_corpus(queries=8, documents=6, features=8, grades=2), folder / "corpus.txt")
    save_preferences(synthetic_preferences("arithmetic"), folder / "matrix.parquet")
    (folder / "spec.toml").write_text(SPEC)
    (folder / "awkward.py").write_text(AWKWARD)
    return folder


@pytest.fixture
def here(place, monkeypatch):
    """Work in this folder; let a command end normally even if threads are running; restore the signal handlers."""
    monkeypatch.chdir(place)
    monkeypatch.setattr("ltr_duel.core.parallel.abandoned_threads_run", lambda: False)
    monkeypatch.setattr("ltr_duel.cli._signals._heard", [])
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield place
    for number, handler in before.items():
        signal.signal(number, handler)


def ended(capsys, *words):
    """Run a command; return its exit code and its output."""
    with pytest.raises(SystemExit) as stop:
        main(*words)
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    return stop.value.code, said.out, said.err


@pytest.mark.parametrize(
    "number, code, word", [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
@pytest.mark.parametrize("name", LONG)
def test_every_long_command_ends_tidily(name, number, code, word, here, capsys, monkeypatch):
    def interrupt(self):
        signal.raise_signal(number)

    monkeypatch.setattr(PlainLine, "due", interrupt)
    monkeypatch.setattr(Progress, "show", lambda self, finished: interrupt(self))
    found, _, err = ended(capsys, *LONG[name].split())
    assert found == code and err.rstrip().endswith(f"ltr-duel: {word}"), err
    assert not (here / "out").exists() and not [path for path in here.rglob(".*") if path.is_file()]
    if (here / "store").exists():
        assert "the same command resumes from here" in err
        assert not [*here.glob("store/**/claims/*")]


@pytest.mark.parametrize(
    "at_once, running, codes",
    [(False, False, []), (False, True, [3]), (True, False, [3])],
    ids=["tidy", "runs", "told"],
)
def test_python_is_not_shut_down_while_abandoned_threads_run(at_once, running, codes, monkeypatch):
    ended_at_once, printed = [], io.BytesIO()
    monkeypatch.setattr("ltr_duel.core.parallel.abandoned_threads_run", lambda: running)
    monkeypatch.setattr(os, "_exit", ended_at_once.append)
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(printed))
    print("said", end="")
    with nullcontext() if codes else pytest.raises(SystemExit, match=r"^3$"):
        end(3, at_once=at_once)
    assert ended_at_once == codes and printed.getvalue() == (b"said" if codes else b"")


def test_what_was_done_before_an_interrupt_is_kept(here, capsys):
    code, out, _ = ended(capsys, "run", "spec.toml", "--out", "store")
    assert code == 0 and re.search(r"40 runs planned: (\d+) done now, (?!0)\d+ already done", out), out


def test_a_second_process_is_told_that_a_place_is_taken(here, capsys):
    for name in LONG:
        if name in ("run", "reproduce"):  # stores are shared, and figures go into them
            continue
        words = LONG[name].split()
        with sole_writer(words[words.index("--out") + 1]):
            code, _, err = ended(capsys, *words, "--overwrite")
        said = r"ltr-duel: \S+: another process is writing there; wait until it is done.*\n"
        assert code == 2 and re.fullmatch(said, err), err
    with sole_writer("out"), sole_writer("other"):
        pass


RAISES = AWKWARD.replace('make("dies", lambda: os._exit(3))', "")
RAISES = RAISES.replace("seconds: float = 0.02", "seconds: float = 0.0")  # no delay in the 600 runs of `check`
EXITS = RAISES.replace('raise ArithmeticError("the sum of the parts")', "raise SystemExit(0)")


@pytest.mark.parametrize(
    "content, said",
    [
        ("import sys\nsys.exit(0)\n", "SystemExit: 0"),
        ("1 / 0\n", "ZeroDivisionError: division by zero"),
        ("def f(:\n", "SyntaxError"),
        ("raise BaseException('odd')", "BaseException: odd"),
    ],
)
def test_a_plug_in_that_cannot_be_loaded_is_named(content, said, here, capsys):
    (here / "bad.py").write_text(content)
    for words in (("list", "policies", "--plugin", "bad.py"), ("check", "bad.py")):
        code, _, err = ended(capsys, *words)
        assert code == 2 and err.startswith("ltr-duel: ") and f"bad.py: {said}" in err and err.count("\n") == 1, err


@pytest.mark.parametrize(
    "name, content, said",
    [("raises", RAISES, "ArithmeticError: the sum of the parts"), ("exits", EXITS, "SystemExit: 0")],
)
def test_a_policy_that_raises_or_exits_is_named_with_its_file(name, content, said, here, capsys, tmp_path):
    file, policy = tmp_path / f"{name}.py", f"fails_{name}:share=1,seconds=0"
    file.write_text(re.sub(r'make\("(\w+)"', rf'make("\1_{name}"', content))
    words = ("simulate", "matrix.parquet", "--plugin", str(file), "--policy", policy, "--out", str(tmp_path / "out"))
    code, _, err = ended(capsys, *words, "--horizon", "5", "--repetitions", "2")
    where = rf"\S+{name}.py:\d+: fail raised {said}\n"
    assert code == 2 and re.fullmatch(rf"ltr-duel: {where}", err), err
    assert not (tmp_path / "out").exists()
    (tmp_path / "spec.toml").write_text(matrix_spec([policy], repetitions=2))
    words = ("run", str(tmp_path / "spec.toml"), "--plugin", str(file), "--out", str(tmp_path / "store"))
    code, out, _ = ended(capsys, *words)
    assert code == 1 and "2 failed" in out
    code, out, _ = ended(capsys, "status", str(tmp_path / "store"))
    assert code == 1 and said in out
    code, out, _ = ended(capsys, "check", str(file))
    assert code == 1 and re.search(rf"{name}.py:\d+: .*policy.*|policy .*{name}.py:\d+: ", out) and said in out, out


def test_an_interrupt_that_a_compiler_swallows_comes_again(here, capsys, monkeypatch):
    """For example in ctypes, an error in a callback is printed and does not reach the caller."""

    class Callback:
        def __del__(self):
            signal.raise_signal(signal.SIGTERM)

    def swallow(self):
        if len(_signals._heard) == 0:
            Callback()
        time.sleep(5)

    monkeypatch.setattr(PlainLine, "due", swallow)
    code, _, err = ended(capsys, *LONG["simulate"].split())
    assert code == 143 and "Exception ignored" not in err
    monkeypatch.setattr(_signals, "_heard", [])

    def fail(self):
        _signals._heard.append(signal.SIGINT)
        raise RuntimeError("no compiled object yet")

    monkeypatch.setattr(PlainLine, "due", fail)
    code, _, err = ended(capsys, *LONG["simulate"].split())
    assert (code, err) == (130, "ltr-duel: interrupted\n")
