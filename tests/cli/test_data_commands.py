"""``ltr-duel data list, check, cache``."""

from __future__ import annotations

import gzip
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ltr_duel.cli.data import command
from ltr_duel.core import InputError
from ltr_duel.data import CORPORA, load, load_dataset, make_corpus, write_svmlight
from tests.data.test_text import SHARED, needs_real_files


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LTR_DUEL_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(command, [str(w) for w in words], catch_exceptions=False)


def test_list_names_every_corpus_and_whether_it_was_fetched(own_home: Path) -> None:
    (own_home / "corpora" / "mq2007").mkdir(parents=True)
    (own_home / "corpora" / "mq2007" / "corpus-mq2007").touch()
    rows = {line.split()[0]: line for line in run("list").output.splitlines()[1:] if not line.startswith(" ")}
    assert set(rows) == set(CORPORA)
    assert " yes " in rows["mq2007"] and " no " in rows["mq2008"]


def test_the_cache_is_listed_and_cleared_after_asking(
    tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "KEPT_AFTER", 0.0)
    load_dataset(write_svmlight(make_corpus(queries=3, features=4), tmp_path / "a.txt"))
    (folder,) = (own_home / "corpora").iterdir()
    listed = run("cache").output
    assert listed.startswith(f"{own_home}: 0.0 MB. Above 30 GB") and f"  corpora/{folder.name}\n" in listed
    assert CliRunner().invoke(command, ["cache", "--clear"], input="n\n").exit_code == 1 and folder.is_dir()
    result = CliRunner().invoke(command, ["cache", "--clear"], input="")
    assert isinstance(result.exception, InputError) and "--yes deletes without" in str(result.exception)
    assert run("cache", "--clear", "--yes").output.startswith("freed ") and not folder.exists()


def test_a_wrong_limit_is_refused_before_anything_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LTR_DUEL_CACHE_GB", "much")
    result = CliRunner().invoke(command, ["cache"])
    assert isinstance(result.exception, InputError) and result.output == ""


def test_check_says_when_a_checksum_differs(tmp_path: Path) -> None:
    folder = tmp_path / "MSLR-WEB10K" / "Fold1"
    folder.mkdir(parents=True)
    write_svmlight(make_corpus(queries=3, features=136, doc_ids=False), folder / "test.txt")
    with pytest.raises(InputError, match=r"checksum differs from the published mslr-web10k Fold1/test\.txt"):
        run("check", folder)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_check_knows_a_published_file_by_its_bytes_or_its_text(tmp_path: Path, pack, monkeypatch) -> None:
    text = b"0 qid:1 1:1 2:3\n1 qid:2 1:5 2:4"
    (tmp_path / "a.txt").write_bytes(pack(text))
    names = {hashlib.sha256(text).hexdigest(): ["some a.txt"]}
    monkeypatch.setattr("ltr_duel.data.check.published", lambda: names)
    assert "a.txt: is the published some a.txt\n2 documents, 2 queries\n" in run("check", tmp_path / "a.txt").output


def test_check_compares_counts_with_the_published_ones(tmp_path: Path) -> None:
    write_svmlight(make_corpus(queries=3, features=46), tmp_path / "a.txt")
    with pytest.raises(InputError, match="mq2008: 3 queries found, 784 published"):
        run("check", tmp_path / "a.txt", "--corpus", "mq2008")


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
        f"ltr-duel: {tmp_path}/a.txt:1:13: feature 1 occurs twice on this line; each id may occur once;"
        " --repeated last uses the last value\n"
    )


@needs_real_files
def test_check_knows_the_real_mq2008() -> None:
    output = run("check", SHARED / "MQ2008" / "Fold1", "--corpus", "mq2008").output
    assert "no published checksum" in output and output.endswith("no problems found\n")
