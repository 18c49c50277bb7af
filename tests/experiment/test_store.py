"""The store: its runs are complete, untrusted content is reported, and nothing is unpickled."""

from __future__ import annotations

import errno
import io
import json
import os
import random
import re
import shutil
import tracemalloc
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain
from multiprocessing.pool import ThreadPool
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from filelock._identity import host_name

from ltr_duel.cli.main import main
from ltr_duel.core.errors import InputError
from ltr_duel.experiment.backends.backend import Backend
from ltr_duel.experiment.index import Index
from ltr_duel.experiment.leases import Driver, claimed
from ltr_duel.experiment.plan_file import read_plan, write_plan
from ltr_duel.experiment.problem import open_problem
from ltr_duel.experiment.results import StudyResults
from ltr_duel.experiment.run import run_experiment
from ltr_duel.experiment.runs_file import HEADER, encode_rows
from ltr_duel.experiment.scheduler import Scheduler
from ltr_duel.experiment.status import read_status
from ltr_duel.experiment.store import Store, StoreFullError
from ltr_duel.experiment.verify import verify_store
from tests.experiment.conftest import (
    add_row,
    damage,
    matrix_spec,
    plan_of,
    results_of,
    row_of,
    runs_in,
)

ONE = Backend(jobs=1)
ABOUT = {"jobs": 1, "backend": "threads"}
FAR = {"id": "f" * 32, "host": "elsewhere", "pid": 1, "began": 0} | ABOUT


def live_elsewhere(store):
    """Write the files of a live driver on another machine."""
    name = FAR["id"]
    (store.drivers / name).write_text(json.dumps(FAR))
    marker = "filelock/2\npid=1\nhost=elsewhere\nmode=lease\ntoken=abc\nduration=60.0\n"
    (store.drivers / f"{name}.lease").write_text(marker)
    return name


@pytest.fixture
def plan(spec_file):
    return plan_of(spec_file(matrix_spec(["rucb"], repetitions=6, horizon=100)))


@pytest.fixture
def store(plan, tmp_path, apart):
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


def test_runs_of_one_process_share_a_file_and_an_origin(store):
    assert len(runs_in(store.folder)) == 6 and len(list(store.origins.iterdir())) == 1
    assert segment(store).stat().st_size < 14_000


def test_runs_that_are_done_together_share_a_batch(plan, tmp_path):
    run_experiment(plan, tmp_path / "store", backend=ONE)
    batches = {place[:2] for place in Store(tmp_path / "store").scan().done.values()}
    assert len(batches) < 6 and segment(Store(tmp_path / "store")).stat().st_size < 9_000


def test_bytes_that_are_no_runs_are_named_and_left_out_on_request(store, plan):
    expected, path = results_of(store.folder), segment(store)
    lost = runs_in(store.folder)[2]
    damage(store.folder, lost)
    (store.folder / "runs" / "notes.txt").write_text("mine")
    status = read_status(store.folder)
    assert (status.done, status.left, status.foreign) == (5, 1, ["notes.txt"]) and list(status.damaged) == [path.name]
    with pytest.raises(
        InputError, match=rf"{path.name}: damaged: bytes [\d,]+ to [\d,]+ are not runs; .*verify --repair"
    ):
        StudyResults(store.folder)
    (store.folder / "runs" / "notes.txt").unlink()
    report = run_experiment(plan, store.folder, backend=ONE)
    assert (report.done, report.already_done, list(report.damaged)) == (1, 5, [path.name])
    assert list(run_experiment(plan, store.folder, backend=ONE, retry=True).damaged) == [path.name]
    verdict = verify_store(store.folder, sample=0, repair=True, jobs=1)
    assert (verdict.checked, verdict.complaints, len(verdict.repaired), verdict.executed) == (6, [], 1, 0)
    assert results_of(store.folder) == expected and not path.exists() and not read_status(store.folder).damaged


def test_verify_finds_a_run_under_the_name_of_another(store):
    digest, other = runs_in(store.folder)[:2]
    add_row(store.folder, row_of(store.folder, digest), run=other, generation=1)
    (complaint,) = verify_store(store.folder, sample=0).complaints
    assert f"run {other}: damaged: it belongs to another run, {digest}" in complaint
    with pytest.raises(InputError, match=f"run {other}: damaged: it belongs to another run"):
        StudyResults(store.folder).to_frame()


def test_any_byte_that_is_changed_is_seen_and_can_be_mended(store, tmp_path):
    """Every byte counts, except in the padding of the schema; damage at the end may count as missing runs."""
    expected, path = results_of(store.folder), segment(store)
    whole, last = path.read_bytes(), max(store.scan().done.values())
    for place in range(8, len(whole), 61):
        data = bytearray(whole)
        data[place] ^= 1 << place % 8
        path.write_bytes(bytes(data))
        index = store.scan()
        lost = 6 - len(index.done)
        assert lost <= 1 and (lost == 0 or index.broken or place >= last.offset), place
        assert lost == 1 or place < 2_000, place
    damage(store.folder, min(index.done, key=index.done.get))
    verify_store(store.folder, sample=0, repair=True, jobs=1)
    assert results_of(store.folder) == expected
    assert verify_store(store.folder, sample=6, jobs=1) == (6, 6, [], [], 0, 0)


def test_a_file_of_runs_that_is_cut_anywhere_is_a_store_with_fewer_runs(store, plan):
    expected, path = results_of(store.folder), segment(store)
    whole, digests = path.read_bytes(), runs_in(store.folder)
    ends = [one.offset + one.size for one in sorted(store.scan().done.values())]
    for end in range(0, len(whole) + 1, 137):
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
    digest = runs_in(store.folder)[0]
    message = encode_rows([row_of(store.folder, digest)._replace(generation=5)])
    name = "ab" * 16
    (store.drivers / name).touch()
    path = store.runs / f"{name}.arrows"
    path.write_bytes(HEADER + message + unfinished(message))
    index = store.scan()
    assert index.done[digest].file == path.name and not index.broken
    index.forget()
    index.update()
    assert not index.done and not index.broken
    path.write_bytes(HEADER + message * 2)
    index.update()
    assert index.done[digest].offset == len(HEADER + message) and not index.broken


def test_verify_runs_a_sample_again(store, plan):
    verdict = verify_store(store.folder, sample=4)
    assert (verdict.checked, verdict.repeated, verdict.complaints) == (6, 4, [])
    # A complete result with a valid key, but other values than a run of this key gives.
    digest = runs_in(store.folder)[0]
    row = row_of(store.folder, digest)
    add_row(store.folder, row, steps=[*row.steps[:-1], row.steps[-1] + 1], generation=1)
    (complaint,) = verify_store(store.folder, sample=6).complaints
    assert digest in complaint and "different counts when repeated" in complaint


def test_a_folder_of_something_else_is_left_alone(plan, tmp_path):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "a.txt").write_text("dear")
    with pytest.raises(InputError, match="contains files that do not belong to an experiment"):
        run_experiment(plan, tmp_path / "letters")
    for look in (read_status, verify_store):
        with pytest.raises(InputError, match="contains no results of 'ltr-duel run'"):
            look(tmp_path / "letters")


def test_a_store_whose_first_process_was_killed_or_has_just_begun_is_used(plan, tmp_path):
    for names in (["plans"], ["plans", "problems", "runs"]):
        folder = tmp_path / str(len(names))
        for name in names:
            (folder / name).mkdir(parents=True)
        assert run_experiment(plan, folder, backend=ONE).done == 6


@pytest.mark.parametrize("name", ["tmp", "drivers", "claims", "runs"])
def test_a_store_with_a_link_in_place_of_a_folder_is_left_alone(store, plan, tmp_path, name):
    shutil.rmtree(store.folder / name)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "letter").write_text("dear")
    os.utime(elsewhere / "letter", (1, 1))
    (store.folder / name).symlink_to(elsewhere)
    with pytest.raises(InputError, match=f"{name}: a link; the folders of a store must not be links"):
        run_experiment(plan, store.folder, backend=ONE)
    assert (elsewhere / "letter").read_text() == "dear"


def test_a_run_with_the_last_generation_or_an_impossible_time_ends_no_command_by_a_traceback(store, plan):
    digest = runs_in(store.folder)[0]
    add_row(store.folder, row_of(store.folder, digest), generation=2**32 - 1, finished=1e300)
    with pytest.raises(InputError, match="its time is impossible"):
        StudyResults(store.folder).manifest(digest)
    assert run_experiment(plan, store.folder, backend=ONE).already_done == 6


def test_folders_among_drivers_and_temporary_files_are_left_alone(store, plan):
    for folder in (store.drivers / "a", store.tmp / "b"):
        folder.mkdir()
        os.utime(folder, (1, 1))
    assert run_experiment(plan, store.folder, backend=ONE).already_done == 6
    assert (store.drivers / "a").is_dir() and (store.tmp / "b").is_dir()


def test_what_writers_that_died_have_left_is_swept_up(store, plan):
    machine = store._temporary.name.split("-")[1]
    (store.folder / "tmp" / f"999999999-{machine}-abc").write_bytes(b"half a run")
    name = live_elsewhere(store)
    lease = store.drivers / f"{name}.lease"
    lease.write_text(
        lease.read_text().replace("host=elsewhere", f"host={host_name()}").replace("pid=1", "pid=999999999")
    )
    path, digest = segment(store), runs_in(store.folder)[-1]
    path.write_bytes(path.read_bytes()[:-1])
    (store.claims / f"{digest}-{name}").touch()
    assert read_status(store.folder).running == 0
    assert run_experiment(plan, store.folder, backend=ONE).done == 1
    assert not any((store.folder / "tmp").iterdir()) and not any((store.folder / "drivers").iterdir())
    assert not any((store.folder / "claims").iterdir())


def test_a_claim_can_be_made_once_and_again_when_it_is_void(store):
    with Driver(store, ABOUT) as one, Driver(store, ABOUT) as two:
        (store.claims / f"{'2' * 64}-{'0' * 32}").touch()  # claim of a driver that died
        (store.claims / ("3" * 64)).touch()  # claim without a driver
        first, second, third = ("1" * 64, "2" * 64, "3" * 64)
        assert one.claim([first, first]) == [first] and two.claim([first]) == []
        assert two.claim([first, second, third]) == [second, third] and one.claim([second]) == []
        assert claimed(store) == {first, second, third}
        one.release(first)
        assert two.claim([first]) == [first]
    assert [path.name for path in store.claims.iterdir()] == ["3" * 64] and not any(store.drivers.iterdir())


def test_many_drivers_never_hold_one_claim_together(store):
    digests = [f"{number:064x}" for number in range(60)]

    def work(driver):
        return [digest for digest in digests for digest in driver.claim([digest])]

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
    with (tmp_path / "plan.parquet").open("wb") as file:
        write_plan(file, plan.about() | {"name": "long"}, plan)
    stored = read_plan(tmp_path / "plan.parquet")
    assert stored.runs["digest"].to_pylist() == [run.digest for run in plan] and stored.about["name"] == "long"
    assert stored.runs["repetition"].to_pylist() == list(range(2200))


def test_a_changed_byte_of_a_plan_is_refused_or_changes_nothing(store):
    (path,), rng = store.plans.iterdir(), random.Random(6)
    sound, refused = read_plan(path), 0
    data = path.read_bytes()
    for place in rng.sample(range(len(data)), 1000):
        hurt = bytearray(data)
        hurt[place] ^= 1 << rng.randrange(8)
        path.write_bytes(hurt)
        try:
            assert read_plan(path) == sound, place
        except InputError as error:
            refused += "damaged, or not a plan" in str(error)
    assert refused > 500


def test_a_file_is_made_in_tmp_where_a_driver_that_is_killed_leaves_nothing_among_results(plan, tmp_path, monkeypatch):
    made = []
    move = os.replace
    monkeypatch.setattr(os, "replace", lambda source, target: made.append((source, target)) or move(source, target))
    run_experiment(plan, tmp_path / "new", backend=ONE)
    mine = [(Path(source), Path(target)) for source, target in made if (tmp_path / "new") in Path(target).parents]
    assert {target.parent.name for _, target in mine} == {"plans", "problems", "drivers", "origins"}
    assert {source.parent for source, _ in mine} == {tmp_path / "new" / "tmp"}


def test_a_file_that_cannot_be_finished_is_not_there(store):
    before = sorted(store.folder.rglob("*"))
    with (
        pytest.raises(StoreFullError, match="no space left"),
        store.writing(store.place("runs", "0" * 32 + ".arrows")) as file,
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


@pytest.mark.parametrize("change", ["late", "backward", "no arm", "less than an arm", "arms", "too short", "too long"])
def test_a_run_that_cannot_be_one_of_its_key_is_named_among_others(store, change):
    digest = runs_in(store.folder)[3]
    row = row_of(store.folder, digest)
    steps, n = np.array(row.steps).reshape(-1, row.checkpoints), row.checkpoints
    late, backward, bad, less = (steps.copy() for _ in range(4))
    late[0, 0] += 1
    backward[0, :2] = steps[0, 0] + steps[0, 1], -1
    bad[1, 0] += 3
    less[1, 0] -= 3
    changed = {
        "late": {"steps": late.ravel()},
        "backward": {"steps": backward.ravel()},
        "no arm": {"steps": bad.ravel()},
        "less than an arm": {"steps": less.ravel()},
        "arms": {"steps": steps[[0, 1, 2, 3, 4, 6, 7, 9, 10]].ravel()},
        "too short": {"checkpoints": n + 1},
        "too long": {"exposure": np.zeros(3 * n + 1)},
    }
    add_row(store.folder, row, generation=1, **changed[change])
    for table in (StudyResults(store.folder).to_frame, StudyResults(store.folder).summary):
        with pytest.raises(InputError, match=rf"run {digest}: damaged: .*verify --repair"):
            table()
    with pytest.raises(
        InputError, match="2 arms" if change == "arms" else rf"run {digest}: damaged: .*verify --repair"
    ):
        StudyResults(store.folder).results("m")


@pytest.mark.parametrize("how", ["verify", "retry"])
def test_what_is_damaged_is_made_again_on_request_and_nothing_else(store, plan, how):
    expected = results_of(store.folder)
    flipped, other, forged = runs_in(store.folder)[:3]
    (matrix,), (segment,) = store.problems.iterdir(), store.runs.iterdir()
    damage(store.folder, flipped)
    add_row(store.folder, row_of(store.folder, other), run=forged, generation=1)
    matrix.write_bytes(b"PAR1 and more PAR1")
    assert list(read_status(store.folder).damaged) == [segment.name]
    if how == "verify":
        verdict = verify_store(store.folder, sample=0, repair=True, jobs=1)
        assert (verdict.checked, verdict.complaints, len(verdict.repaired)) == (5, [], 3)
        assert (verdict.executed, verdict.unfinished) == (2, 0)
    else:
        report = run_experiment(plan, store.folder, backend=ONE, retry=True)
        assert (report.done, report.already_done) == (2, 4)
        assert set(report.replaced) == {forged} and list(report.damaged) == [segment.name]
        assert verify_store(store.folder, sample=0, repair=True, jobs=1).executed == 0
    assert results_of(store.folder) == expected
    assert verify_store(store.folder, sample=6, jobs=1) == (6, 6, [], [], 0, 0)


@pytest.mark.parametrize("how", ["verify", "retry"])
@pytest.mark.parametrize("content", [b"{}", None])
def test_runs_whose_origin_is_damaged_are_made_again(store, plan, how, content):
    expected, (path,) = results_of(store.folder), store.origins.iterdir()
    sound = path.read_bytes()
    path.unlink() if content is None else path.write_bytes(content)
    complaints = verify_store(store.folder, sample=0).complaints
    why = f"{path}: " + (
        "cannot be read" if content is None else "not the origin of a run (its checksum does not match)"
    )
    assert len(complaints) == 1 and complaints[0].startswith(why) and complaints[0].endswith(" (6 runs)")
    with pytest.raises(InputError, match=re.escape(why)):
        StudyResults(store.folder).manifest(runs_in(store.folder)[0])
    if how == "verify":
        verdict = verify_store(store.folder, sample=0, repair=True, jobs=1)
        assert (verdict.complaints, verdict.executed) == ([], 6)
        assert len(verdict.repaired) == 1 and why in verdict.repaired[0]
    else:
        assert run_experiment(plan, store.folder, backend=ONE, retry=True).done == 6
    assert results_of(store.folder) == expected and path.read_bytes() == sound


def test_a_repair_leaves_the_file_of_a_living_process_alone(store):
    damage(store.folder, runs_in(store.folder)[2])
    path = segment(store)
    with Driver(store, ABOUT) as driver:
        alive = path.rename(store.runs / f"{driver.id}.arrows")
        assert "damaged: bytes" in verify_store(store.folder, sample=0, repair=True, jobs=1).complaints[0]
        assert alive.exists()
    assert verify_store(store.folder, sample=0, repair=True, jobs=1).complaints == [] and not alive.exists()


def test_runs_that_a_cut_at_the_end_of_a_batch_removed_are_unfinished(store, plan, capsys):
    expected, path = results_of(store.folder), segment(store)
    last = max(store.scan().done.values())
    path.write_bytes(path.read_bytes()[: last.offset])
    assert verify_store(store.folder, sample=0) == (5, 0, [], [], 0, 1)
    with pytest.raises(SystemExit) as end:
        main("verify", str(store.folder), "--sample", "0")
    assert end.value.code == 0 and "planned runs that are not finished: 1 " in capsys.readouterr().out
    assert run_experiment(plan, store.folder, backend=ONE).done == 1
    assert results_of(store.folder) == expected


def test_a_repair_of_one_run_executes_no_unfinished_run(store):
    one, other = runs_in(store.folder)[:2]
    last = max(place for digest, place in store.scan().done.items() if digest not in (one, other))
    path = segment(store)
    data = path.read_bytes()
    path.write_bytes(data[: last.offset] + data[last.offset + last.size :])
    assert verify_store(store.folder, sample=0).unfinished == 1
    add_row(store.folder, row_of(store.folder, one), run=other, generation=1)
    verdict = verify_store(store.folder, sample=0, repair=True, jobs=1)
    assert (verdict.executed, verdict.unfinished, len(verdict.repaired)) == (1, 1, 1)


def test_of_two_rows_of_one_generation_the_later_one_counts(store):
    digest = runs_in(store.folder)[0]
    row = row_of(store.folder, digest)
    for seconds in (1.5, 2.5):
        add_row(store.folder, row, name=f"{'f' * 32}.arrows", generation=3, seconds=seconds)
    assert row_of(store.folder, digest).seconds == 2.5


def test_status_and_run_say_of_a_damaged_file_what_repairs_it(store, plan, spec_file, capsys):
    damage(store.folder, runs_in(store.folder)[0])
    for words in (["status", store.folder], ["run", plan.file.path, "--out", store.folder, "--jobs", "1"]):
        with pytest.raises(SystemExit) as end:
            main(*map(str, words))
        out, err = capsys.readouterr()
        assert end.value.code == 1 and (out + err).count("damaged") == 1
        assert f"'ltr-duel verify --repair {store.folder}' repairs" in out + err
    assert "1 done now" in out and "--retry" not in err


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
        with Driver(one, ABOUT):
            pass
    used.write(used.place("runs", "a.json"), b"{}")
    for one in (empty, used, Store(tmp_path / "absent")):
        one.drop_if_empty()
    assert [path.name for path in tmp_path.iterdir()] == ["used"] and used.tmp.is_dir()


def test_finished_runs_are_kept_if_storing_them_is_interrupted(plan, tmp_path, apart, monkeypatch):
    append = Store.append

    def interrupted(self, name, data):
        monkeypatch.setattr(Store, "append", append)
        raise KeyboardInterrupt

    monkeypatch.setattr(Store, "append", interrupted)
    report = run_experiment(plan, tmp_path / "new", backend=ONE)
    assert report.interrupted and report.done == len(runs_in(tmp_path / "new")) == 1


def test_an_interrupt_after_the_last_byte_of_a_batch_keeps_the_batch(store, monkeypatch):
    class Interrupted(io.FileIO):
        def write(self, data):
            super().write(data)
            raise KeyboardInterrupt

    message = encode_rows([row_of(store.folder, runs_in(store.folder)[0])._replace(run="ab" * 32)])
    monkeypatch.setattr("ltr_duel.experiment.store.open", lambda *args, **kw: Interrupted(*args), raising=False)
    with pytest.raises(KeyboardInterrupt):
        store.append(segment(store).name, message)
    assert "ab" * 32 in store.scan().done


def test_a_run_without_enough_memory_to_read_the_store_changes_nothing(store, plan, monkeypatch):
    monkeypatch.setattr("ltr_duel.core.host._SMALL", 0)
    monkeypatch.setattr("ltr_duel.core.host.free_memory", lambda: 10)
    before = segment(store).read_bytes()
    with pytest.raises(MemoryError, match=r"arrows: .*GB of memory"):
        run_experiment(plan, store.folder, backend=ONE, retry=True)
    assert segment(store).read_bytes() == before


def test_a_planned_run_that_is_not_finished_has_no_manifest(store):
    path = segment(store)
    last = runs_in(store.folder)[-1]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match=f"the run {last} is not finished"):
        StudyResults(store.folder).manifest(last)


def test_a_driver_that_starts_while_a_store_is_listed_is_followed(store, monkeypatch):
    row, name, listdir = row_of(store.folder, runs_in(store.folder)[0]), "ab" * 16, os.listdir

    def started(folder):
        found = listdir(folder)
        if not (store.drivers / name).exists():
            (store.drivers / name).touch()
            add_row(store.folder, row, name=f"{name}.arrows", run="1" * 64)
        return found

    index = Index(store)
    monkeypatch.setattr(os, "listdir", started)
    index.update()
    add_row(store.folder, row, name=f"{name}.arrows", run="2" * 64)
    index.update()
    assert {"1" * 64, "2" * 64} <= index.done.keys()


def test_all_damaged_bytes_of_a_file_are_named_and_an_error_that_passes_is_forgotten(store, monkeypatch):
    digests = runs_in(store.folder)
    for digest in (digests[1], digests[3]):
        damage(store.folder, digest)
    index = Index(store)
    monkeypatch.setattr(Store, "place", lambda *given: "/proc/self/mem/x")
    index.update()
    assert "cannot be read" in index.broken[segment(store).name]
    monkeypatch.undo()
    index.update()
    (why,) = index.broken.values()
    assert why.count(" to ") == 2 and "cannot be read" not in why
