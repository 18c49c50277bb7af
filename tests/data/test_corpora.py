"""Each declared corpus satisfies the contract; a new corpus is one module, without edits elsewhere."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from ltr_duel.cli.data import command
from ltr_duel.core import InputError, load_plugin
from ltr_duel.data import CORPORA, Archive, check_corpus, load_dataset
from ltr_duel.data.corpora import check

PAGE = """
from ltr_duel.data import CORPORA, Archive, Corpus

CORPORA.add(
    Corpus(
        name="two-lines",
        title="A corpus of two lines",
        grades=3,
        features=4,
        dialect="svmlight",
        labels="round",
        licence="none needed",
        terms_url="https://example.org/terms",
        archives=(Archive("two.txt"),),
        obtain="Write two lines",
    )
)
"""


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LTR_DUEL_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def page(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "page.py").write_text(PAGE + f"# {tmp_path}\n")  # a file is run once in a process, by its content
    ((_, name),) = load_plugin(tmp_path / "page.py").components
    yield name
    CORPORA.remove(name)


@pytest.mark.parametrize("name", CORPORA.names())
def test_every_corpus_keeps_the_contract(name: str) -> None:
    check_corpus(name)
    assert set(CORPORA[name].facts()) == {"corpus", "queries", "documents", "features", "grades", "licence", "source"}


@pytest.mark.parametrize(
    "wrong, what",
    [
        ({"name": "MQ 2008"}, "a name consists of lower-case letters, digits and single hyphens"),
        ({"title": " "}, "title is empty"),
        ({"grades": 1}, "grades must be at least 2, not 1"),
        ({"features": 0}, "features must be at least 1, not 0"),
        ({"documents": 783}, "783 documents are too few for 784 queries"),
        ({"folds": 3}, "folds must be 1 or 5, not 3"),
        ({"archives": (Archive("a", digest="sha256:12"),)}, "'sha256:12' is neither 'sha256:' with 64"),
        ({"archives": (Archive("a", size=0),)}, "size of a must be at least 1, not 0"),
        ({"archives": (Archive("a", ("example.org/a",)),)}, "'example.org/a' is not an address such as"),
        ({"archives": (Archive("../a"),)}, "'../a' must be a path inside the archive's folder"),
        ({"terms_url": "none"}, "'none' is not an address such as"),
        ({"main_part": "/etc"}, "'/etc' must be a path inside the archive's folder"),
        ({"dialect": "leter"}, "no dialect 'leter'; did you mean 'letor'"),
        ({"labels": "all"}, "no way to read labels 'all'"),
        ({"cite": "qin2012letor"}, "no reference 'qin2012letor'; did you mean 'qin2013letor'"),
    ],
)
def test_a_declaration_that_breaks_the_contract_is_refused(wrong: dict[str, object], what: str) -> None:
    with pytest.raises(InputError, match=what):
        check_corpus(replace(CORPORA["mq2008"], **wrong))  # type: ignore[arg-type]


def test_a_page_alone_makes_a_corpus_that_every_command_knows(page: str, tmp_path: Path) -> None:
    (tmp_path / "two.txt").write_text("0.4 qid:1 1:1\n1.5 qid:2 2:1\n")
    check_corpus(page)
    words = ["fetch", page, "--accept-terms", "--archive", str(tmp_path / "two.txt"), "--folder", str(tmp_path / "c")]
    result = CliRunner().invoke(command, words, catch_exceptions=False)
    assert "read with --labels round" in result.output and "ltr-duel data info" in result.output
    (folder,) = (tmp_path / "home" / "corpora").glob("two-lines-*")
    dataset = load_dataset(folder)
    assert dataset.relevance.tolist() == [0, 2] and (dataset.n_features, dataset.grades) == (4, 3)
    listed = CliRunner().invoke(command, ["list"]).output
    assert any(line.split()[:5] == ["two-lines", "?", "?", "4", "3"] and " yes " in line for line in listed.split("\n"))


def test_a_page_of_the_users_own_is_named_by_plugin(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(PAGE.replace("two-lines", "own-lines"))
    result = CliRunner().invoke(command, ["list", "--plugin", str(tmp_path / "own.py")], catch_exceptions=False)
    CORPORA.remove("own-lines")
    assert any(line.startswith("own-lines ") for line in result.output.split("\n"))


def git_blob(data: bytes) -> str:
    return "git:" + hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


@pytest.mark.parametrize("written", ["plain", "with CR LF", "gzipped"])
@pytest.mark.parametrize("ending", [b"\n", b""])
def test_a_file_is_known_by_the_digests_that_git_has_of_its_text(
    tmp_path: Path, written: str, ending: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = b"0 qid:1 1:1 2:3\n1 qid:2 1:5 2:4" + ending
    bytes_of = {"plain": text, "with CR LF": text.replace(b"\n", b"\r\n"), "gzipped": gzip.compress(text)}
    (tmp_path / "a.txt").write_bytes(bytes_of[written])
    for published in {text, bytes_of[written]}:
        monkeypatch.setattr(check, "published", lambda known=published: {git_blob(known): ["some a.txt"]})
        assert check.check_file(tmp_path / "a.txt").known_as == ("some a.txt",)
    monkeypatch.setattr(check, "published", lambda: {git_blob(text + b"2"): ["some a.txt"]})
    assert check.check_file(tmp_path / "a.txt").known_as == ()
