"""``ltr-duel list corpora, check, cache``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ltr_duel.cli.data import command
from ltr_duel.core import InputError
from ltr_duel.data import CORPORA, load, load_dataset, make_corpus, write_svmlight


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LTR_DUEL_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(command, [str(w) for w in words], catch_exceptions=False)


def test_list_names_every_corpus_and_whether_it_was_fetched(own_home: Path, ltr_duel) -> None:
    (own_home / "corpora" / "mq2007").mkdir(parents=True)
    (own_home / "corpora" / "mq2007" / "corpus-mq2007").touch()
    for name, stored in (("mq2007", "yes"), ("mq2008", "no")):
        assert f"  stored     {stored}\n" in ltr_duel("list", "corpora", name).out
    assert ltr_duel("list", "corpora").out.endswith(f"{len(CORPORA)} in all.\n")


def test_the_cache_is_listed_and_cleared(tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "KEPT_AFTER", 0.0)
    load_dataset(write_svmlight(make_corpus(queries=3, features=4), tmp_path / "a.txt"))
    (folder,) = (own_home / "corpora").iterdir()
    listed = run("cache").output
    assert listed.startswith(f"{own_home}: 0.0 MB. Above 30 GB") and f"  corpora/{folder.name}\n" in listed
    assert run("cache", "--clear").output.startswith("freed ") and not folder.exists()


def test_a_wrong_limit_is_refused_before_anything_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LTR_DUEL_CACHE_GB", "much")
    result = CliRunner().invoke(command, ["cache"])
    assert isinstance(result.exception, InputError) and result.output == ""


def test_bad_input_is_one_sentence_and_exit_code_two(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("0 qid:1 1:1 1:2\n")
    done = subprocess.run(
        [sys.executable, "-m", "ltr_duel.cli.main", "data", "info", str(tmp_path / "a.txt")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},  # interpreted, so that nothing is compiled first
    )
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == (
        f"ltr-duel: {tmp_path}/a.txt:1:13: feature 1 occurs twice on this line; each id may occur once\n"
    )
