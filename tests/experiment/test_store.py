"""The store: its runs are complete, untrusted content is reported, and nothing is unpickled."""

from __future__ import annotations

import errno
import io
import itertools
import json
import os
import tracemalloc
import zlib
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from multiprocessing.pool import ThreadPool
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from ltr_duel.core.errors import InputError
from ltr_duel.experiment.about import Writer
from ltr_duel.experiment.backends.backend import Backend
from ltr_duel.experiment.joining import merge_stores
from ltr_duel.experiment.leases import Driver, claimed, live_driver
from ltr_duel.experiment.plan_file import read_plan, write_plan
from ltr_duel.experiment.problem import open_problem
from ltr_duel.experiment.results import StudyResults
from ltr_duel.experiment.run import run_experiment
from ltr_duel.experiment.run_record import decode_run, encode_run, same_run
from ltr_duel.experiment.scheduler import Scheduler
from ltr_duel.experiment.segment import SHARED, encode_record
from ltr_duel.experiment.status import read_status
from ltr_duel.experiment.store import Store, StoreFullError
from ltr_duel.experiment.stored_run import wrong_with_runs
from ltr_duel.experiment.verify import verify_store
from tests.experiment.conftest import damage, matrix_spec, plan_of, results_of, runs_in, stored_runs

ONE = Backend(jobs=1)
ABOUT = {"jobs": 1, "backend": "threads"}
FAR = {"id": "far", "machine": "elsewhere", "host": "x", "pid": 1, "start": "1", "began": 0} | ABOUT


@pytest.fixture
def plan(spec_file):
    return plan_of(spec_file(matrix_spec(["rucb"], repetitions=6, horizon=100)))


@pytest.fixture
def store(plan, tmp_path):
    folder = tmp_path / "store"
    run_experiment(plan, folder, backend=ONE)
    return Store(folder)


def segment(store):
    """Return the only file of runs."""
    (path,) = (store.folder / "runs").iterdir()
    return path


def test_a_manifest_says_where_a_run_comes_from(store):
    results = StudyResults(store.folder)
    for digest in runs_in(store.folder):
        manifest = results.manifest(digest)
        assert manifest["run"] == digest and manifest["policy"] == "rucb" and len(manifest["sources_sha256"]) == 64
        assert {"ltr-duel", "numpy", "numba"} <= set(manifest["versions"])
        assert {"git", "processor", "spec", "seconds", "duels_per_second", "matrix_sha256", "host"} <= set(manifest)
        assert {"horizon", "repetition", "seed", "finished", "plugins", "experiment", "problem"} <= set(manifest)


def test_runs_of_one_process_share_a_file_and_a_manifest(store):
    assert len(runs_in(store.folder)) == 6 and len(store.scan().shared) == 2
    assert segment(store).stat().st_size < 6_000


def test_bytes_that_are_no_runs_are_named_and_left_out_on_request(store, plan):
    expected, path = results_of(store.folder), segment(store)
    lost = runs_in(store.folder)[2]
    damage(store.folder, lost, at=5)  # in the head, so that the run cannot be identified
    (store.folder / "runs" / "notes.txt").write_text("mine")
    status = read_status(store.folder)
    assert (status.done, status.left, status.foreign) == (5, 1, ["notes.txt"]) and list(status.damaged) == [path.name]
    with pytest.raises(
        InputError, match=rf"{path.name}: damaged: bytes [\d,]+ to [\d,]+ are no runs; .*verify --repair"
    ):
        StudyResults(store.folder)
    (store.folder / "runs" / "notes.txt").unlink()
    report = run_experiment(plan, store.folder, backend=ONE)
    assert (report.done, report.already_done, list(report.damaged)) == (1, 5, [path.name])
    report = run_experiment(plan, store.folder, backend=ONE, retry=True)
    assert (report.done, report.already_done, report.damaged) == (0, 6, {})
    assert results_of(store.folder) == expected and not path.exists() and not read_status(store.folder).damaged


def test_verify_finds_what_a_glance_does_not(store):
    flipped, other = runs_in(store.folder)[:2]
    damage(store.folder, flipped)
    assert not store.scan().broken
    (complaint,) = verify_store(store.folder, sample=0).complaints
    assert f"run {flipped}: damaged: it is not as it was written" in complaint and other not in complaint


def test_verify_finds_a_run_under_the_name_of_another(store):
    (digest, run), (other, _) = stored_runs(store.folder)[:2]
    writer = Writer(partial(store.append, "abc.runs"))
    writer.add(other, run.data, run.about, (), generation=1)
    writer.flush()
    (complaint,) = verify_store(store.folder, sample=0).complaints
    assert f"run {other}: damaged: it is of another run, {digest}" in complaint


def test_any_byte_that_is_changed_is_seen_and_can_be_mended(store, tmp_path):
    """Checksums detect a change of any byte; the smallest loss is one run."""
    expected, path = results_of(store.folder), segment(store)
    whole = path.read_bytes()
    places = sorted([*store.scan().done.values(), *(one for (one,) in store.scan().shared.values())])
    assert [place.offset for place in places] + [len(whole)] == [0] + [one.offset + one.size for one in places]
    for place in range(0, len(whole), 31):
        data = bytearray(whole)
        data[place] ^= 1 << place % 8
        path.write_bytes(bytes(data))
        found = store.scan()
        wrong = [*wrong_with_runs(store, found, found.done).values(), *found.broken.values()]
        assert any(wrong), place
    verify_store(store.folder, sample=0, repair=True, jobs=1)
    assert results_of(store.folder) == expected
    assert verify_store(store.folder, sample=6, jobs=1) == (6, 6, [], [])


def test_a_file_of_runs_that_is_cut_anywhere_is_a_store_with_fewer_runs(store, plan):
    expected, path = results_of(store.folder), segment(store)
    whole, digests = path.read_bytes(), runs_in(store.folder)
    ends = [one.offset + one.size for one in sorted(store.scan().done.values())]
    for end in range(0, len(whole) + 1, 37):
        path.write_bytes(whole[:end])
        assert runs_in(store.folder) == digests[: sum(one <= end for one in ends)] and not store.scan().broken, end
    path.write_bytes(whole[: ends[2] + 50])
    assert read_status(store.folder).left == 3
    assert run_experiment(plan, store.folder, backend=ONE).done == 3
    assert results_of(store.folder) == expected and verify_store(store.folder, sample=0).complaints == []


@pytest.mark.parametrize(
    "unfinished", [lambda raw: raw[:70], lambda raw: raw[:20], lambda raw: bytes(200), lambda raw: b"?" * 200]
)
def test_what_a_living_process_is_writing_is_found_when_it_is_whole(store, unfinished):
    (digest, run), *_ = stored_runs(store.folder)
    parts = []
    writer = Writer(parts.append)
    writer.add(digest, run.data, run.about, (), generation=5)
    writer.flush()
    name = "ab" * 16
    (store.drivers / name).touch()
    path = store.runs / f"{name}.runs"
    path.write_bytes(parts[0] + unfinished(parts[0]))
    found = store.scan()
    assert found.done[digest].segment == path.name and not found.broken
    found.forget()
    found.look()
    assert not found.done and not found.broken
    path.write_bytes(parts[0] * 2)
    found.look()
    assert found.done[digest].offset == len(parts[0]) and not found.broken


def test_verify_runs_a_sample_again(store, plan):
    verdict = verify_store(store.folder, sample=4)
    assert (verdict.checked, verdict.repeated, verdict.complaints) == (6, 4, [])
    # A result that is whole and has a fitting manifest, but is not what the key leads to.
    digest, stored = stored_runs(store.folder)[0]
    run = stored.result("rucb")
    pulls = run.pulls.copy()
    pulls[-1] += 1
    forged = encode_run(type(run)(**{**run.__dict__, "pulls": pulls}))
    writer = Writer(partial(store.append, "abc.runs"))
    writer.add(digest, forged, stored.about, (), generation=1)
    writer.flush()
    (complaint,) = verify_store(store.folder, sample=6).complaints
    assert digest in complaint and "other bytes this time" in complaint


def test_existing_runs_can_be_refused_or_done_again(store, plan):
    with pytest.raises(InputError, match="6 of the planned runs exist already"):
        run_experiment(plan, store.folder, on_existing="error")
    with pytest.raises(InputError, match="did you mean 'reuse'"):
        run_experiment(plan, store.folder, on_existing="reus")
    before = store.scan().done
    report = run_experiment(plan, store.folder, backend=ONE, on_existing="overwrite")
    assert (report.done, report.already_done) == (6, 0)
    after = store.scan().done
    assert all(after[one].generation == place.generation + 1 for one, place in before.items()) and len(after) == 6


def test_a_folder_of_something_else_is_left_alone(plan, tmp_path):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "a.txt").write_text("dear")
    with pytest.raises(InputError, match="holds files that are not of an experiment"):
        run_experiment(plan, tmp_path / "letters")
    for look in (read_status, verify_store):
        with pytest.raises(InputError, match="no results of 'ltr-duel run' are here"):
            look(tmp_path / "letters")


def test_a_merge_refuses_two_results_of_one_run_that_differ(store, plan, tmp_path):
    run_experiment(plan, tmp_path / "other", backend=ONE)
    other = Store(tmp_path / "other")
    damage(other.folder, runs_in(other.folder)[0])
    merged = merge_stores(tmp_path / "left out", [other.folder])
    assert merged.copied == 5 and "it is not as it was written" in merged.damaged[0]
    (_, one), (digest, two) = stored_runs(store.folder)[:2]
    writer = Writer(partial(other.append, "abc.runs"))
    writer.add(digest, one.data, two.about, (), generation=1)
    writer.flush()
    with pytest.raises(InputError, match="should be the same and are not; nothing was merged"):
        merge_stores(tmp_path / "both", [store.folder, other.folder])
    assert not (tmp_path / "both").exists()
    assert merge_stores(tmp_path / "twice", [store.folder, store.folder]) == (6, 6, [])
    assert results_of(tmp_path / "twice") == results_of(store.folder)


def test_what_writers_that_died_have_left_is_swept_up(store, plan):
    (store.folder / "tmp" / "999999999-abc").write_bytes(b"half a run")
    (store.folder / "drivers" / "dead").write_text(json.dumps(FAR))
    os.utime(store.folder / "drivers" / "dead", (1, 1))
    path, digest = segment(store), runs_in(store.folder)[-1]
    path.write_bytes(path.read_bytes()[:-1])
    os.link(store.folder / "drivers" / "dead", store.folder / "claims" / digest)
    assert read_status(store.folder).running == 0
    assert run_experiment(plan, store.folder, backend=ONE).done == 1
    assert not any((store.folder / "tmp").iterdir()) and not any((store.folder / "drivers").iterdir())
    assert not any((store.folder / "claims").iterdir())


def test_a_driver_on_another_machine_is_believed_while_its_heart_beats(store, plan):
    (store.folder / "drivers" / "far").write_text(json.dumps(FAR))
    digest = "0" * 64
    os.link(store.folder / "drivers" / "far", store.folder / "claims" / digest)
    assert live_driver(store, "far")
    with Driver(store, ABOUT) as driver:
        assert not driver.claim(digest)
        assert driver.claim("1" * 64) and not driver.claim("1" * 64)


@pytest.mark.parametrize("links", [True, False])
def test_a_claim_can_be_made_once_and_again_when_it_is_void_with_hard_links_and_without(store, monkeypatch, links):
    if not links:
        monkeypatch.setattr(os, "link", refuse_links)
    (store.folder / "claims" / ("2" * 64)).write_bytes(b"")  # of a driver that died before it was written
    with suppress(OSError):
        (store.folder / "claims" / ("3" * 64)).symlink_to("one")  # of an earlier version
    with Driver(store, ABOUT) as one, Driver(store, ABOUT) as two:
        assert one.claim("1" * 64) and not one.claim("1" * 64) and not two.claim("1" * 64)
        assert two.claim("2" * 64) and not one.claim("2" * 64) and two.claim("3" * 64)
        assert claimed(store) == {"1" * 64, "2" * 64, "3" * 64}
        one.release("1" * 64)
        assert two.claim("1" * 64)
    assert not any((store.folder / "claims").iterdir()) and not any((store.folder / "drivers").iterdir())


def refuse_links(*_):
    raise OSError(errno.EMLINK, "too many links")


def test_many_drivers_never_hold_one_claim_together(store, monkeypatch):
    """Half of the claims are links, half are copies, as on a file system that limits the links to a file."""
    link, turns = os.link, itertools.count()
    monkeypatch.setattr(os, "link", lambda *paths: (refuse_links if next(turns) % 2 else link)(*paths))
    digests = [f"{number:064x}" for number in range(60)]

    def work(driver):
        return [digest for digest in digests if driver.claim(digest)]

    with ExitStack() as drivers, ThreadPool(4) as pool:
        made = pool.map(work, [drivers.enter_context(Driver(store, ABOUT)) for _ in range(4)])
    assert sorted(chain.from_iterable(made)) == digests


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
    assert {target.parent.name for _, target in mine} == {"plans", "problems", "drivers"}
    assert {source.parent for source, _ in mine} == {tmp_path / "new" / "tmp"}


def test_a_file_that_cannot_be_finished_is_not_there(store):
    before = sorted(store.folder.rglob("*"))
    with (
        pytest.raises(StoreFullError, match="no space left"),
        store.writing(store.place("runs", "0" * 32 + ".runs")) as file,
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


def test_what_cannot_be_appended_to_the_end_is_taken_back(store, monkeypatch):
    class Full(io.FileIO):
        def write(self, data):
            if len(data) > 30:
                return super().write(data[:30])
            raise OSError(errno.ENOSPC, "full")

    path = segment(store)
    before = path.read_bytes()
    monkeypatch.setattr("ltr_duel.experiment.store.open", lambda *args, **kw: Full(*args), raising=False)
    with pytest.raises(StoreFullError, match="no space left"):
        store.append(path.name, b"x" * 50)
    assert path.read_bytes() == before


def test_results_are_not_taken_from_a_run_that_is_not_as_it_was_written(store):
    digest = runs_in(store.folder)[2]
    damage(store.folder, digest)
    with pytest.raises(InputError, match=rf"run {digest}: damaged: .*verify --repair"):
        StudyResults(store.folder).to_frame()


@pytest.mark.parametrize("share", [0.5, 0.25])
def test_a_run_is_read_as_it_was_written(store, share):
    run, rng = stored_runs(store.folder)[0][1].result("rucb"), np.random.default_rng(0)
    counts = {name: rng.integers(0, 99, run.pulls.shape).cumsum(axis=0) for name in ("pulls", "best", "worst")}
    written = replace(run, **counts, exposure=share * counts["pulls"])
    read = decode_run(encode_run(written), run.key, "rucb")
    assert read.decisions == run.decisions
    for name in (*counts, "exposure", "checkpoints", "recommended", "outcomes"):
        np.testing.assert_array_equal(getattr(read, name), getattr(written, name))


def test_a_run_of_a_version_that_did_not_count_outcomes_is_read_and_is_the_same_run(store):
    run = stored_runs(store.folder)[0][1].result("rucb")
    assert run.outcomes is not None
    before, now = encode_run(replace(run, outcomes=None)), encode_run(run)
    assert decode_run(before, run.key, "rucb").outcomes is None
    assert before != now and same_run(before, now) and same_run(now, before)
    other = encode_run(replace(run, outcomes=None, pulls=run.pulls + run.pulls[:, ::-1]))
    assert not same_run(other, now)
    assert not same_run(encode_run(replace(run, outcomes=run.outcomes + 1)), now)


@pytest.mark.parametrize("change", ["late", "backward", "no arm", "less than an arm", "arms", "too short", "too long"])
def test_a_run_that_cannot_be_one_of_its_key_is_named_among_others(store, change):
    digest, stored = stored_runs(store.folder)[3]
    run = stored.result("rucb")
    changed = {
        "late": {"checkpoints": run.checkpoints + 1},
        "backward": {"checkpoints": np.concatenate([run.checkpoints[1::-1], run.checkpoints[2:]])},
        "no arm": {"recommended": np.full_like(run.recommended, 3)},
        "less than an arm": {"recommended": np.full_like(run.recommended, -1)},
        "arms": {name: getattr(run, name)[:, :2] for name in ("pulls", "exposure", "best", "worst")},
        "too long": {"exposure": run.pulls * 0.25},
    }
    forged = encode_run(replace(run, **changed.get(change, {})))
    if change == "too short":
        forged = (len(run.checkpoints) + 1).to_bytes(4, "little") + forged[4:]
    if change == "too long":  # the length in the head is too large
        forged = forged[:17] + b"\2" + forged[18:]
    writer = Writer(partial(store.append, "abc.runs"))
    writer.add(digest, forged, stored.about, (), generation=1)
    writer.flush()
    for table in (StudyResults(store.folder).to_frame, StudyResults(store.folder).summary):
        with pytest.raises(InputError, match=rf"run {digest}: damaged: .*verify --repair"):
            table()


@pytest.mark.parametrize("how", ["verify", "retry"])
def test_what_is_damaged_is_made_again_on_request_and_nothing_else(store, plan, how):
    expected = results_of(store.folder)
    flipped, other, forged = runs_in(store.folder)[:3]
    (matrix,) = (store.folder / "problems").iterdir()
    damage(store.folder, flipped)
    there = dict(stored_runs(store.folder))
    writer = Writer(partial(store.append, "abc.runs"))
    writer.add(forged, there[other].data, there[other].about, (), generation=1)
    writer.flush()
    matrix.write_bytes(b"PAR1 and more PAR1")
    before = store.scan().done[other]
    assert run_experiment(plan, store.folder, backend=ONE).done == 0, "a glance does not see it"
    if how == "verify":
        verdict = verify_store(store.folder, sample=0, repair=True, jobs=1)
        assert (verdict.checked, verdict.complaints, len(verdict.repaired)) == (6, [], 3)
    else:
        report = run_experiment(plan, store.folder, backend=ONE, retry=True)
        assert (report.done, report.already_done) == (2, 4)
        assert set(report.replaced) == {flipped, forged}
    assert results_of(store.folder) == expected and store.scan().done[other] == before
    assert verify_store(store.folder, sample=6, jobs=1) == (6, 6, [], [])


def test_a_common_manifest_that_is_not_what_it_is_named_by_is_refused(store):
    name, (place,) = max(store.scan().shared.items())
    path = segment(store)
    data, forged = path.read_bytes(), encode_record(SHARED, name, b"", zlib.compress(b"{}"))
    path.write_bytes(data[: place.offset] + forged + data[place.offset + place.size :])
    complaints = verify_store(store.folder, sample=0).complaints
    assert len(complaints) == 6 and all("its manifest is not as it was written" in one for one in complaints)


@pytest.mark.parametrize("how", ["verify", "retry"])
def test_runs_whose_common_manifest_is_damaged_are_made_again(store, plan, how):
    expected = results_of(store.folder)
    (place,) = max(store.scan().shared.values())
    path = segment(store)
    data = bytearray(path.read_bytes())
    data[place.offset + place.size - 40] ^= 1
    path.write_bytes(bytes(data))
    if how == "verify":
        verdict = verify_store(store.folder, sample=0, repair=True, jobs=1)
        assert (verdict.complaints, len(verdict.repaired)) == ([], 6)
        assert "its manifest is not as it was written" in verdict.repaired[0]
    else:
        assert run_experiment(plan, store.folder, backend=ONE, retry=True).done == 6
    assert results_of(store.folder) == expected


def test_an_interrupted_repair_ends_as_interrupted(store, monkeypatch):
    damage(store.folder, runs_in(store.folder)[0])
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
    damage(store.folder, runs_in(store.folder)[0])
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
