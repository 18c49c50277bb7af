"""Files of runs are joined without losing runs or changing files in use."""

from __future__ import annotations

import errno
import io
import os
import shutil
from pathlib import Path

import pytest

from ltr_duel.core import InputError
from ltr_duel.experiment.backends.backend import Backend
from ltr_duel.experiment.index import Index
from ltr_duel.experiment.joining import MANY, join, join_if_many
from ltr_duel.experiment.leases import Driver
from ltr_duel.experiment.plan import Shard
from ltr_duel.experiment.results import StudyResults
from ltr_duel.experiment.run import run_experiment
from ltr_duel.experiment.store import Store, StoreFullError
from ltr_duel.experiment.verify import verify_store
from tests.experiment.conftest import add_row, damage, matrix_spec, plan_of, results_of, row_of, runs_in

ONE = Backend(jobs=1)


@pytest.fixture
def plan(spec_file):
    return plan_of(spec_file(matrix_spec(["rucb"], repetitions=9, horizon=50)))


@pytest.fixture
def store(plan, tmp_path, apart):
    """Return a store of three files."""
    for part in (1, 2, 3):
        run_experiment(plan, tmp_path / "store", backend=ONE, shard=Shard(part, 3))
    return Store(tmp_path / "store")


def files(store):
    return {path.name for path in store.runs.iterdir()}


def test_files_are_joined_and_hold_the_same(store):
    expected, before = results_of(store.folder), files(store)
    assert len(before) == 3
    join(store, before)
    assert len(files(store)) == 1 and not files(store) & before
    assert results_of(store.folder) == expected
    assert verify_store(store.folder, sample=2).complaints == []


def test_records_that_were_replaced_are_left_out_and_the_newest_are_kept(store, plan):
    expected = results_of(store.folder)
    lost = runs_in(store.folder)[0]
    damage(store.folder, lost)
    run_experiment(plan, store.folder, backend=ONE, retry=True)
    size = sum(path.stat().st_size for path in store.runs.iterdir())
    join(store, files(store))
    assert sum(path.stat().st_size for path in store.runs.iterdir()) < size
    assert results_of(store.folder) == expected


def test_the_file_of_a_living_process_is_left_alone(store):
    name = sorted(files(store))[0]
    with Driver(store, {"jobs": 1, "backend": "threads"}) as driver:
        (store.runs / name).rename(store.runs / f"{driver.id}.arrows")
        join(store, files(store))
        assert f"{driver.id}.arrows" in files(store) and len(files(store)) == 2


def test_a_process_that_begins_joins_files_when_there_are_many(store, plan):
    expected = results_of(store.folder)
    torn = sorted(files(store))[0]
    for number in range(MANY - 3):
        shutil.copy(store.runs / torn, store.runs / f"{number:032x}.arrows")
    with (store.runs / torn).open("ab") as file:
        file.write(b"\xff\xff\xff\xff\x90\1\0\0 half a message")
    assert run_experiment(plan, store.folder, backend=ONE).already_done == 9
    assert len(files(store)) == 1 and results_of(store.folder) == expected


def test_files_in_which_bytes_are_no_runs_are_joined_only_on_request(store, monkeypatch):
    digest = runs_in(store.folder)[0]
    hurt = store.scan().done[digest].file
    damage(store.folder, digest)
    monkeypatch.setattr("ltr_duel.experiment.joining.MANY", 3)
    join_if_many(store)
    assert hurt in files(store) and len(files(store)) == 2 and store.scan().broken
    join(store, files(store))
    assert not store.scan().broken and len(store.scan().done) == 8


def test_a_kill_between_the_new_file_and_the_removal_of_the_old_ones_leaves_runs_twice(store, monkeypatch):
    expected = results_of(store.folder)

    def killed(self, path):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Store, "remove", killed)
        join(store, files(store))
    assert len(files(store)) == 4 and results_of(store.folder) == expected
    join(store, files(store))
    assert len(files(store)) == 1 and results_of(store.folder) == expected


def test_results_are_read_though_files_are_joined_meanwhile(store):
    results, before = StudyResults(store.folder), StudyResults(store.folder).to_frame()
    join(store, files(store))
    assert results.to_frame().equals(before)


def test_few_files_are_left_as_they_are(store):
    before = files(store)
    join_if_many(store)
    assert files(store) == before


def test_the_file_of_a_paused_process_on_this_machine_is_left_alone(store):
    before, row = files(store), row_of(store.folder, runs_in(store.folder)[0])
    with Driver(store, {"jobs": 1, "backend": "threads"}) as driver:
        add_row(store.folder, row, name=f"{driver.id}.arrows", generation=1)
        os.utime(store.drivers / f"{driver.id}.lease", (1e9, 1e9))
        join(store, files(store))
        assert f"{driver.id}.arrows" in files(store) and not files(store) & before


def test_runs_are_appended_again_if_their_file_was_removed_meanwhile(store, monkeypatch):
    row = row_of(store.folder, runs_in(store.folder)[0])

    def opened(path, *how, **more):
        monkeypatch.undo()
        file = io.FileIO(path, "ab")
        Path(path).unlink()
        return file

    monkeypatch.setattr("ltr_duel.experiment.store.open", opened, raising=False)
    add_row(store.folder, row, run="ab" * 32)
    assert "ab" * 32 in store.scan().done


def test_runs_that_are_appended_while_files_are_joined_are_kept(store, monkeypatch):
    row, name = row_of(store.folder, runs_in(store.folder)[0]), min(files(store))
    batches = Index.batches

    def fails_once(self, *given):
        monkeypatch.setattr(Index, "batches", batches)
        add_row(store.folder, row, name=name, run="ab" * 32)
        raise InputError("cannot be read")

    monkeypatch.setattr(Index, "batches", fails_once)
    join(store, files(store))
    assert len(store.scan().done) == 10


def test_the_new_file_is_on_the_disk_before_the_old_ones_are_removed(store, monkeypatch):
    done: list[str] = []
    sync, remove = os.fsync, Store.remove
    monkeypatch.setattr(os, "fsync", lambda handle: (done.append("sync"), sync(handle)))
    monkeypatch.setattr(Store, "remove", lambda self, path: (done.append("remove"), remove(self, path)))
    join(store, files(store))
    assert done == ["sync", "sync", "remove", "remove", "remove"]


def test_files_are_not_joined_on_a_full_disk(store, monkeypatch):
    def full(*given):
        raise OSError(errno.ENOSPC, "full")

    before = files(store)
    monkeypatch.setattr("ltr_duel.experiment.joining.write_batches", full)
    monkeypatch.setattr("ltr_duel.experiment.joining.MANY", 3)
    join_if_many(store)
    assert files(store) == before
    with pytest.raises(StoreFullError, match="no space left"):
        join(store, before)
    assert files(store) == before
