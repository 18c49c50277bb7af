"""Unpacking archives."""

from __future__ import annotations

import io
import tarfile
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest

from ltr_duel.core.errors import InputError
from ltr_duel.data.corpora import unpack as unpacking
from ltr_duel.data.corpora.unpack import unpack

TEXT = b"0 qid:1 1:1\n"


def zipped(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, data in members.items():
            out.writestr(name, data)
    return path


def tarred(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as out:
        for info, data in members:
            info.size = len(data)
            out.addfile(info, io.BytesIO(data))
    return path


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_files_come_out_under_their_names(tmp_path: Path, kind: str) -> None:
    if kind == "zip":
        archive = zipped(tmp_path / "a", **{"Fold1/test.txt": TEXT})
    else:
        archive = tarred(tmp_path / "a", (tarfile.TarInfo("Fold1/test.txt"), TEXT))
    assert (unpack(archive, tmp_path / "out") / "Fold1" / "test.txt").read_bytes() == TEXT


@pytest.mark.parametrize("name", ["../evil", "/evil", "a/../../evil"])
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_no_member_leaves_the_folder(tmp_path: Path, name: str, kind: str) -> None:
    if kind == "zip":
        archive = zipped(tmp_path / "a", good=TEXT, **{name: TEXT})
    else:
        archive = tarred(tmp_path / "a", (tarfile.TarInfo("good"), TEXT), (tarfile.TarInfo(name), TEXT))
    with suppress(InputError):
        unpack(archive, tmp_path / "out")
    assert {path.name for path in tmp_path.iterdir()} <= {"a", "out", "home"} and not Path("/evil").exists()


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    info = tarfile.TarInfo("link")
    info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
    with pytest.raises(InputError, match=r"the archive is damaged or cut short .*link"):
        unpack(tarred(tmp_path / "a", (info, b"")), tmp_path / "out")


@pytest.mark.parametrize(
    "data, what",
    [
        (b"<!DOCTYPE html><html>", "this is a web page"),
        (b"PK\x03\x04 and then nothing", "the archive is damaged or cut short"),
        (b"\x1f\x8b\x08 no gzip", "damaged or cut short"),
        (b"\x89PNG", "neither zip, tar nor rar"),
        (b"", "neither zip, tar nor rar"),
    ],
)
def test_a_wrong_archive_is_refused(tmp_path: Path, data: bytes, what: str) -> None:
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(InputError, match=what):
        unpack(tmp_path / "a", tmp_path / "out")


def test_a_cut_tar_is_refused(tmp_path: Path) -> None:
    import numpy as np

    noise = np.random.default_rng(0).bytes(100_000)
    archive = tarred(tmp_path / "a", (tarfile.TarInfo("x"), noise))
    archive.write_bytes(archive.read_bytes()[:50_000])
    with pytest.raises(InputError, match="damaged or cut short"):
        unpack(archive, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_damaged_zip_is_refused(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "a", x=bytes(range(256)) * 50)
    data = bytearray(archive.read_bytes())
    data[60:80] = b"\xff" * 20
    archive.write_bytes(data)
    with pytest.raises(InputError, match="damaged or cut short"):
        unpack(archive, tmp_path / "out")


def test_plain_text_is_taken_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "imat2009_learning.txt").write_bytes(TEXT)
    out = unpack(tmp_path / "imat2009_learning.txt", tmp_path / "out")
    assert (out / "imat2009_learning.txt").read_bytes() == TEXT


def test_rar_without_a_program_says_which_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking.shutil, "which", lambda name: None)
    (tmp_path / "a.rar").write_bytes(b"Rar!\x1a\x07\x00")
    with pytest.raises(InputError, match="one of these programs must be installed: unrar, unar, 7zz, 7z, bsdtar"):
        unpack(tmp_path / "a.rar", tmp_path / "out")


def test_rar_goes_through_the_program_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "unrar"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nfor last; do :; done\nprintf "0 qid:1 1:1\\n" > "$last/test.txt"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    (tmp_path / "a.rar").write_bytes(b"Rar!\x1a\x07\x00")
    assert (unpack(tmp_path / "a.rar", tmp_path / "out") / "test.txt").read_bytes() == TEXT


def test_a_folder_that_exists_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(InputError, match="exists already"):
        unpack(zipped(tmp_path / "a", x=TEXT), tmp_path / "out")
