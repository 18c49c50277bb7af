"""Large arrays in files equal arrays in memory, have no file name, and use no memory once released."""

from __future__ import annotations

import mmap
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest

from ltr_duel.core import InputError, mapped
from ltr_duel.core.mapped import is_kept, new_array, release_pages

LINUX = pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="only Linux tells which pages are in memory")


@pytest.fixture
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("LTR_DUEL_HOME", str(tmp_path))
    return tmp_path


def holder(array):
    while isinstance(array, np.ndarray):
        array = array.base
    return array


def test_arrays_below_the_limit_lie_in_memory_and_others_in_a_file_without_a_name(own_home):
    small, large = (new_array((3, 5), np.int16, limit) for limit in (31, 30))
    assert holder(small) is None and isinstance(holder(large), mmap.mmap)
    for array in (small, large):
        assert (array.shape, array.dtype, array.any()) == ((3, 5), np.int16, False)
        array[1] = 7
        assert array.sum() == 35
    assert list(own_home.iterdir()) == []


def test_a_temporary_array_is_not_kept_and_a_file_opened_to_be_read_is(tmp_path):
    np.save(tmp_path / "kept.npy", np.zeros(4))
    assert is_kept(np.load(tmp_path / "kept.npy", mmap_mode="r")[1:])
    assert not is_kept(new_array((4,), np.int16, 0)) and not is_kept(np.zeros(4))


@LINUX
def test_released_pages_leave_memory_and_keep_their_values(own_home):
    def in_memory() -> int:
        return psutil.Process().memory_full_info().rss

    array = new_array((8, 2**21), np.float32, 0)
    before = in_memory()
    array[:] = np.arange(8)[:, None]
    assert in_memory() - before > 60 * 2**20
    for row in array:
        release_pages(row)
    assert in_memory() - before < 8 * 2**20
    assert (array == np.arange(8)[:, None]).all()


def test_a_disk_with_too_little_space_is_named(own_home, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 9, 1))
    with pytest.raises(InputError, match=r"0.0 GB is needed temporarily, but only 0.0 GB is free"):
        new_array((4,), np.int16, 0)


def test_a_cache_that_does_not_exist_or_cannot_be_written_to_is_not_needed(tmp_path, monkeypatch):
    monkeypatch.setenv("LTR_DUEL_HOME", str(tmp_path / "not" / "there"))
    assert new_array((4,), np.int16, 0).tolist() == [0] * 4
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert new_array((4,), np.int16, 0).tolist() == [0] * 4


def test_a_killed_process_leaves_no_file(own_home):
    script = "import os\nfrom ltr_duel.core.mapped import new_array\nnew_array((9,), 'i2', 0)\nos.abort()"
    environment = {**os.environ, "LTR_DUEL_HOME": str(own_home)}
    assert subprocess.run([sys.executable, "-c", script], env=environment, check=False).returncode != 0
    assert list(own_home.iterdir()) == []
    assert mapped.LARGE > 2**20


@LINUX
@pytest.mark.parametrize(("free", "single"), [(999, True), (1000, False)])
def test_mapped_arrays_that_exceed_the_free_memory_are_read_page_by_page(tmp_path, monkeypatch, free, single):
    np.save(tmp_path / "a.npy", np.zeros(125))
    array = np.asarray(np.load(tmp_path / "a.npy", mmap_mode="r"))
    monkeypatch.setattr(mapped, "LARGE", 1)
    monkeypatch.setattr(mapped.host, "free_memory", lambda: free)
    mapped.expect_few_reads([array, np.zeros(1000)])
    _, _, after = Path("/proc/self/smaps").read_text().partition(str(tmp_path / "a.npy"))
    flags = next(line for line in after.splitlines() if line.startswith("VmFlags"))
    assert ("rr" in flags.split()) == single
