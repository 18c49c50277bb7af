"""``ltr-duel data list, check, cache``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ltr_duel.cli.data import command
from ltr_duel.core.errors import InputError
from ltr_duel.data.corpora.catalogue import CORPORA
from ltr_duel.data.store.convert import convert
from ltr_duel.data.synthetic import make_corpus
from ltr_duel.data.text.reading import Naming
from ltr_duel.data.text.write import write_svmlight
from tests.data.test_reading import SHARED, needs_real_files


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LTR_DUEL_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(command, [str(w) for w in words], catch_exceptions=False)


def test_list_names_every_corpus_and_what_is_converted(tmp_path: Path) -> None:
    file = write_svmlight(make_corpus(queries=3, features=4, grades=3), tmp_path / "a.txt")
    convert(file, naming=Naming("a", corpus="mq2007"))
    lines = run("list").output.splitlines()
    rows = {line.split()[0]: line for line in lines[1:] if not line.startswith(" ")}
    assert set(rows) == set(CORPORA)
    assert " yes " in rows["mq2007"] and " no " in rows["mq2008"]


def test_list_leaves_out_what_is_damaged(tmp_path: Path) -> None:
    folder = convert(write_svmlight(make_corpus(queries=3, features=4), tmp_path / "a.txt"))
    (folder / "corpus.json").write_bytes(bytes(400))
    assert run("list").exit_code == 0


def test_the_cache_is_listed_with_its_size(tmp_path: Path, own_home: Path) -> None:
    file = write_svmlight(make_corpus(queries=3, features=4), tmp_path / "a.txt")
    folder = convert(file)
    assert folder.parent == own_home / "corpora" and folder.is_dir()
    listed = run("cache").output
    assert str(own_home) in listed and "corpora          1" in listed
    assert f"converted  corpora/{folder.name}\n" in listed


def test_clear_frees_everything_after_asking(tmp_path: Path, own_home: Path) -> None:
    convert(write_svmlight(make_corpus(queries=3, features=4), tmp_path / "a.txt"))
    assert CliRunner().invoke(command, ["cache", "--clear"], input="n\n").exit_code == 1
    assert (own_home / "corpora").is_dir()
    assert run("cache", "--clear", "--yes").output.startswith("freed ")
    assert not (own_home / "corpora").exists()


def test_cache_lists_what_a_killed_process_left_and_deletes_nothing_without_an_answer(own_home: Path) -> None:
    (own_home / "corpora" / ".mq2008.tmp").mkdir(parents=True)
    (own_home / "corpora" / ".mq2008.tmp" / "half").write_bytes(bytes(3_000_000))
    assert "Unfinished entries: 1 (3.0 MB), of commands that are still writing or were killed" in run("cache").output
    program = [sys.executable, "-c", "from ltr_duel.cli.main import main; main()", "data", "cache", "--clear"]
    done = subprocess.run(program, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 2 and "--yes deletes without confirmation" in done.stderr
    assert run("cache", "--clear", "--yes").output == "freed 3.0 MB\n" and "unfinished" not in run("cache").output


def test_a_wrong_limit_is_refused_before_anything_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LTR_DUEL_CACHE_GB", "much")
    result = CliRunner().invoke(command, ["cache"])
    assert isinstance(result.exception, InputError) and result.output == ""


def test_check_goes_on_after_a_bad_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(
        "0 qid:1 1:1 2:1 #docid = a\n0 qid:1 1:x 2:1 #docid = b\n0 qid:2 1:1 #docid = c\n0.5 qid:1 1:1 2:1 #docid = d\n"
    )
    result = CliRunner().invoke(command, ["check", str(tmp_path / "a.txt")])
    assert isinstance(result.exception, InputError)
    for sentence in (
        "a.txt:2:11: feature value 'x'",
        "a.txt:3: the last feature is 1, but it is 2 on the first line",
        "a.txt:4: query '1' appears again after other queries; the lines of a query must be adjacent",
        "a.txt:4: label 0.5 is not a whole number",
    ):
        assert sentence in result.output


def test_check_says_when_a_checksum_differs(tmp_path: Path) -> None:
    folder = tmp_path / "MSLR-WEB10K" / "Fold1"
    folder.mkdir(parents=True)
    write_svmlight(make_corpus(queries=3, features=136, doc_ids=False), folder / "test.txt")
    with pytest.raises(InputError, match=r"checksum differs from the published mslr-web10k Fold1/test\.txt"):
        run("check", folder)


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
