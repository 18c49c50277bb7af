"""The scripts after a wrong archive, and with the user's reading options."""

from __future__ import annotations

import gzip
import hashlib
import io
import zipfile
from pathlib import Path

import pytest

from ltr_duel.core.errors import InputError
from ltr_duel.data.corpora.catalogue import CORPORA
from ltr_duel.data.corpora.corpus import Archive
from ltr_duel.data.corpora.download import download
from ltr_duel.data.corpora.fetch import FetchOptions, fetch
from ltr_duel.data.corpora.unpack import unpack
from ltr_duel.data.load import load_dataset

LEARNING = "".join(f"{grade} 1:0.5 {k + 2}:0.25 # {k // 4}\n" for k, grade in enumerate((0.5, 1, 2.7, 0, 4, 1.2)))
OTHER = "".join(f"{k} 1:0.5 9:{k} # {k // 4 + 70}\n" for k in range(3))
TOLD: list[str] = []


def get(archive: Path | None, folder: Path, **options) -> Path:
    TOLD.clear()
    return fetch(CORPORA["imat2009"], FetchOptions(True, archive, folder, **options), TOLD.append)


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def zipped(member: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(member, "not a feature")
    return data.getvalue()


def test_after_a_wrong_archive_the_right_one_is_unpacked(tmp_path: Path) -> None:
    wrong = written(tmp_path / "wrong.zip", zipped("docs/readme.md"))
    right = written(tmp_path / "imat2009_learning.txt", LEARNING)
    with pytest.raises(InputError, match=r"wrong\.zip: no feature files found; is this the archive of Yandex"):
        get(wrong, tmp_path / "c")
    assert not (tmp_path / "c").exists()
    assert load_dataset(get(right, tmp_path / "c")).n_docs == 6


def test_an_archive_whose_text_fails_the_check_leaves_what_was_there(tmp_path: Path) -> None:
    wrong = written(tmp_path / "wrong.txt", "1 1:x # 3\n")
    right = written(tmp_path / "imat2009_learning.txt", LEARNING)
    with pytest.raises(InputError, match=r"^\S*wrong\.txt: wrong\.txt:1:\d+: feature value 'x'"):
        get(wrong, tmp_path / "c")
    assert not (tmp_path / "c").exists()
    get(right, tmp_path / "c")
    with pytest.raises(InputError, match=r"wrong\.txt:1:"):
        get(wrong, tmp_path / "c")
    assert [path.name for path in (tmp_path / "c").glob("*/*")] == ["imat2009_learning.txt"]
    assert load_dataset(get(None, tmp_path / "c")).n_docs == 6


def test_an_archive_that_could_be_read_is_not_taken_for_the_next_one(tmp_path: Path) -> None:
    first = written(tmp_path / "learning_a.txt", OTHER)
    second = written(tmp_path / "learning_b.txt", LEARNING)
    assert load_dataset(get(first, tmp_path / "c")).n_docs == 3
    assert load_dataset(get(second, tmp_path / "c")).n_docs == 6
    assert [path.name for path in (tmp_path / "c").glob("*/*")] == ["learning_b.txt"], "the first one is gone"
    assert load_dataset(get(None, tmp_path / "c")).n_docs == 6
    assert not any(line.startswith("unpack") for line in TOLD), "what is unpacked is used again"
    get(second, tmp_path / "c")
    assert not any(line.startswith("unpack") for line in TOLD)


def test_the_users_options_go_before_those_of_the_corpus(tmp_path: Path) -> None:
    archive = written(tmp_path / "imat2009_learning.txt.gz", gzip.compress(LEARNING.encode()))
    rounded = load_dataset(get(archive, tmp_path / "c"))
    assert rounded.relevance.tolist() == [1, 1, 3, 0, 4, 1]
    assert TOLD[-1].endswith("read with --labels round")
    distinct = load_dataset(get(archive, tmp_path / "c", reading={"labels": "distinct"}))
    assert distinct.relevance.tolist() == [1, 2, 4, 0, 5, 3]
    assert TOLD[-1].endswith("read with --labels distinct")


def test_a_file_as_folder_is_named(tmp_path: Path) -> None:
    archive = written(tmp_path / "learning.txt", LEARNING)
    with pytest.raises(InputError, match=r"file: this is a file, but a folder for the archive"):
        get(archive, written(tmp_path / "file", "x"))


def test_a_gzipped_file_that_is_no_text_is_no_archive(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="neither zip, tar nor rar"):
        unpack(written(tmp_path / "a.gz", gzip.compress(b"PNG or the like")), tmp_path / "out")
    with pytest.raises(InputError, match="damaged or cut short"):
        unpack(written(tmp_path / "a.gz", gzip.compress(LEARNING.encode())[:-20]), tmp_path / "out")


def test_only_what_has_come_is_said_to_be_kept(tmp_path: Path, server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ltr_duel.data.corpora.download.ATTEMPTS", 1)
    server.files["a.zip"] = b"x" * 5_000
    digest = f"sha256:{hashlib.sha256(b'x' * 5_000).hexdigest()}"
    with pytest.raises(InputError, match=r"1 times$"):
        download(Archive("a.zip", ("http://127.0.0.1:9/a.zip",), digest), tmp_path / "c")
    with pytest.raises(InputError, match=r"1 times; the received part is kept, run this again to resume$"):
        download(Archive("a.zip", (server.url("cut", "a.zip"),), digest), tmp_path / "c")
