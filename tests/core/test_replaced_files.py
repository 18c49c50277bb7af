"""Output paths: a full disk, devices, links, folders; no files are left behind, and no others are replaced."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import numpy as np
import pytest

from ltr_duel.core import InputError
from ltr_duel.core.files import replacing, replacing_files, replacing_folder, require_file_place
from ltr_duel.preferences import arxiv, load_preferences, save_preferences
from ltr_duel.simulation import simulate


def full_disk(*args: object, **options: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def everything(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*"))


@pytest.fixture(scope="module")
def results():
    return simulate(arxiv(), "random", horizon=10, repetitions=1, jobs=1, compiled=False)


@pytest.mark.parametrize("name", ["m.csv", "new/folder/m.csv"])
def test_a_full_disk_leaves_nothing_of_a_matrix(tmp_path, monkeypatch, name):
    monkeypatch.setattr("ltr_duel.core.files.Path.replace", full_disk)
    with pytest.raises(InputError, match=rf"{name}: cannot be written: No space left on device"):
        save_preferences(arxiv(), tmp_path / name)
    assert everything(tmp_path) == []


def test_a_full_disk_leaves_nothing_of_results(tmp_path, monkeypatch, results):
    for write in ("pyarrow.parquet.write_table", "pathlib.Path.write_text"):
        with monkeypatch.context() as patched:
            patched.setattr(write, full_disk)
            with pytest.raises(InputError, match="new: cannot be written: No space left on device"):
                results.save(tmp_path / "new")
        assert everything(tmp_path) == []


@pytest.mark.parametrize("write", [replacing, replacing_files, replacing_folder])
def test_an_interrupt_leaves_nothing(tmp_path, write):
    with pytest.raises(KeyboardInterrupt), write(tmp_path / "new" / "a") as temporary:
        (temporary / "part" if temporary.is_dir() else temporary).write_text("half")
        raise KeyboardInterrupt
    assert everything(tmp_path) == []


def test_a_pipe_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    for link in ("pipe.csv", "link.csv"):
        with pytest.raises(InputError, match="cannot be written: it is a folder, a pipe or a device, not a file"):
            save_preferences(arxiv(), tmp_path / link)
        if link == "pipe.csv":
            (tmp_path / "link.csv").symlink_to("pipe.csv")
    assert (tmp_path / "pipe.csv").is_fifo() and (tmp_path / "link.csv").is_symlink()


def test_a_link_is_followed(tmp_path):
    (tmp_path / "link.csv").symlink_to("real.csv")
    save_preferences(arxiv(), tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink() and (tmp_path / "real.csv").is_file()
    assert load_preferences(tmp_path / "link.csv").names == arxiv().names


def test_a_pipe_with_text_is_read(tmp_path):
    content = save_preferences(arxiv(), tmp_path / "m.csv").read_bytes()
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=[content])
    writer.start()
    read = load_preferences(tmp_path / "pipe")
    writer.join()
    assert np.abs(read.p - arxiv().p).max() < 1e-15


def test_a_place_with_a_null_character_is_refused():
    with pytest.raises(InputError, match="a file name cannot contain a null character"):
        require_file_place("a\0b")


def test_a_place_that_may_not_be_written_to_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)  # because root may write everywhere
    with pytest.raises(InputError, match="new/file: cannot be written: no permission to write in "):
        require_file_place(tmp_path / "new" / "file")


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


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no /proc")
@pytest.mark.parametrize("write, parts", [(replacing, [""]), (replacing_folder, ["one", "two"])])
def test_content_is_on_the_disk_before_its_name_and_the_name_at_the_end(tmp_path, monkeypatch, write, parts):
    done, sync, replace, rename = [], os.fsync, os.replace, os.rename

    def synced(handle):
        done.append(os.path.realpath(f"/proc/self/fd/{handle}").rpartition("/")[2])
        sync(handle)

    monkeypatch.setattr(os, "fsync", synced)
    for name, move in (("replace", replace), ("rename", rename)):
        monkeypatch.setattr(os, name, lambda old, new, move=move: (done.append("its name"), move(old, new)))
    with write(tmp_path / "new") as temporary:
        for part in parts:
            (temporary / part).write_text("x")
    at = done.index("its name")
    assert len(done[:at]) == len(parts) and set(done[:at]) >= set(filter(None, parts))
    assert done[at + 1 :] == [tmp_path.name]
