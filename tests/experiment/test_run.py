"""A study gives the same bytes however it is run: workers, shards, kills, several drivers, failures, full disks."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time

import numpy as np
import psutil
import pytest

from ltr_duel.experiment import Backend, StudyResults, read_status, run_experiment
from ltr_duel.experiment.schedule import Shard
from ltr_duel.simulation import simulate
from tests.experiment.conftest import (
    SMALL,
    count_runs,
    finish,
    kill_group,
    matrix_spec,
    results_of,
    schedule_of,
    start,
    wait_for,
)

ONE = Backend(jobs=1)
SLOW = "slow:seconds=0.05"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("spec") / "spec.toml"
    path.write_text(SMALL)
    return path


@pytest.fixture(scope="module")
def serial(tmp_path_factory, path):
    """Return the store of an experiment that one worker ran from end to end."""
    folder = tmp_path_factory.mktemp("serial")
    report = run_experiment(schedule_of(path), folder, backend=ONE)
    assert (report.planned, report.done, report.left) == (36, 36, 0)
    return folder


@pytest.mark.parametrize("backend", ["threads", "loky", pytest.param("dask", marks=pytest.mark.long)])
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # sockets of the cluster's event loop, closed by the collector
def test_every_backend_gives_the_bytes_of_a_serial_run(path, serial, tmp_path, backend):
    if backend == "dask":
        pytest.importorskip("distributed")
    report = run_experiment(schedule_of(path), tmp_path, backend=Backend(backend, 2))
    assert report.done == 36 and not report.failed
    assert results_of(tmp_path) == results_of(serial)


def test_shards_copied_into_one_folder_are_the_whole_study(path, serial, tmp_path):
    for number in (1, 2, 3):
        report = run_experiment(schedule_of(path), tmp_path / f"part-{number}", shard=Shard(number, 3), backend=ONE)
        assert report.planned == report.done == 12
        shutil.copytree(tmp_path / f"part-{number}", tmp_path / "all", dirs_exist_ok=True)
    assert results_of(tmp_path / "all") == results_of(serial)
    assert StudyResults(tmp_path / "all").to_frame().equals(StudyResults(serial).to_frame())
    assert run_experiment(schedule_of(path), tmp_path / "all").already_done == 36


def test_a_shard_takes_every_nth_run_of_the_schedule(path):
    schedule = schedule_of(path)
    runs = [(group, repetition) for group, repetitions in schedule.shard(None) for repetition in repetitions]
    for parts in (1, 2, 5, 40):
        for number in range(1, parts + 1):
            shard = [(group, r) for group, repetitions in schedule.shard(Shard(number, parts)) for r in repetitions]
            assert shard == runs[number - 1 :: parts]
            blocks = [(block.group, r) for block in schedule.blocks(Shard(number, parts)) for r in block.repetitions]
            assert blocks == shard


def test_a_second_call_executes_only_missing_runs_and_changes_no_file(path, serial, tmp_path):
    run_experiment(schedule_of(path), tmp_path, shard=Shard(2, 4), backend=ONE)
    before = {file: file.read_bytes() for file in (tmp_path / "runs").iterdir()}
    report = run_experiment(schedule_of(path), tmp_path, backend=ONE)
    assert (report.already_done, report.done) == (9, 27)
    assert all(file.read_bytes() == data for file, data in before.items())
    assert results_of(tmp_path) == results_of(serial)
    again = run_experiment(schedule_of(path), tmp_path, backend=ONE)
    assert (again.already_done, again.done, again.left) == (36, 0, 0)


def test_a_study_that_grows_keeps_its_runs(serial, path, tmp_path):
    shutil.copytree(serial, tmp_path / "out")
    (tmp_path / "more.toml").write_text(path.read_text().replace("repetitions = 3", "repetitions = 4"))
    report = run_experiment(schedule_of(tmp_path / "more.toml"), tmp_path / "out", backend=ONE)
    assert (report.already_done, report.done) == (36, 12)
    assert len(StudyResults(tmp_path / "out").final()) == 48


def test_a_stored_run_equals_the_run_of_simulate(path, serial):
    schedule, stored = schedule_of(path), StudyResults(serial)
    for group in schedule.study.groups[::5]:
        problem = schedule.problems[group.problem]
        measured_by = problem.matrix if problem.measured_by else None
        options = {"horizon": group.horizon, "repetitions": 3, "seed": 7, "preferences": measured_by}
        direct = simulate(problem.oracle, group.label, **options).runs[-1]
        (run,) = [
            run
            for run in stored.results(problem.name, group.horizon).runs
            if (run.label, run.key.repetition) == (group.label, 2)
        ]
        assert direct.key == run.key
        for name in ("checkpoints", "pulls", "exposure", "recommended", "best", "worst", "outcomes", "decisions"):
            np.testing.assert_array_equal(getattr(direct, name), getattr(run, name), name)


def test_batches_and_delays_are_part_of_the_stored_key(spec_file, tmp_path):
    schedule = schedule_of(spec_file(matrix_spec(["rucb"], 1, 200, "batch = 50\ndelay = 7")))
    run_experiment(schedule, tmp_path / "out", backend=ONE)
    key = StudyResults(tmp_path / "out").results("m").runs[0].key
    assert (key.batch, key.delay) == (50, 7) and key.digest == schedule.study.groups[0].digest


@pytest.mark.parametrize("backend", ["threads", pytest.param("loky", marks=pytest.mark.long)])
def test_a_policy_that_raises_fails_alone_until_retry(spec_file, awkward, tmp_path, backend):
    schedule, out = schedule_of(spec_file(matrix_spec(["fails", "slow"], repetitions=8)), awkward), tmp_path / "out"
    report = run_experiment(schedule, out, backend=Backend(backend, 2))
    assert 0 < report.failed < 8 and report.done + report.failed == 16 and report.left == 0
    failures = read_status(out).failures
    assert len(failures) == report.failed and {failure["policy"] for failure in failures} == {"fails"}
    assert failures[0]["error"] == "ArithmeticError: the sum of the parts" and "in fail" in failures[0]["traceback"]
    files = len(list((out / "runs").iterdir()))
    again = run_experiment(schedule, out, backend=ONE)
    assert (again.done, again.failed, again.already_done) == (0, report.failed, 16 - report.failed)
    assert len(list((out / "runs").iterdir())) == files
    retried = run_experiment(schedule, out, retry=True, backend=ONE)
    assert (retried.done, retried.failed) == (0, report.failed)
    assert len(list((out / "runs").iterdir())) > files


def test_a_worker_process_that_dies_is_reported_and_finished_runs_are_kept(spec_file, awkward, tmp_path):
    words = ("run", spec_file(matrix_spec(["dies"], repetitions=6)), "--out", tmp_path / "out", "--plugin", awkward)
    code, _, err = finish(start(*words, "--backend", "loky", "--jobs", 2))
    assert code == 2 and "a worker process died in the middle of a run" in err and "Traceback" not in err, err
    assert "resumes from there" in err or "no run was finished" in err


@pytest.mark.long
def test_processes_of_loky_end_soon_after_a_driver_that_was_killed(spec_file, awkward, tmp_path):
    words = ("run", spec_file(matrix_spec([SLOW], repetitions=400)), "--out", tmp_path / "out", "--plugin", awkward)
    driver = start(*words, "--backend", "loky", "--jobs", 2)
    wait_for(lambda: count_runs(tmp_path / "out") > 5)
    children = psutil.Process(driver.pid).children()
    assert len(children) >= 2
    os.kill(driver.pid, signal.SIGKILL)
    wait_for(lambda: not any(child.is_running() for child in children), 20)
    driver.communicate()


@pytest.mark.long
def test_an_edited_plugin_gives_other_runs(spec_file, awkward, tmp_path):
    """Runs in separate processes, because a process runs a file of policies only once."""
    spec, mine = spec_file(matrix_spec(["slow:seconds=0"])), tmp_path / "mine.py"
    for text in (awkward.read_text(), awkward.read_text() + "\n# edited\n"):
        mine.write_text(text)
        code, out, err = finish(start("run", spec, "--out", tmp_path / "out", "--plugin", mine, "--jobs", 1))
        assert code == 0 and "4 done now, 0 already done" in out, err


@pytest.mark.parametrize("backend", ["threads", pytest.param("loky", marks=pytest.mark.long)])
@pytest.mark.parametrize("group", [True, pytest.param(False, marks=pytest.mark.long)])
def test_ctrl_c_keeps_finished_runs_and_says_how_to_resume(spec_file, awkward, tmp_path, backend, group):
    out = tmp_path / "out"
    words = ("run", spec_file(matrix_spec([SLOW], repetitions=400)), "--out", out, "--plugin", awkward)
    process = start(*words, "--backend", backend, "--jobs", 2)
    wait_for(lambda: count_runs(out) > 5)
    (os.killpg if group else os.kill)(process.pid, signal.SIGINT)
    code, text, err = finish(process, 20)
    assert code == 130 and "Traceback" not in err, err
    assert "400 runs planned" in text and "to do" in text and "the same command resumes from here" in err
    assert f"{count_runs(out)} done now" in text and not any((out / "claims").iterdir())


@pytest.mark.long
@pytest.mark.parametrize("kills", [2, 10])
def test_kills_at_random_moments_change_no_result(spec_file, awkward, tmp_path, kills):
    rng, counts, out = random.Random(kills), [0], tmp_path / "killed"
    spec = spec_file(matrix_spec(["slow:seconds=0.03"], repetitions=60 * kills))
    words = ("run", spec, "--out", out, "--plugin", awkward, "--jobs", 2)
    for _ in range(kills):
        process = start(*words)
        time.sleep(rng.uniform(0.2, 4.0))
        kill_group(process)
        counts.append(count_runs(out))
        if counts[-1]:
            assert read_status(out).running == 0  # the claims of a dead process on this machine are void
    code, text, err = finish(start(*words), 300)
    assert code == 0 and f"{counts[-1]} already done" in text, err
    assert counts == sorted(counts) and not any((out / "claims").iterdir())
    run_experiment(schedule_of(spec, awkward), tmp_path / "whole", backend=Backend(jobs=2))
    assert results_of(out) == results_of(tmp_path / "whole")


def test_two_drivers_share_a_store_and_execute_no_run_twice(spec_file, awkward, tmp_path):
    out, path = tmp_path / "out", spec_file(matrix_spec([SLOW, "slow:seconds=0.051"], repetitions=100))
    schedule = schedule_of(path, awkward)
    other = start("run", path, "--out", out, "--plugin", awkward, "--jobs", 1)
    wait_for(lambda: count_runs(out) > 0)
    mine = run_experiment(schedule, out, backend=ONE)
    code, text, err = finish(other)
    assert code == 0, err
    theirs = int(text.split(" done now")[0].split()[-1])
    assert mine.done + theirs == 200 == count_runs(out) and min(mine.done, theirs) > 0
    assert mine.already_done == theirs and mine.left == 0


def test_a_driver_takes_over_the_claims_of_a_killed_one(spec_file, awkward, tmp_path):
    out, path = tmp_path / "out", spec_file(matrix_spec(["slow:seconds=0.2"], repetitions=24))
    first = start("run", path, "--out", out, "--plugin", awkward, "--jobs", 2)
    wait_for(lambda: count_runs(out) > 0)
    second = start("run", path, "--out", out, "--plugin", awkward, "--jobs", 2)
    time.sleep(2.5)  # the second has found the only block claimed
    kill_group(first)
    code, text, err = finish(second)
    assert code == 0 and "0 to do" not in text and count_runs(out) == 24, err
    assert not any((out / "claims").iterdir())


@pytest.mark.long
def test_a_full_disk_ends_with_one_sentence_and_keeps_finished_runs(spec_file, awkward, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.geteuid() != 0 or not shutil.which("mount"):
        pytest.skip("needs root, to mount a small tmpfs")
    mount = ["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a tmpfs cannot be mounted here")
    try:
        words = ("run", spec_file(matrix_spec(["slow:seconds=0.02"], repetitions=2000)), "--plugin", awkward)
        code, _, err = finish(start(*words, "--out", disk / "out", "--jobs", 2))
        assert code == 2 and "No space left on device" in err and "resumes from there" in err, err
        assert err.count("\n") == 1 and "Traceback" not in err
        kept = count_runs(disk / "out")
        assert 0 < kept < 2000 and f"{kept:,} of 2,000 runs are stored" in err
        shutil.copytree(disk / "out", tmp_path / "larger")
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    report = run_experiment(schedule_of(words[1], awkward), tmp_path / "larger", shard=Shard(1, 20))
    assert report.left == 0
