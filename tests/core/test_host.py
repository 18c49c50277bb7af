"""Memory and processes of this machine: requests above the free memory are refused, large arrays are mapped files."""

from __future__ import annotations

import mmap
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest

from ltr_duel.bandits import POLICIES, Learner, Run
from ltr_duel.bandits.delayed import Lateness, new_late
from ltr_duel.bandits.state import arrays_in
from ltr_duel.core import InputError, host, mapped, process_identity, still_runs
from ltr_duel.core.mapped import is_kept, new_array, release_pages
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.preferences.synthetic import equal_gaps
from ltr_duel.simulation import simulate

LARGE = 3000
LINUX = pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="only Linux tells which pages are in memory")


def free(monkeypatch, size):
    monkeypatch.setattr(host, "free_memory", lambda: size)


@pytest.mark.parametrize(
    "group, limits, expected",
    [
        ("0::/\n", {}, (4000, 9000)),
        ("0::/mine\n", {"mine": ("max", 0, 0)}, (4000, 9000)),
        ("7:cpu:/\n0::/a/mine\n", {"a": (3000, 1000, 500), "a/mine": (9000, 1, 0)}, (3000 - (1000 - 500), 3000)),
    ],
)
def test_the_lowest_limit_of_machine_and_control_groups_counts(tmp_path, monkeypatch, group, limits, expected):
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "cgroup").write_text(group)
    for name, (limit, used, cached) in limits.items():
        (tmp_path / "groups" / name).mkdir(parents=True)
        for file, text in {"max": limit, "current": used, "stat": f"inactive_file {cached}"}.items():
            (tmp_path / "groups" / name / f"memory.{file}").write_text(f"{text}\n")
    monkeypatch.setattr(host, "PROC", tmp_path)
    monkeypatch.setattr(host, "GROUPS", tmp_path / "groups")
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(total=9000, available=4000))
    assert (host.free_memory(), host.total_memory()) == expected


def state_size(policy, n_arms):
    state = policy.init(n_arms, 1000 if policy.needs_horizon else 0, policy.params())
    return sum(array.nbytes for _, array in arrays_in(state))


def test_states_grow_at_most_with_the_square_of_the_arms():
    for policy in POLICIES:
        assert state_size(policy, 256) < (256 / 64) ** 2 * 1.02 * state_size(policy, 64), policy.name


def test_a_policy_that_needs_more_memory_than_is_free_is_refused(monkeypatch):
    free(monkeypatch, 200 * 10**6)
    p = np.full((LARGE, LARGE), 0.5)
    with pytest.raises(
        InputError, match=r"^policy 'rucb' with 3,000 arms needs 0.3 GB of memory, but only 0.2 GB is free$"
    ):
        Run.on_matrix(POLICIES["rucb"], p)
    size = (4 * 64**2 + 64 + 1) * 8 * (100_000 / 64) ** 2 / 1e9
    with pytest.raises(InputError, match=f"'rucb' with 100,000 arms needs {size:.1f} GB"):
        Learner("rucb", n_arms=100_000)
    Run.on_matrix(POLICIES["sparring"], p)
    with pytest.raises(InputError, match=r"'merge_rucb' with 3,000 arms in 2 runs at once needs 0.3 GB"):
        simulate(PreferenceMatrix(p), ["sparring", "merge_rucb"], horizon=10, repetitions=3, jobs=2)


def test_copies_and_pending_outcomes_of_late_runs_are_counted(monkeypatch):
    policy, matrix = POLICIES["savage"], PreferenceMatrix(np.full((LARGE, LARGE), 0.5))
    free(monkeypatch, 3 * state_size(policy, LARGE))
    simulate(matrix, "savage", horizon=10, repetitions=1)
    with pytest.raises(InputError, match=r"^policy 'savage' with 3,000 arms needs"):
        simulate(matrix, "savage", horizon=1000, repetitions=1, batch=2)
    free(monkeypatch, 10**8)
    late = Lateness(2, 0, np.random.default_rng())
    with pytest.raises(InputError, match=r"^2 comparisons whose outcomes are not known needs 0.1 GB of memory"):
        new_late(policy, None, LARGE, late, late.others)  # 2 x 3,000 x 3,000 numbers of 8 bytes: 0.144 GB


@pytest.mark.parametrize(
    "make, size", [(lambda: PreferenceMatrix(np.broadcast_to(0.5, (4000, 4000))), 0.1), (lambda: equal_gaps(4000), 0.6)]
)
def test_a_matrix_that_needs_more_memory_than_is_free_is_refused(monkeypatch, make, size):
    free(monkeypatch, 10**8)
    with pytest.raises(InputError, match=rf"a preference matrix of 4,000 rankers needs {size} GB of memory"):
        make()


def test_a_large_matrix_is_checked_in_blocks():
    p = np.full((1100, 1100), 0.5)
    p[1050, 7] = 1.5
    with pytest.raises(InputError, match=r"p\['1050', '7'\] must be between 0 and 1, not 1.5"):
        PreferenceMatrix(p)
    p[1050, 7], p[7, 1050] = 0.6, 0.5
    with pytest.raises(InputError, match=r"p\['7', '1050'\] \+ p\['1050', '7'\] must be 1, not 1.1"):
        PreferenceMatrix(p)
    p[7, 1050] = 0.4
    assert not PreferenceMatrix(p).comparisons.any()


def test_a_process_runs_until_it_ends_though_its_parent_has_not_waited_for_it(monkeypatch):
    identities = {}
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        for files in (host.PROC, Path("nowhere")):
            monkeypatch.setattr(host, "PROC", files)
            host._machine.cache_clear()
            identities[files] = identity = process_identity(child.pid)
            assert still_runs(identity) and not still_runs(identity | {"start": identity["start"] - 60})
            assert still_runs(identity | {"machine": "elsewhere"}) is None
        child.stdin.close()
        for files, identity in identities.items():
            monkeypatch.setattr(host, "PROC", files)
            host._machine.cache_clear()
            while still_runs(identity):  # until it is a zombie
                pass
    for pid in (child.pid, -1, 0, 999_999_999, 10**30):
        assert not still_runs(identity | {"pid": pid})
    host._machine.cache_clear()


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("LTR_DUEL_HOME", str(tmp_path))
    return tmp_path


def base(array):
    while isinstance(array, np.ndarray):
        array = array.base
    return array


def test_small_arrays_are_in_memory_and_large_arrays_in_a_file_without_a_name(home):
    small, large = (new_array((3, 5), np.int16, limit) for limit in (31, 30))
    assert base(small) is None and isinstance(base(large), mmap.mmap) and mapped.LARGE > 2**20
    for array in (small, large):
        assert (array.shape, array.dtype, array.any()) == ((3, 5), np.int16, False)
        array[1] = 7
        assert array.sum() == 35
    script = "import os\nfrom ltr_duel.core.mapped import new_array\nnew_array((9,), 'i2', 0)\nos.abort()"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode != 0
    assert list(home.iterdir()) == []


def test_a_temporary_array_is_not_kept_and_a_file_mapped_for_reading_is(tmp_path):
    np.save(tmp_path / "kept.npy", np.zeros(4))
    assert is_kept(np.load(tmp_path / "kept.npy", mmap_mode="r")[1:])
    assert not is_kept(new_array((4,), np.int16, 0)) and not is_kept(np.zeros(4))


@LINUX
def test_released_pages_leave_memory_and_keep_their_values(home):
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


def test_a_full_disk_is_reported_and_an_unusable_cache_is_not_needed(home, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert new_array((4,), np.int16, 0).tolist() == [0] * 4
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 9, 1))
    with pytest.raises(InputError, match=r"0.0 GB is needed temporarily, but only 0.0 GB is free"):
        new_array((4,), np.int16, 0)


@LINUX
@pytest.mark.parametrize(("size", "single"), [(999, True), (1000, False)])
def test_mapped_arrays_above_the_free_memory_are_read_page_by_page(tmp_path, monkeypatch, size, single):
    np.save(tmp_path / "a.npy", np.zeros(125))
    array = np.asarray(np.load(tmp_path / "a.npy", mmap_mode="r"))
    monkeypatch.setattr(mapped, "LARGE", 1)
    free(monkeypatch, size)
    mapped.expect_few_reads([array, np.zeros(1000)])
    _, _, after = Path("/proc/self/smaps").read_text().partition(str(tmp_path / "a.npy"))
    flags = next(line for line in after.splitlines() if line.startswith("VmFlags"))
    assert ("rr" in flags.split()) == single
