"""The store: what is in it is whole, what is not trusted is named, and nothing in it has to be unpickled."""

from __future__ import annotations

import errno
import json
import os
import shutil
import tracemalloc
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from ltr_duel.core.errors import InputError
from ltr_duel.experiment.backends.backend import Backend
from ltr_duel.experiment.merge import merge_stores
from ltr_duel.experiment.plan_file import read_plan, write_plan
from ltr_duel.experiment.problem import open_problem
from ltr_duel.experiment.results import StudyResults
from ltr_duel.experiment.run import run_experiment
from ltr_duel.experiment.scheduler import Scheduler
from ltr_duel.experiment.status import read_status
from ltr_duel.experiment.store import Store, StoreFullError
from ltr_duel.experiment.verify import verify_store
from tests.experiment.conftest import matrix_spec, plan_of, results_of

ONE = Backend(jobs=1)


@pytest.fixture
def plan(spec_file):
    return plan_of(spec_file(matrix_spec(["rucb"], repetitions=6, horizon=100)))


@pytest.fixture
def store(plan, tmp_path):
    folder = tmp_path / "store"
    run_experiment(plan, folder, backend=ONE)
    return Store(folder)


def runs(store):
    return sorted((store.folder / "runs").glob("*.parquet"))


def test_a_manifest_says_where_a_run_comes_from(store):
    for path in runs(store):
        manifest = json.loads(path.with_suffix(".json").read_text())
        assert manifest["run"] == path.stem and manifest["policy"] == "rucb" and len(manifest["sources_sha256"]) == 64
        assert {"ltr-duel", "numpy", "numba"} <= set(manifest["versions"])
        assert {"git", "processor", "spec", "seconds", "duels_per_second", "matrix_sha256", "host"} <= set(manifest)


def test_damaged_and_foreign_files_are_named_not_trusted_and_replaced_on_request(store, plan):
    expected = results_of(store.folder)
    cut, empty, other, text = runs(store)[:4]
    cut.write_bytes(cut.read_bytes()[:-100])
    empty.write_bytes(b"")
    text.write_text("not a run at all, but long enough to be one\n")
    (store.folder / "runs" / "notes.txt").write_text("mine")
    report = run_experiment(plan, store.folder, backend=ONE)
    assert set(report.damaged) == {cut.stem, empty.stem, text.stem} and report.done == 0
    status = read_status(store.folder)
    assert set(status.damaged) == set(report.damaged) and status.foreign == ["notes.txt"] and status.done == 3
    assert "truncated" in status.damaged[cut.stem] and "not a Parquet" in status.damaged[text.stem]
    report = run_experiment(plan, store.folder, backend=ONE, retry=True)
    assert (report.done, report.already_done, report.damaged) == (3, 3, {})
    assert results_of(store.folder) == expected and other.exists()


def test_verify_finds_what_a_glance_does_not(store):
    flipped, swapped, other, orphan = runs(store)[:4]
    data = bytearray(flipped.read_bytes())
    data[20] ^= 1
    flipped.write_bytes(bytes(data))
    shutil.copy(other, swapped)
    orphan.with_suffix(".json").unlink()
    complaints = verify_store(store.folder, sample=0).complaints
    assert len(complaints) == 3
    assert any(flipped.stem in one and "not the one its manifest describes" in one for one in complaints)
    assert any(swapped.stem in one and f"of another run, {other.stem}" in one for one in complaints)
    assert any(orphan.stem in one and "manifest is missing" in one for one in complaints)


def test_verify_runs_a_sample_again(store, plan):
    verdict = verify_store(store.folder, sample=4)
    assert (verdict.checked, verdict.repeated, verdict.complaints) == (6, 4, [])
    # A result that is whole and has a fitting manifest, but is not what the key leads to.
    from ltr_duel.experiment.run_file import encode_run, read_run

    path = runs(store)[0]
    run = read_run(path, "rucb")
    pulls = run.pulls.copy()
    pulls[-1] += 1
    forged = encode_run(type(run)(**{**run.__dict__, "pulls": pulls}))
    path.write_bytes(forged)
    manifest = json.loads(path.with_suffix(".json").read_text())
    path.with_suffix(".json").write_text(json.dumps(manifest | {"sha256": sha256(forged).hexdigest()}))
    (complaint,) = verify_store(store.folder, sample=6).complaints
    assert path.stem in complaint and "other bytes this time" in complaint


def test_existing_runs_can_be_refused_or_done_again(store, plan):
    with pytest.raises(InputError, match="6 of the planned runs exist already"):
        run_experiment(plan, store.folder, on_existing="error")
    with pytest.raises(InputError, match="did you mean 'reuse'"):
        run_experiment(plan, store.folder, on_existing="reus")
    before = [path.stat().st_mtime_ns for path in runs(store)]
    report = run_experiment(plan, store.folder, backend=ONE, on_existing="overwrite")
    assert (report.done, report.already_done) == (6, 0)
    assert all(path.stat().st_mtime_ns > time for path, time in zip(runs(store), before, strict=True))


def test_a_folder_of_something_else_is_left_alone(plan, tmp_path):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "a.txt").write_text("dear")
    with pytest.raises(InputError, match="holds files that are not of an experiment"):
        run_experiment(plan, tmp_path / "letters")
    for look in (read_status, verify_store):
        with pytest.raises(InputError, match="no results of 'ltr-duel run' are here"):
            look(tmp_path / "letters")


def test_a_merge_refuses_two_files_of_one_run_that_differ(store, plan, tmp_path):
    run_experiment(plan, tmp_path / "other", backend=ONE)
    path = runs(Store(tmp_path / "other"))[0]
    damage(path)
    assert len(merge_stores(tmp_path / "left out", [tmp_path / "other"]).damaged) == 1
    manifest = json.loads(path.with_suffix(".json").read_text())
    path.with_suffix(".json").write_text(json.dumps(manifest | {"sha256": sha256(path.read_bytes()).hexdigest()}))
    with pytest.raises(InputError, match="should be the same and are not; nothing was merged"):
        merge_stores(tmp_path / "both", [store.folder, tmp_path / "other"])
    assert not (tmp_path / "both").exists()
    assert merge_stores(tmp_path / "twice", [store.folder, store.folder]) == (6, 6, [])


def test_what_writers_that_died_have_left_is_swept_up(store, plan):
    (store.folder / "tmp" / "999999999-abc").write_bytes(b"half a run")
    (store.folder / "drivers" / "dead").write_text(json.dumps({"machine": "elsewhere", "pid": 1, "start": "1"}))
    os.utime(store.folder / "drivers" / "dead", (1, 1))
    digest = runs(store)[0].stem
    store.run_path(digest).unlink()
    (store.folder / "claims" / digest).symlink_to("dead")
    assert read_status(store.folder).running == 0
    assert run_experiment(plan, store.folder, backend=ONE).done == 1
    assert not any((store.folder / "tmp").iterdir()) and not any((store.folder / "drivers").iterdir())
    assert not any((store.folder / "claims").iterdir())


def test_a_driver_on_another_machine_is_believed_while_its_heart_beats(store, plan):
    from ltr_duel.experiment.leases import Driver, live_driver

    about = {"machine": "elsewhere", "host": "x", "pid": 1, "start": "1", "jobs": 1, "backend": "threads", "began": 0}
    (store.folder / "drivers" / "far").write_text(json.dumps(about))
    digest = "0" * 64
    (store.folder / "claims" / digest).symlink_to("far")
    assert live_driver(store, "far")
    with Driver(store, {"jobs": 1, "backend": "threads"}) as driver:
        assert not driver.claim(digest)
        assert driver.claim("1" * 64) and not driver.claim("1" * 64)


def test_a_driver_knows_a_planned_run_by_a_few_bytes(spec_file, tmp_path):
    held = []
    for number in (200, 2200):
        plan = plan_of(spec_file(matrix_spec(["rucb"], repetitions=number, horizon=1)))
        tracemalloc.start()
        scheduler = Scheduler(plan, Store(tmp_path / str(number)), ONE)
        assert scheduler.left == scheduler.planned == number
        held.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
    assert held[1] - held[0] < 30 * 2000


def test_a_plan_is_written_piece_by_piece(spec_file, tmp_path):
    plan = plan_of(spec_file(matrix_spec(["rucb"], repetitions=2200, horizon=1)))
    about = {"name": "long", "spec": "", "spec_path": "", "regrets": [], "plugins": []}
    with (tmp_path / "plan.parquet").open("wb") as file:
        write_plan(file, about | {"problems": [{"name": "m", "digest": "", "facts": {}}]}, plan)
    stored = read_plan(tmp_path / "plan.parquet")
    assert stored.runs["digest"].to_pylist() == [run.digest for run in plan] and stored.about["name"] == "long"
    assert stored.runs["repetition"].to_pylist() == list(range(2200))


def test_a_file_is_made_in_tmp_where_a_driver_that_is_killed_leaves_nothing_among_results(plan, tmp_path, monkeypatch):
    made = []
    move = os.replace
    monkeypatch.setattr(os, "replace", lambda source, target: made.append((source, target)) or move(source, target))
    run_experiment(plan, tmp_path / "new", backend=ONE)
    mine = [(Path(source), Path(target)) for source, target in made if (tmp_path / "new") in Path(target).parents]
    assert {target.parent.name for _, target in mine} == {"plans", "problems", "runs", "drivers"}
    assert {source.parent for source, _ in mine} == {tmp_path / "new" / "tmp"}


def test_a_file_that_cannot_be_finished_is_not_there(store):
    before = sorted(store.folder.rglob("*"))
    with (
        pytest.raises(StoreFullError, match="no space left"),
        store.writing(store.place("runs", "0" * 64 + ".parquet")) as file,
    ):
        file.write(b"half")
        raise OSError(errno.ENOSPC, "full")
    assert sorted(store.folder.rglob("*")) == before


def test_reading_a_store_unpickles_nothing(store, monkeypatch):
    import pickle

    def refuse(*args, **kwargs):
        raise AssertionError("unpickled")

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    assert len(StudyResults(store.folder).to_frame()) > 0 and read_status(store.folder).done == 6
    assert not [path for path in store.folder.rglob("*") if path.suffix in (".pkl", ".pickle", ".joblib")]


def damage(path, place=20):
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    data[place + 1] ^= 1
    path.write_bytes(bytes(data))


def test_results_are_not_taken_from_a_run_that_is_not_what_its_manifest_says(store):
    damage(runs(store)[2])
    with pytest.raises(InputError, match=rf"{runs(store)[2].name}: damaged.*verify --repair"):
        StudyResults(store.folder).to_frame()


@pytest.mark.parametrize("how", ["verify", "retry"])
def test_what_is_damaged_is_made_again_on_request_and_nothing_else(store, plan, how):
    expected = results_of(store.folder)
    flipped, forged, orphan, other = runs(store)[:4]
    (matrix,) = (store.folder / "problems").iterdir()
    damage(flipped)
    shutil.copy(other, forged)
    orphan.with_suffix(".json").unlink()
    matrix.write_bytes(b"PAR1 and more PAR1")
    before = other.stat().st_mtime_ns
    assert run_experiment(plan, store.folder, backend=ONE).done == 0, "a glance does not see it"
    if how == "verify":
        verdict = verify_store(store.folder, sample=0, repair=True, jobs=1)
        assert (verdict.checked, verdict.complaints, len(verdict.repaired)) == (6, [], 4)
    else:
        report = run_experiment(plan, store.folder, backend=ONE, retry=True)
        assert (report.done, report.already_done) == (3, 3)
        assert set(report.replaced) == {flipped.stem, forged.stem, orphan.stem}
    assert results_of(store.folder) == expected and other.stat().st_mtime_ns == before
    assert verify_store(store.folder, sample=6, jobs=1) == (6, 6, [], [])


def test_an_interrupted_repair_ends_as_interrupted(store, monkeypatch):
    damage(runs(store)[0])
    run = Scheduler.run
    monkeypatch.setattr(Scheduler, "run", lambda self: run(self)._replace(interrupted=True))
    with pytest.raises(KeyboardInterrupt):
        verify_store(store.folder, sample=0, repair=True, jobs=1)


def test_a_run_that_is_wrong_and_cannot_be_made_again_stays_a_complaint(store, tmp_path):
    (path,) = (store.folder / "plans").iterdir()
    stored = read_plan(path)
    about = stored.about | {"spec": stored.about["spec"].replace('name = "m"', 'name = "n"').replace("0.7", "0.8")}
    with path.open("wb") as file:
        write_plan(file, about, [SimpleNamespace(**row) for row in stored.runs.to_pylist()])
    damage(runs(store)[0])
    verdict = verify_store(store.folder, sample=0, repair=True, jobs=1)
    assert not verdict.repaired and "damaged" in verdict.complaints[0]
    assert "cannot be repaired here: " in verdict.complaints[1] and "matrices[0]" in verdict.complaints[1]


@pytest.mark.parametrize(
    "forge",
    [
        lambda folder: (folder / "problem.json").write_text("[]"),
        lambda folder: (folder / "p.npy").write_bytes((folder / "p.npy").read_bytes()[:-4]),
        lambda folder: np.save(folder / "p.npy", np.array([[0.5, 0.9, 0.9], [0.1, 0.5, 0.9], [0.1, 0.1, 0.5]])),
        lambda folder: (folder / "problem.json").write_text('{"names": 3, "answers": {}}'),
    ],
    ids=["a list", "cut off", "another matrix", "fields missing"],
)
def test_a_problem_that_is_damaged_in_the_cache_is_refused_by_workers_and_made_anew_by_drivers(
    plan, tmp_path, monkeypatch, forge
):
    monkeypatch.setenv("LTR_DUEL_HOME", str(tmp_path / "home"))
    problem = replace(plan.problems[0])
    expected = problem.matrix.p.tolist()
    forge(problem.folder)
    with pytest.raises(InputError, match=rf"{problem.digest}: damaged, or made by another version \("):
        open_problem(str(problem.folder))
    assert open_problem(str(replace(problem).folder)).matrix.p.tolist() == expected


def test_a_store_with_nothing_in_it_is_dropped_and_no_other(tmp_path):
    empty, used = Store(tmp_path / "empty"), Store(tmp_path / "used")
    for one in (empty, used):
        one.prepare()
    used.write(used.place("runs", "a.json"), b"{}")
    for one in (empty, used, Store(tmp_path / "absent")):
        one.drop_if_empty()
    assert [path.name for path in tmp_path.iterdir()] == ["used"] and used.tmp.is_dir()
