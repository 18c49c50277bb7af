"""Interrupts of every long command, and errors of plug-ins."""

from __future__ import annotations

import io
import os
import re
import signal
from contextlib import nullcontext

import pytest

from ltr_duel.cli import _signals
from ltr_duel.cli._output import end
from ltr_duel.core.progress import PlainLine
from ltr_duel.data import make_corpus, write_svmlight
from ltr_duel.experiment.progress import Progress
from ltr_duel.preferences import save_preferences, synthetic_preferences
from tests.experiment.conftest import AWKWARD, matrix_spec

# Each command is interrupted after the first of several tasks.
LONG = {
    "simulate": "simulate matrix.parquet --policy mdb --sets independent-coins --repetitions 40 --horizon 50 --out out",
    "estimate": "prefs estimate corpus.txt --comparisons 100 --out out/matrix.parquet",
    "sensitivity": "sensitivity corpus.txt --pairs 3 --impressions 20 --repetitions 4 --out out",
    "run": "run spec.toml --out store",
    "reproduce": "reproduce beat_the_mean_figure_1 --out store",
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Work in a folder with input; let a command end normally even if threads run; restore the signal handlers."""
    write_svmlight(make_corpus(queries=8, documents=6, features=8, grades=2), tmp_path / "corpus.txt")
    save_preferences(synthetic_preferences("arithmetic"), tmp_path / "matrix.parquet")
    (tmp_path / "spec.toml").write_text(matrix_spec(["mdb"], repetitions=40, horizon=50))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ltr_duel.core.parallel.abandoned_threads_run", lambda: False)
    monkeypatch.setattr(_signals, "_received", [])
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield tmp_path
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("name", LONG)
def test_every_long_command_ends_tidily_and_what_was_done_is_kept(name, here, ltr_duel, succeed, monkeypatch):
    number, code, word = (
        (signal.SIGTERM, 143, "terminated") if name in ("run", "simulate") else (signal.SIGINT, 130, "interrupted")
    )
    with monkeypatch.context() as patch:
        patch.setattr(PlainLine, "due", lambda self: signal.raise_signal(number))
        patch.setattr(Progress, "show", lambda self, finished: signal.raise_signal(number))
        answer = ltr_duel(*LONG[name].split())
    assert answer.code == code and answer.err.rstrip().endswith(f"ltr-duel: {word}"), answer.err
    assert not (here / "out" / "matrix.parquet").exists() and not list((here / "out").glob("*.p*t"))
    assert not [path for path in here.rglob(".*") if path.is_file()]
    if "store" in LONG[name]:
        assert "the same command resumes from here" in answer.err and not [*here.glob("store/**/claims/*")]
    if name == "run":
        shown = succeed(*LONG["run"].split())
        assert re.search(r"40 runs planned: (\d+) done now, (?!0)\d+ already done", shown), shown


def test_an_error_after_an_interrupt_is_its_consequence(here, ltr_duel, monkeypatch):
    def fail(self):
        _signals._received.append(signal.SIGINT)
        raise RuntimeError("no compiled object yet")

    monkeypatch.setattr(PlainLine, "due", fail)
    answer = ltr_duel(*LONG["simulate"].split())
    assert (answer.code, answer.err) == (130, "ltr-duel: interrupted\n")


@pytest.mark.parametrize(("running", "at_once"), [(False, False), (True, False), (False, True)])
def test_python_is_not_shut_down_while_abandoned_threads_run(running, at_once, monkeypatch):
    codes, printed = [], io.BytesIO()
    monkeypatch.setattr("ltr_duel.core.parallel.abandoned_threads_run", lambda: running)
    monkeypatch.setattr(os, "_exit", codes.append)
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(printed))
    print("text", end="")
    skips = running or at_once
    with nullcontext() if skips else pytest.raises(SystemExit, match=r"^3$"):
        end(3, at_once=at_once)
    assert codes == [3] * skips and printed.getvalue() == b"text" * skips


RAISES = AWKWARD.replace('make("dies", lambda: os._exit(3))', "")
RAISES = RAISES.replace("seconds: float = 0.02", "seconds: float = 0.0")  # no delay in the 600 runs of `check`
EXITS = RAISES.replace('raise ArithmeticError("the sum of the parts")', "raise SystemExit(0)")


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [("raises", RAISES, "ArithmeticError: the sum of the parts"), ("exits", EXITS, "SystemExit: 0")],
)
def test_a_policy_that_raises_or_exits_is_named_with_its_file(name, content, error, here, ltr_duel, tmp_path):
    file, policy = tmp_path / f"{name}.py", f"fails_{name}:share=1,seconds=0"
    file.write_text(re.sub(r'make\("(\w+)"', rf'make("\1_{name}"', content))
    words = ("simulate", "matrix.parquet", "--plugin", file, "--policy", policy, "--out", tmp_path / "out")
    answer = ltr_duel(*words, "--horizon", "5", "--repetitions", "2")
    assert answer.code == 2 and re.fullmatch(rf"ltr-duel: \S+{name}.py:\d+: fail raised {error}\n", answer.err)
    assert not (tmp_path / "out").exists()
    answer = ltr_duel("check", file)
    assert answer.code == 1 and f"{name}.py:" in answer.out and error in answer.out
