"""Compiled kernels on disk: a private folder of the user, which is emptied if a file in it is unreadable."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ltr_duel.core import jit as kernels
from ltr_duel.core import kernel, kernel_cache
from ltr_duel.core.kernel_cache import KernelCacheWarning, kernel_folder

NOT_MINE = "not kept between runs: {} is not a folder that only you can write to; delete it, or set LTR_DUEL_HOME"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Return a new home folder, and clear the state of the previous one."""
    monkeypatch.setattr(kernel_cache, "cache_home", lambda: tmp_path)
    remembered = kernel_folder, kernel_cache._warn_once, kernels._cache_folder
    for function in remembered:
        function.cache_clear()
    yield tmp_path
    for function in remembered:
        function.cache_clear()


def test_a_folder_is_made_for_the_user_alone(home):
    folder = Path(kernel_folder("0"))
    assert folder == home / "kernels" / "0"
    assert [one.stat().st_mode & 0o777 for one in (folder, folder.parent)] == [0o700, 0o700]


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_that_others_can_write_to_is_not_used_and_one_sentence_says_so(home, mode):
    (home / "kernels").mkdir()
    (home / "kernels").chmod(mode)
    with pytest.warns(KernelCacheWarning, match=NOT_MINE.format(home / "kernels")) as said:
        assert [kernel_folder("0"), kernel_folder("1")] == ["", ""]
    assert len(said) == 1
    (home / "kernels").chmod(0o755)
    kernel_folder.cache_clear()
    assert kernel_folder("0")


def test_a_link_is_no_folder_of_kernels(home):
    (home / "there").mkdir()
    (home / "kernels").symlink_to(home / "there")
    with pytest.warns(KernelCacheWarning, match=NOT_MINE.format(home / "kernels")):
        assert kernel_folder("0") == ""


def test_a_folder_of_another_user_is_not_used(home, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.warns(KernelCacheWarning, match=NOT_MINE.format(home / "kernels")):
        assert kernel_folder("0") == ""


def test_a_folder_that_cannot_be_written_is_not_used(home, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    with pytest.warns(KernelCacheWarning, match=NOT_MINE.format(home / "kernels")):
        assert kernel_folder("0") == ""


def _below(x):
    return x + 1


def _above(x):
    return 2 * below(x)


_below.__module__, _above.__module__ = "ltr_duel.core.random", "ltr_duel.bandits.loop"  # as code of two floors
below = kernel(_below)


def called_in_a_new_process(monkeypatch):
    """Call new kernels that are stored in two folders; return how many of the two were loaded from the disk."""
    kernels._cache_folder.cache_clear()
    monkeypatch.setitem(_above.__globals__, "below", kernel(_below))
    above = kernel(_above)
    assert above(4) == 10
    assert below(4) == 5
    called = above.compiled(), below.compiled()
    return [sum(one.stats.cache_hits.values()) for one in called]


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", [lambda content: b"", lambda content: content[:-9], lambda content: b"~" * 99])
def test_after_an_unreadable_file_all_files_are_compiled_and_stored_again(home, monkeypatch, ending, damage):
    assert [called_in_a_new_process(monkeypatch) for _ in range(2)] == [[0, 0], [1, 1]]
    files = sorted(home.rglob(f"*.{ending}"))
    for file in files:
        file.write_bytes(damage(file.read_bytes()))
    assert [called_in_a_new_process(monkeypatch) for _ in range(2)] == [[0, 0], [1, 1]]
    assert sorted(home.rglob(f"*.{ending}")) == files and len(files) == 3  # `below` has two forms


def test_a_warning_shows_the_line_of_the_user(tmp_path):
    (tmp_path / "kernels").mkdir(0o700)
    (tmp_path / "kernels").chmod(0o777)
    (tmp_path / "mine.py").write_text(
        "from ltr_duel.core import random_below, stream\n\nrandom_below(6, stream(0, 'die'))\n"
    )
    environment = {**os.environ, "LTR_DUEL_HOME": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}
    done = subprocess.run([sys.executable, "mine.py"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    said, line = done.stderr.splitlines()
    assert re.match(r".*mine.py:3: KernelCacheWarning: compiled code is not kept between runs: ", said)
    assert line.strip() == "random_below(6, stream(0, 'die'))"
