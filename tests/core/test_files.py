"""Files are written completely or not at all, by one process; text is read as other programs wrote it."""

from __future__ import annotations

import bz2
import errno
import gzip
import lzma
import os
import threading
from pathlib import Path

import numpy as np
import platformdirs
import pytest

from ltr_duel.core import InputError, files, texts
from ltr_duel.core.files import cache_home, replacing, replacing_files, replacing_folder, require_file_place
from ltr_duel.preferences import arxiv, load_preferences, save_preferences
from ltr_duel.simulation import simulate


def everything(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*"))


@pytest.mark.parametrize("name", ["m.csv", "new/folder/m.csv"])
def test_a_full_disk_while_writing_leaves_no_file(tmp_path, monkeypatch, name):
    def full_disk(*args: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "replace", full_disk)
    with pytest.raises(InputError, match=rf"{name}: cannot be written: No space left on device"):
        save_preferences(arxiv(), tmp_path / name)
    assert everything(tmp_path) == []


@pytest.mark.parametrize("write", [replacing, replacing_files, replacing_folder])
def test_an_interrupt_while_writing_leaves_no_file(tmp_path, write):
    with pytest.raises(KeyboardInterrupt), write(tmp_path / "new" / "a") as temporary:
        (temporary / "part" if temporary.is_dir() else temporary).write_text("half")
        raise KeyboardInterrupt
    assert everything(tmp_path) == []


def test_a_link_is_followed_and_a_pipe_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    for name in ("pipe", "real"):
        (tmp_path / f"to_{name}.csv").symlink_to(f"{name}.csv")
    for name in ("pipe", "to_pipe"):
        with pytest.raises(InputError, match="cannot be written: it is a folder, a pipe or a device, not a file"):
            save_preferences(arxiv(), tmp_path / f"{name}.csv")
    save_preferences(arxiv(), tmp_path / "to_real.csv")
    assert (tmp_path / "pipe.csv").is_fifo() and (tmp_path / "to_real.csv").is_symlink()
    assert load_preferences(tmp_path / "to_real.csv").names == arxiv().names


def test_a_pipe_with_text_is_read(tmp_path):
    content = save_preferences(arxiv(), tmp_path / "m.csv").read_bytes()
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=[content])
    writer.start()
    read = load_preferences(tmp_path / "pipe")
    writer.join()
    assert np.abs(read.p - arxiv().p).max() < 1e-15


def test_a_path_that_cannot_be_written_to_is_refused_before_any_work(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=f"new/a: cannot be written: {tmp_path}/file is not a folder"):
        require_file_place(tmp_path / "file" / "new" / "a")
    with pytest.raises(InputError, match=r"/proc/a: cannot be written: .+"):
        require_file_place("/proc/a")
    assert require_file_place(tmp_path / "new" / "a") == tmp_path / "new" / "a" and everything(tmp_path) == ["file"]


def test_several_files_appear_at_once_and_under_their_names(tmp_path):
    with replacing_files(tmp_path / "new") as temporary:
        (temporary / "a").write_text("1")
        (temporary / "b").write_text("2")
        assert not (tmp_path / "new" / "a").exists()
    assert everything(tmp_path / "new") == ["a", "b"] and (tmp_path / "new" / "b").read_text() == "2"


def test_a_folder_appears_with_the_usual_permissions_and_never_in_place_of_a_file(tmp_path):
    before = os.umask(0o027)
    try:
        with replacing_folder(tmp_path / "new"):
            pass
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o750
    with pytest.raises(InputError, match="cannot be written"), replacing_folder(tmp_path / "other"):
        (tmp_path / "other").touch()
    assert everything(tmp_path) == ["new", "other"]


def test_a_missing_home_folder_is_reported_with_the_variable_to_set(monkeypatch):
    monkeypatch.setenv("LTR_DUEL_HOME", "~no-such-user/x")
    for _ in range(2):
        with pytest.raises(InputError, match="no home folder for the cache; set LTR_DUEL_HOME to a folder of yours"):
            cache_home()
        monkeypatch.delenv("LTR_DUEL_HOME", raising=False)
        monkeypatch.setattr(platformdirs, "user_cache_path", lambda name: Path("~/.cache", name))


WORDS = "Zürich 日本\n"


def read(path: Path, data: bytes) -> bytes:
    path.write_bytes(data)
    with files.reading(path, "text") as raw:
        return texts.unpacked(path, raw).read()


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_every_encoding_and_compression_gives_the_same_bytes(tmp_path, pack):
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-16-be"):
        mark = "\ufeff" if encoding == "utf-16-be" else ""
        assert read(tmp_path / "a", pack((mark + WORDS).encode(encoding))) == WORDS.encode()


def test_a_word_is_latin_1_where_it_is_not_utf_8():
    assert [texts.decoded(word) for word in (b"M\xc3\xbcller", b"M\xfcller", b"plain")] == ["Müller", "Müller", "plain"]


@pytest.mark.parametrize("data", [b"PK\x03\x04", gzip.compress(b"a.txt".ljust(257, b"\0") + b"ustar", mtime=0)])
def test_an_archive_is_no_text_and_is_refused(tmp_path, data):
    with pytest.raises(InputError, match="my file: this is an archive, not text; unpack it first"):
        read(tmp_path / "my file", data)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_compressed_file_that_is_cut_is_refused(tmp_path, pack):
    whole = pack(WORDS.encode() * 99)
    for data in (whole[:-10], whole[: len(whole) // 2] + b"\1" * 30):
        with pytest.raises(InputError, match="a: the compressed stream is damaged or cut short"):
            read(tmp_path / "a", data)


def test_names_with_a_colon_are_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results = simulate(arxiv(), "rucb:alpha=0.6", horizon=100, repetitions=1, jobs=1)
    assert results.save("rucb:alpha=0.6").is_file()
