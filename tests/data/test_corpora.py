"""The table of corpora, and the digests by which a file is known."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import pytest

from ltr_duel.core import InputError
from ltr_duel.data import CORPORA
from ltr_duel.data.corpora import check


@pytest.mark.parametrize("name", CORPORA)
def test_every_corpus_is_declared_with_options_that_the_reader_takes(name: str) -> None:
    corpus = CORPORA[name]
    assert corpus.name == name and corpus.reading().features == corpus.features
    assert set(corpus.facts()) == {"corpus", "queries", "documents", "features", "grades", "licence", "source"}


def test_what_the_user_says_takes_precedence_over_the_declaration() -> None:
    assert CORPORA["imat2009"].reading().labels == "round"
    assert CORPORA["imat2009"].reading(labels="distinct").labels == "distinct"


def test_an_unknown_corpus_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(InputError, match="no corpus 'mq200'; did you mean 'mq2008'"):
        CORPORA["mq200"]


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
