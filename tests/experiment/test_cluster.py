"""A real cluster of dask: workers that are killed, a scheduler that dies or is absent, Ctrl-C."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from ltr_duel.experiment import Backend, run_experiment
from tests.experiment.conftest import count_runs, finish, matrix_spec, results_of, schedule_of, start, wait_for

pytest.importorskip("distributed")
pytestmark = pytest.mark.long


@pytest.fixture
def dask(tmp_path):
    """Return a function that starts a scheduler or a worker; all are killed at the end."""
    processes = []

    def begin(program, *words):
        command = [sys.executable, "-m", f"distributed.cli.dask_{program}", "--no-dashboard", *map(str, words)]
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        processes.append(subprocess.Popen(command, **silent, cwd=tmp_path))
        return processes[-1]

    yield begin
    for process in processes:
        process.kill()
        process.wait()


@pytest.fixture
def port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start_driver(spec_file, awkward, out, port, runs):
    spec = spec_file(matrix_spec(["slow:seconds=0.1"], repetitions=runs))
    words = ("run", spec, "--out", out, "--plugin", awkward, "--backend", "dask")
    return start(*words, "--scheduler", f"tcp://127.0.0.1:{port}")


def start_worker(dask, port):
    return dask("worker", f"tcp://127.0.0.1:{port}", "--nthreads", 1, "--no-nanny", "--death-timeout", 60)


def test_killed_workers_change_no_result(spec_file, awkward, tmp_path, dask, port):
    out = tmp_path / "out"
    dask("scheduler", "--host", "127.0.0.1", "--port", port)
    workers = [start_worker(dask, port) for _ in range(2)]
    driver = start_driver(spec_file, awkward, out, port, 200)
    wait_for(lambda: count_runs(out) > 10)
    for _ in range(3):
        workers.pop(0).kill()
        workers.append(start_worker(dask, port))
        time.sleep(2)
    code, text, err = finish(driver)
    assert code == 0 and "200 done now, 0 already done" in text, err
    run_experiment(schedule_of(tmp_path / "spec.toml", awkward), tmp_path / "whole", backend=Backend(jobs=2))
    assert results_of(out) == results_of(tmp_path / "whole")


def test_a_lost_scheduler_ends_the_command_which_resumes(spec_file, awkward, tmp_path, dask, port):
    out = tmp_path / "out"
    scheduler = dask("scheduler", "--host", "127.0.0.1", "--port", port)
    start_worker(dask, port)
    driver = start_driver(spec_file, awkward, out, port, 100)
    wait_for(lambda: count_runs(out) > 10)
    scheduler.kill()
    code, _, err = finish(driver)
    assert code == 2 and f"the scheduler at tcp://127.0.0.1:{port} is gone" in err and "Traceback" not in err, err
    kept = count_runs(out)
    assert 10 < kept < 100 and f"{kept} of 100 runs are stored" in err and "the same command resumes" in err
    dask("scheduler", "--host", "127.0.0.1", "--port", port)
    start_worker(dask, port)
    code, text, err = finish(start_driver(spec_file, awkward, out, port, 100))
    assert code == 0 and f"{100 - kept} done now, {kept} already done" in text, err


def test_an_absent_scheduler_is_reported_and_nothing_is_written(spec_file, awkward, tmp_path, port):
    code, _, err = finish(start_driver(spec_file, awkward, tmp_path / "out", port, 4))
    assert code == 2 and f"the scheduler at tcp://127.0.0.1:{port} does not answer" in err
    assert not (tmp_path / "out").exists()


def test_ctrl_c_ends_a_local_cluster(spec_file, awkward, tmp_path):
    words = ("run", spec_file(matrix_spec(["slow:seconds=0.1"], repetitions=300)), "--out", tmp_path / "out")
    process = start(*words, "--plugin", awkward, "--backend", "dask", "--jobs", 2)
    wait_for(lambda: count_runs(tmp_path / "out") > 5)
    os.kill(process.pid, signal.SIGINT)
    code, text, err = finish(process, 60)
    assert code == 130 and "300 runs planned" in text and "resumes from here" in err and "Traceback" not in err, err
