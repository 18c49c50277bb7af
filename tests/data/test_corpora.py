"""The table of corpora, and the digests by which a file is known."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable
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


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("ending", [b"\n", b""])
def test_a_file_is_known_by_the_digest_of_its_bytes_or_of_its_text(
    tmp_path: Path, pack: Callable[[bytes], bytes], ending: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = b"0 qid:1 1:1 2:3\n1 qid:2 1:5 2:4" + ending
    (tmp_path / "a.txt").write_bytes(pack(text))
    for known, place in ((text, ("some a.txt",)), (pack(text), ("some a.txt",)), (text + b"2", ())):
        table = {f"sha256:{hashlib.sha256(known).hexdigest()}": ["some a.txt"]}
        monkeypatch.setattr(check, "published", lambda table=table: table)
        assert check.check_file(tmp_path / "a.txt").known_as == place
