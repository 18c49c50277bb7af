"""Faults: policies that raise, hang or kill their process; killed drivers; full disks."""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path
from unittest.mock import Mock

import psutil
import pytest
from joblib.externals.loky import get_reusable_executor

from ltr_duel.cli.main import main
from ltr_duel.experiment.backends import backend as backends
from ltr_duel.experiment.backends.backend import (
    Backend,
    WorkersDiedError,
    _done_here,
    _kill_processes,
    _workers,
    run_tasks,
)
from ltr_duel.experiment.run import run_experiment
from ltr_duel.experiment.status import read_status
from ltr_duel.experiment.store import Store
from ltr_duel.experiment.verify import verify_store
from tests.experiment.conftest import (
    finish,
    kill_group,
    matrix_spec,
    plan_of,
    results_of,
    runs_in,
    start,
    stored_runs,
    wait_for,
)

SLOW = "slow:seconds=0.05"


def assert_whole(folder):
    """Every run in the store is unchanged and has a manifest; all other bytes are incomplete last records."""
    if (folder / "runs").is_dir():
        runs = stored_runs(folder)
        assert not runs.index.broken and not runs.index.foreign
        assert not any(runs.wrong_with(runs.index.done).values())


@pytest.mark.parametrize("backend", ["threads", "loky"])
def test_a_policy_that_raises_fails_alone(spec_file, awkward, tmp_path, backend):
    plan = plan_of(spec_file(matrix_spec(["fails", "slow"], repetitions=8)), awkward)
    report = run_experiment(plan, tmp_path / "out", backend=Backend(backend, 2))
    assert 0 < len(report.failed) < 8 and report.done + len(report.failed) == 16 and report.left == 0
    failures = read_status(tmp_path / "out").failures
    assert len(failures) == len(report.failed)
    assert verify_store(tmp_path / "out", sample=0, plugins=[awkward]).unfinished == 0
    assert failures[0]["error"] == "ArithmeticError: the sum of the parts" and "in fail" in failures[0]["traceback"]
    again = run_experiment(plan, tmp_path / "out")
    assert (again.done, again.failed) == (0, report.failed)
    retried = run_experiment(plan, tmp_path / "out", retry=True)
    assert (retried.done, retried.failed) == (0, report.failed)


def test_a_policy_that_hangs_is_killed_when_its_time_is_up(spec_file, awkward, tmp_path):
    plan = plan_of(spec_file(matrix_spec(["hangs", "slow"], repetitions=2)), awkward)
    limit = 2.5  # on a busy machine a run that does not hang may take a second
    report = run_experiment(plan, tmp_path / "out", backend=Backend("threads", 2, time_limit=limit))
    assert len(report.failed) == 1 and report.done == 3
    failures = read_status(tmp_path / "out").failures
    assert {one["error"] for one in failures} == {"did not end within the time limit of 2.5 s"}
    assert all(limit <= one["seconds"] < 10 for one in failures)
    assert not [one for one in threading.enumerate() if one.name.endswith("(_receive)")]  # no process is left


def test_a_policy_that_kills_its_process_fails_alone_under_a_time_limit(spec_file, awkward, tmp_path):
    plan = plan_of(spec_file(matrix_spec(["dies"], repetitions=4)), awkward)
    report = run_experiment(plan, tmp_path / "out", backend=Backend("threads", 1, time_limit=60))
    assert 0 < len(report.failed) < 4 and report.done + len(report.failed) == 4
    assert "its process died with exit code 3" in read_status(tmp_path / "out").failures[0]["error"]


def test_a_driver_that_dies_takes_the_process_of_a_hanging_policy_with_it(spec_file, awkward, tmp_path):
    words = ("run", spec_file(matrix_spec(["hangs:share=1"])), "--out", tmp_path / "out", "--plugin", awkward)
    driver = start(*words, "--jobs", 1, "--time-limit", 300)

    def children():
        return " ".join(path.read_text() for path in Path(f"/proc/{driver.pid}/task").glob("*/children")).split()

    wait_for(children)
    (child,) = children()
    time.sleep(2)  # the child is loading, or hangs
    kill_group(driver)
    wait_for(lambda: not Path(f"/proc/{child}").exists())


def test_a_policy_that_kills_its_process_is_said_without_a_time_limit(spec_file, awkward, tmp_path):
    words = ("run", spec_file(matrix_spec(["dies"], repetitions=6)), "--out", tmp_path / "out", "--plugin", awkward)
    code, _, err = finish(start(*words, "--backend", "loky", "--jobs", 2))
    assert (
        code == 2
        and "a worker process died" in err
        and "--time-limit" in err
        and ("resumes from there" in err or "no run was finished" in err)
    ), err
    assert "Traceback" not in err
    assert_whole(tmp_path / "out")


def test_a_process_of_loky_that_was_killed_while_it_sent_an_outcome_is_noticed(monkeypatch):
    """Regression: loky waited for the rest of the outcome for ever. Here, its thread notices nothing."""

    ended = threading.Event()

    def stuck(name, calls, jobs):
        get_reusable_executor(max_workers=2).submit(os.getpid).result()
        wait_for(_workers)
        yield []
        time.sleep(0.5)
        os.kill(_workers()[0].pid, signal.SIGKILL)
        ended.wait(30)

    monkeypatch.setattr("ltr_duel.experiment.backends.backend._MISSED", 0.5)
    monkeypatch.setattr("ltr_duel.experiment.backends.backend._done_here", stuck)
    monkeypatch.setattr("ltr_duel.experiment.backends.backend._kill_processes", lambda starter: ended.set())
    with pytest.raises(WorkersDiedError):
        list(run_tasks(Backend("loky", 2), []))
    _kill_processes(threading.Thread())


def test_only_a_process_of_loky_ends_with_its_parent(monkeypatch):
    """With one job, joblib executes tasks in the driver, which must not end with its shell."""
    watched = []
    monkeypatch.setattr(backends, "_end_with", watched.append)
    for driver in (0, os.getpid(), os.getppid()):
        assert backends._run_all(str, [1, 2], driver) == ["1", "2"]
    assert watched == [os.getppid()]


def test_a_process_of_an_earlier_call_that_died_ends_no_later_work(spec_file, awkward, tmp_path, monkeypatch):
    dead = Mock(exitcode=1)
    for name, value in (("_TICK", 0.01), ("_MISSED", 0.0), ("_workers", lambda: [dead])):
        monkeypatch.setattr(backends, name, value)
    plan = plan_of(spec_file(matrix_spec([SLOW], repetitions=2)), awkward)
    assert run_experiment(plan, tmp_path / "out", backend=Backend("threads", 1)).done == 2


def test_processes_of_loky_end_soon_after_a_driver_that_was_killed(spec_file, awkward, tmp_path):
    words = ("run", spec_file(matrix_spec([SLOW], repetitions=400)), "--out", tmp_path / "out", "--plugin", awkward)
    driver = start(*words, "--backend", "loky", "--jobs", 2)
    wait_for(lambda: len(runs_in(tmp_path / "out")) > 5)
    children = {child.pid: child for child in psutil.Process(driver.pid).children()}
    assert len(children) >= 2
    os.kill(driver.pid, signal.SIGKILL)
    wait_for(lambda: not any(child.is_running() for child in children.values()), 20)
    driver.communicate()


@pytest.mark.parametrize("named", [True, False])
def test_processes_of_loky_end_in_the_middle_of_a_task_whatever_their_names_are(named, monkeypatch):
    children, executor = multiprocessing.active_children, get_reusable_executor(max_workers=2)
    tasks = [executor.submit(time.sleep, 60) for _ in range(2)]
    wait_for(lambda: all(task.running() for task in tasks) and len(children()) == 2)
    if not named:
        monkeypatch.setattr(multiprocessing, "active_children", list)
    _kill_processes(threading.Thread())
    wait_for(lambda: not children())


def test_joblib_starts_no_task_in_an_executor_that_was_shut_down(caplog):
    """It would print a traceback; without the order in `_kill_processes`, one of these trials fails nearly always."""
    for _ in range(5):
        done, calls = [], iter(functools.partial(functools.partial, time.sleep, 0.001), None)

        def work(done=done, calls=calls):
            with contextlib.suppress(Exception):  # the processes die
                for outcome in _done_here("loky", calls, 2):
                    done.append(outcome)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        wait_for(lambda done=done: len(done) > 20)
        _kill_processes(thread)
        assert not thread.is_alive()
    time.sleep(0.5)
    assert not [record.message for record in caplog.records if "callback" in record.message]


def test_a_policy_file_that_is_edited_gives_other_runs(spec_file, awkward, tmp_path):
    """Runs in separate processes, because a process runs a file of policies only once."""
    spec, mine = spec_file(matrix_spec(["slow:seconds=0"])), tmp_path / "mine.py"
    for text in (awkward.read_text(), awkward.read_text() + "\n# edited\n"):
        mine.write_text(text)
        code, out, err = finish(start("run", spec, "--out", tmp_path / "out", "--plugin", mine, "--jobs", 1))
        assert code == 0 and "4 done now, 0 already done" in out, err


def test_the_command_line_says_what_failed(spec_file, awkward, tmp_path, capsys):
    path = spec_file(matrix_spec(["fails"], repetitions=6))
    with pytest.raises(SystemExit) as end:
        main("run", str(path), "--out", str(tmp_path / "out"), "--plugin", str(awkward), "--jobs", "1")
    out, err = capsys.readouterr()
    assert end.value.code == 1 and "failed" in out and "--retry" in err and "Traceback" not in err
    with pytest.raises(SystemExit) as end:
        main("status", str(tmp_path / "out"), "--traceback")
    out, _ = capsys.readouterr()
    assert end.value.code == 1 and "ArithmeticError: the sum of the parts" in out and "in fail" in out


@pytest.mark.parametrize("backend", ["threads", "loky"])
@pytest.mark.parametrize("group", [False, True])
def test_ctrl_c_ends_cleanly_and_says_how_to_go_on(spec_file, awkward, tmp_path, backend, group):
    out = tmp_path / "out"
    words = ("run", spec_file(matrix_spec([SLOW], repetitions=400)), "--out", out, "--plugin", awkward)
    process = start(*words, "--backend", backend, "--jobs", 2)
    wait_for(lambda: len(runs_in(out)) > 5)
    (os.killpg if group else os.kill)(process.pid, signal.SIGINT)
    code, text, err = finish(process, 20)
    assert code == 130, err
    assert "400 runs planned" in text and "to do" in text and "the same command resumes from here" in err
    assert "Traceback" not in err
    assert_whole(out)
    assert not any((out / "claims").iterdir()) and not any((out / "drivers").iterdir())


def kill_and_resume(spec, awkward, folder, kills, seed):
    """Kill the driver ``times`` times at random moments; return the number of stored runs after each kill."""
    rng, counts = random.Random(seed), []
    words = ("run", spec, "--out", folder, "--plugin", awkward, "--jobs", 2)
    for _ in range(kills):
        process = start(*words)
        time.sleep(rng.uniform(0.2, 4.0))
        kill_group(process)
        assert_whole(folder)
        counts.append(len(runs_in(folder)))
        if counts[-1]:
            assert read_status(folder).running == 0
    code, _, err = finish(start(*words), 300)
    assert code == 0, err
    return counts


@pytest.mark.parametrize("kills", [2, pytest.param(50, marks=pytest.mark.long)])
def test_a_driver_killed_at_random_moments_loses_and_doubles_nothing(spec_file, awkward, tmp_path, kills):
    repetitions = 60 * kills
    spec = spec_file(matrix_spec(["slow:seconds=0.03"], repetitions=repetitions))
    counts = kill_and_resume(spec, awkward, tmp_path / "killed", kills, seed=kills)
    assert counts == sorted(counts)
    run_experiment(plan_of(spec, awkward), tmp_path / "whole", backend=Backend(jobs=2))
    assert len(runs_in(tmp_path / "killed")) == repetitions
    assert results_of(tmp_path / "killed") == results_of(tmp_path / "whole")
    assert not any((tmp_path / "killed" / "claims").iterdir())


def test_two_drivers_share_one_store(spec_file, awkward, tmp_path):
    out, path = tmp_path / "out", spec_file(matrix_spec([SLOW], repetitions=100))
    plan = plan_of(path, awkward)
    other = start("run", path, "--out", out, "--plugin", awkward, "--jobs", 1)
    wait_for(lambda: len(runs_in(out)) > 0)
    mine = run_experiment(plan, out, backend=Backend(jobs=1)).done
    code, text, err = finish(other)
    assert code == 0, err
    theirs = int(text.split(" done now")[0].split()[-1])
    assert mine + theirs == 100 and min(mine, theirs) > 0, "no run may be lost, and none done twice"
    assert len(runs_in(out)) == 100
    assert_whole(out)


def test_a_driver_takes_over_what_a_killed_one_had_claimed(spec_file, awkward, tmp_path):
    out, path = tmp_path / "out", spec_file(matrix_spec(["slow:seconds=0.3"], repetitions=24))
    plan = plan_of(path, awkward)
    first = start("run", path, "--out", out, "--plugin", awkward, "--jobs", 2)
    wait_for(lambda: len(runs_in(out)) > 0)

    def kill_when_both_are_there():
        wait_for(lambda: len(list((out / "drivers").iterdir())) == 4)  # each has a lease
        kill_group(first)

    killer = threading.Thread(target=kill_when_both_are_there)
    killer.start()
    report = run_experiment(plan, out, backend=Backend(jobs=2))
    killer.join()
    assert report.done + report.already_done == report.planned == 24 and report.left == 0
    assert len(runs_in(out)) == 24 and not any((out / "claims").iterdir())
    assert_whole(out)


def test_a_full_disk_is_said_and_what_is_there_stays(spec_file, awkward, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.geteuid() != 0 or not shutil.which("mount"):
        pytest.skip("needs root, to mount a small tmpfs")
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], capture_output=True)
    if made.returncode:
        pytest.skip("a tmpfs cannot be mounted here")
    try:
        words = ("run", spec_file(matrix_spec(["slow:seconds=0"], repetitions=400)), "--plugin", awkward, "--jobs", 2)
        code, _, err = finish(start(*words, "--out", disk / "out"))
        assert code == 2 and "no space left on the device" in err and "resumes from there" in err, err
        assert err.count("\n") == 1 and "Traceback" not in err
        assert 0 < len(runs_in(disk / "out")) < 400
        assert_whole(disk / "out")
        shutil.copytree(disk / "out", tmp_path / "larger", symlinks=True)
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    code, text, err = finish(start(*words, "--out", tmp_path / "larger"))
    assert code == 0 and "400 runs planned" in text, err
    assert len(Store(tmp_path / "larger").scan().done) == 400
