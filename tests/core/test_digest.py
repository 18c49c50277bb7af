"""Digests of files and values, and folders that appear whole or not at all."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from ltr_duel.core import InputError, digest_of, replacing_folder, sha256_file


def test_the_digest_of_a_file_is_that_of_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\0" * 300_000)
    assert sha256_file(tmp_path / "a") == hashlib.sha256(b"\0" * 300_000).hexdigest()


def test_the_digest_of_a_value_is_that_of_its_sorted_json() -> None:
    value = {"b": [1, 0.5, None], "a": {"y": True, "x": "é"}}
    assert digest_of(value) == hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
    assert digest_of({"path": Path("a")}) == digest_of({"path": "a"})


def test_a_folder_appears_when_it_is_complete(tmp_path: Path) -> None:
    with replacing_folder(tmp_path / "deep" / "new") as temporary:
        (temporary / "file").write_text("x")
        assert not (tmp_path / "deep" / "new").exists()
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["new"]
    assert (tmp_path / "deep" / "new" / "file").read_text() == "x"


def test_a_folder_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), replacing_folder(tmp_path / "new"):
        raise RuntimeError("half way")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_another_process_has_made_stays(tmp_path: Path) -> None:
    with replacing_folder(tmp_path / "new") as temporary:
        (temporary / "mine").touch()
        (tmp_path / "new").mkdir()
        (tmp_path / "new" / "theirs").touch()
    assert [p.name for p in tmp_path.iterdir()] == ["new"]
    assert (tmp_path / "new" / "theirs").exists() and not (tmp_path / "new" / "mine").exists()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"file/new: cannot be written"), replacing_folder(tmp_path / "file" / "new"):
        pass
