"""A real cluster of dask: workers that are killed, a scheduler that dies, and machines separated by a broken link."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

from ltr_duel.experiment import Backend, run_experiment
from tests.experiment.conftest import (
    ROOT,
    command,
    count_runs,
    finish,
    kill_group,
    matrix_spec,
    results_of,
    schedule_of,
    start,
    wait_for,
)

pytest.importorskip("distributed")
pytestmark = pytest.mark.long

PATIENT = {  # settings in docs/cluster.md, with which a broken link only pauses the run
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "300s",
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "300s",
}


class Cluster:
    """Processes of dask, each perhaps in a network namespace."""

    def __init__(self, folder):
        self.folder, self.processes = folder, []

    def start(self, *words, space=None):
        prefix = ["ip", "netns", "exec", space] if space else []
        environment = {**os.environ, **PATIENT, "LTR_DUEL_PROGRESS": "0"}
        with (self.folder / f"log{len(self.processes)}.txt").open("w") as log:
            process = subprocess.Popen(
                [*prefix, *map(str, words)], cwd=ROOT, env=environment, stdout=log, stderr=log, start_new_session=True
            )
        self.processes.append(process)
        return process

    def scheduler(self, host, port, space=None):
        words = ("-m", "distributed.cli.dask_scheduler", "--host", host, "--port", port, "--no-dashboard")
        return self.start(sys.executable, *words, space=space)

    def worker(self, address, space=None):
        words = ("-m", "distributed.cli.dask_worker", address, "--nthreads", 1, "--no-dashboard", "--no-nanny")
        folder = ("--local-directory", self.folder / f"w{len(self.processes)}", "--death-timeout", 60)
        return self.start(sys.executable, *words, *folder, space=space)

    def driver(self, *words, space=None):
        return self.start(*command(*words), space=space)

    def stop(self):
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def log(self, process):
        return (self.folder / f"log{self.processes.index(process)}.txt").read_text()


@pytest.fixture
def cluster(tmp_path):
    cluster = Cluster(tmp_path)
    yield cluster
    cluster.stop()


def free_port():
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def experiment(spec_file, awkward, out, repetitions):
    spec = spec_file(matrix_spec(["slow:seconds=0.1"], repetitions=repetitions))
    words = ("run", spec, "--out", out, "--plugin", awkward, "--backend", "dask", "--scheduler")
    return spec, words


def assert_complete(spec, awkward, out, tmp_path, repetitions):
    run_experiment(schedule_of(spec, awkward), tmp_path / "whole", backend=Backend(jobs=2))
    assert count_runs(out) == repetitions
    assert results_of(out) == results_of(tmp_path / "whole")


def test_workers_killed_in_the_middle_lose_and_double_nothing(spec_file, awkward, tmp_path, cluster):
    out, port, rng = tmp_path / "out", free_port(), random.Random(0)
    address = f"tcp://127.0.0.1:{port}"
    cluster.scheduler("127.0.0.1", port)
    workers = [cluster.worker(address), cluster.worker(address)]
    spec, words = experiment(spec_file, awkward, out, 200)
    driver = cluster.driver(*words, address)
    wait_for(lambda: count_runs(out) > 10)
    for _ in range(3):
        victim = workers.pop(0)
        os.killpg(victim.pid, signal.SIGKILL)
        workers.append(cluster.worker(address))
        time.sleep(rng.uniform(1, 3))
    assert driver.wait(120) == 0, cluster.log(driver)
    assert "200 done now, 0 already done" in cluster.log(driver)
    assert_complete(spec, awkward, out, tmp_path, 200)


def test_a_scheduler_that_dies_is_said_and_the_store_goes_on(spec_file, awkward, tmp_path, cluster):
    out, port = tmp_path / "out", free_port()
    address = f"tcp://127.0.0.1:{port}"
    scheduler = cluster.scheduler("127.0.0.1", port)
    cluster.worker(address)
    spec, words = experiment(spec_file, awkward, out, 100)
    driver = cluster.driver(*words, address)
    wait_for(lambda: count_runs(out) > 10)
    os.killpg(scheduler.pid, signal.SIGKILL)
    assert driver.wait(120) == 2, cluster.log(driver)
    said = cluster.log(driver)
    assert f"the scheduler at {address} is gone" in said and "the same command resumes from there" in said
    assert "Traceback" not in said, said
    assert 10 < count_runs(out) < 100
    cluster.scheduler("127.0.0.1", port)
    cluster.worker(address)
    again = cluster.driver(*words, address)
    assert again.wait(120) == 0, cluster.log(again)
    assert_complete(spec, awkward, out, tmp_path, 100)


def test_a_scheduler_that_is_not_there_is_said(spec_file, awkward, tmp_path, cluster):
    _, words = experiment(spec_file, awkward, tmp_path / "out", 4)
    driver = cluster.driver(*words, f"tcp://127.0.0.1:{free_port()}")
    assert driver.wait(60) == 2
    assert re.search(r"ltr-duel: .*the scheduler at tcp://127.0.0.1:\d+ does not answer", cluster.log(driver))


@pytest.fixture
def machines():
    """Make namespaces for driver, scheduler and workers on one bridge; yield a function that runs ``ip``."""
    if os.geteuid() != 0 or not shutil.which("ip"):
        pytest.skip("needs root and `ip`, to make network namespaces")

    def ip(*words, check=True):
        return subprocess.run(["ip", *words], check=check, capture_output=True, text=True)

    tag = f"ld{os.getpid() % 10_000}"
    spaces = [f"{tag}{name}" for name in ("d", "s", "w")]
    if ip("netns", "add", f"{tag}x", check=False).returncode:
        pytest.skip("network namespaces cannot be made here")
    spaces.append(f"{tag}x")  # holds the bridge, so that the machine's own network is unchanged
    try:
        ip("-n", f"{tag}x", "link", "add", "bridge0", "type", "bridge")
        ip("-n", f"{tag}x", "link", "set", "bridge0", "up")
        for number, space in enumerate(spaces[:3], 1):
            ip("netns", "add", space)
            ip("-n", f"{tag}x", "link", "add", f"p{number}", "type", "veth", "peer", "name", "eth", "netns", space)
            ip("-n", f"{tag}x", "link", "set", f"p{number}", "master", "bridge0", "up")
            ip("-n", space, "addr", "add", f"10.77.0.{number}/24", "dev", "eth")
            ip("-n", space, "link", "set", "eth", "up")
            ip("-n", space, "link", "set", "lo", "up")
        yield ip, spaces
    except subprocess.CalledProcessError as error:
        pytest.skip(f"network namespaces cannot be linked here: {error.stderr.strip()}")
    finally:
        for space in spaces:
            ip("netns", "del", space, check=False)


def test_three_machines_and_a_link_that_is_cut_for_half_a_minute(spec_file, awkward, tmp_path, machines, request):
    ip, (driver_space, scheduler_space, worker_space, bridge) = machines
    cluster = Cluster(tmp_path)
    request.addfinalizer(cluster.stop)
    out, address, repetitions = tmp_path / "out", "tcp://10.77.0.2:8786", 500
    cluster.scheduler("10.77.0.2", 8786, scheduler_space)
    for _ in range(2):
        cluster.worker(address, worker_space)
    spec, words = experiment(spec_file, awkward, out, repetitions)
    driver = cluster.driver(*words, address, space=driver_space)
    wait_for(lambda: count_runs(out) > 20)
    ip("-n", bridge, "link", "set", "p3", "down")  # the workers' machine
    time.sleep(5)
    before = count_runs(out)
    time.sleep(25)
    assert count_runs(out) - before < 5, "the link was cut, and yet results came in"
    assert driver.poll() is None, cluster.log(driver)
    ip("-n", bridge, "link", "set", "p3", "up")
    assert driver.wait(180) == 0, cluster.log(driver)
    assert f"{repetitions} done now, 0 already done" in cluster.log(driver)
    assert_complete(spec, awkward, out, tmp_path, repetitions)


def test_nothing_is_left_of_a_local_cluster(spec_file, awkward, tmp_path):
    words = ("run", spec_file(matrix_spec(["slow:seconds=0.1"], repetitions=300)), "--out", tmp_path / "out")
    process = start(*words, "--plugin", awkward, "--backend", "dask", "--jobs", 2)
    try:
        wait_for(lambda: count_runs(tmp_path / "out") > 5)
        os.kill(process.pid, signal.SIGINT)
        code, text, err = finish(process, 60)
        assert code == 130 and "300 runs planned" in text and "resumes from here" in err
        assert "Traceback" not in err, err
    finally:
        if process.poll() is None:
            kill_group(process)
