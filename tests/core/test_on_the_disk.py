"""A file with its final name is on the disk: content first, then the name, then the folder."""

import os
from pathlib import Path

import pytest

from ltr_duel.core import files


@pytest.fixture
def order(monkeypatch):
    """Return the file operations in order: ("sync", name) and ("name", name)."""
    done = []
    sync, replace, rename = os.fsync, os.replace, os.rename

    def named(handle):
        return os.path.realpath(f"/proc/self/fd/{handle}").rpartition("/")[2]

    monkeypatch.setattr(os, "fsync", lambda handle: (done.append(("sync", named(handle))), sync(handle)))
    for name, move in (("replace", replace), ("rename", rename)):

        def moved(old, new, move=move, **how):
            done.append(("name", str(new).rpartition("/")[2]))
            move(old, new)

        monkeypatch.setattr(os, name, moved)
    return done


pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no /proc")


def test_a_file_is_on_the_disk_before_its_name(tmp_path, order):
    with files.replacing(tmp_path / "one.txt") as temporary:
        temporary.write_text("x")
    assert [kind for kind, _ in order] == ["sync", "name", "sync"]
    assert order[1:] == [("name", "one.txt"), ("sync", tmp_path.name)]


def test_a_folder_is_on_the_disk_before_its_name(tmp_path, order):
    with files.replacing_folder(tmp_path / "corpus") as temporary:
        (temporary / "inner").mkdir()
        (temporary / "inner" / "one").write_text("x")
        (temporary / "two").write_text("x")
    at = order.index(("name", "corpus"))
    assert {name for _, name in order[:at]} >= {"inner", "one", "two"}
    assert order[at + 1 :] == [("sync", tmp_path.name)]


def test_several_files_are_on_the_disk_before_their_names(tmp_path, order):
    with files.replacing_files(tmp_path) as temporary:
        for name in ("one", "two"):
            (temporary / name).write_text("x")
    assert order == [("sync", "one"), ("name", "one"), ("sync", "two"), ("name", "two"), ("sync", tmp_path.name)]
