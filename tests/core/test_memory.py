"""Free memory is read from the system; a larger request is rejected with one sentence before allocation."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from ltr_duel.bandits import POLICIES, Learner, Run
from ltr_duel.bandits.delayed import Lateness, new_late
from ltr_duel.bandits.state import arrays_in
from ltr_duel.core import InputError, host
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.preferences.synthetic import equal_gaps, from_utilities
from ltr_duel.simulation import simulate

LARGE = 3000
GIGA = 10**9


def free(monkeypatch, size):
    monkeypatch.setattr(host, "free_memory", lambda: size)


def machine(folder, monkeypatch, groups, files):
    (folder / "self").mkdir(parents=True)
    (folder / "self" / "cgroup").write_text(groups)
    for name, text in files.items():
        (folder / "groups" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "groups" / name).write_text(text)
    monkeypatch.setattr(host, "PROC", folder)
    monkeypatch.setattr(host, "GROUPS", folder / "groups")
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(total=9000, available=4000))
    return host.free_memory(), host.total_memory()


def test_without_control_groups_the_machine_decides(tmp_path, monkeypatch):
    assert machine(tmp_path / "one", monkeypatch, "0::/\n", {}) == (4000, 9000)
    assert machine(tmp_path / "two", monkeypatch, "0::/mine\n", {"mine/memory.max": "max\n"}) == (4000, 9000)


def test_the_tightest_control_group_counts_and_cached_files_give_way(tmp_path, monkeypatch):
    files = {
        "slice/memory.max": "3000\n", "slice/memory.current": "1000\n", "slice/memory.stat": "inactive_file 500\n",
        "slice/mine/memory.max": "9000\n", "slice/mine/memory.current": "1\n", "slice/mine/memory.stat": "a 1\n",
    }  # fmt: skip
    assert machine(tmp_path, monkeypatch, "7:cpu:/\n0::/slice/mine\n", files) == (3000 - (1000 - 500), 3000)


def test_where_nothing_is_known_nothing_is_refused(monkeypatch):
    def refused():
        raise PermissionError

    monkeypatch.setattr("psutil.virtual_memory", refused)
    monkeypatch.setattr(host, "PROC", Path("nowhere"))
    host.require_memory("a lot", 10**18)


def test_this_system_reports_what_is_free():
    assert 2**20 < host.free_memory() < host.total_memory() < 2**60


def state_size(policy, n_arms):
    state = policy.init(n_arms, 1000 if policy.needs_horizon else 0, policy.params())
    return sum(array.nbytes for _, array in arrays_in(state))


@pytest.mark.parametrize("name", POLICIES.names())
def test_a_state_grows_at_most_with_the_square_of_the_arms(name):
    assert state_size(POLICIES[name], 256) < (256 / 64) ** 2 * 1.02 * state_size(POLICIES[name], 64)


def test_a_policy_that_needs_more_than_there_is_is_refused(monkeypatch):
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
    matrix = PreferenceMatrix(p)
    with pytest.raises(InputError, match=r"'merge_rucb' with 3,000 arms in 2 runs at once needs 0.3 GB"):
        simulate(matrix, ["sparring", "merge_rucb"], horizon=10, repetitions=3, jobs=2)
    assert len(simulate(matrix, "merge_rucb", horizon=2, repetitions=1, jobs=2).runs) == 1


def test_the_copies_of_a_state_that_learns_in_turn_are_counted(monkeypatch):
    policy, matrix = POLICIES["savage"], PreferenceMatrix(np.full((LARGE, LARGE), 0.5))
    assert not policy.any_order
    free(monkeypatch, 3 * state_size(policy, LARGE))
    simulate(matrix, "savage", horizon=10, repetitions=1)
    with pytest.raises(InputError, match=r"^policy 'savage' with 3,000 arms needs"):
        simulate(matrix, "savage", horizon=1000, repetitions=1, batch=2)
    with pytest.raises(InputError, match=r"^policy 'savage' with 3,000 arms needs"):
        rng = np.random.default_rng()
        Learner("savage", LARGE, horizon=1000, rng=rng, others=rng, order=range(LARGE))


def test_the_unused_outcomes_of_each_pair_are_counted(monkeypatch):
    free(monkeypatch, 10**8)
    late = Lateness(2, 0, np.random.default_rng())
    with pytest.raises(InputError, match=r"^2 comparisons whose outcomes are not known needs 0.1 GB of memory"):
        new_late(POLICIES["savage"], None, LARGE, late, late.others)  # 2 x 3,000 x 3,000 numbers of 8 bytes: 0.144 GB
    _, policy, params = POLICIES.configure("rucb")
    new_late(policy, policy.init(2, 0, params), LARGE, late, late.others)


@pytest.mark.parametrize(
    "make, size", [(lambda: PreferenceMatrix(np.broadcast_to(0.5, (4000, 4000))), 0.1), (lambda: equal_gaps(4000), 0.6)]
)
def test_a_matrix_that_needs_more_than_there_is_is_refused(monkeypatch, make, size):
    free(monkeypatch, 10**8)
    with pytest.raises(InputError, match=rf"a preference matrix of 4,000 rankers needs {size} GB of memory"):
        make()
    assert len(from_utilities(np.zeros(900))) == 900


def test_a_large_matrix_is_checked_in_blocks():
    p = np.full((1100, 1100), 0.5)
    p[1050, 7] = 1.5
    with pytest.raises(InputError, match=r"p\['1050', '7'\] must be between 0 and 1, not 1.5"):
        PreferenceMatrix(p)
    p[1050, 7], p[7, 1050] = 0.6, 0.5
    with pytest.raises(InputError, match=r"p\['7', '1050'\] \+ p\['1050', '7'\] must be 1, not 1.1"):
        PreferenceMatrix(p)
    p[7, 1050] = 0.4
    exact = PreferenceMatrix(p)
    assert not exact.comparisons.any() and not exact.comparisons.flags.writeable and exact.comparisons.dtype == np.int64
