"""The same bytes for every way to run an experiment."""

from __future__ import annotations

import subprocess

import pytest

from ltr_duel.experiment.backends.backend import Backend
from ltr_duel.experiment.plan import Shard
from ltr_duel.experiment.results import StudyResults
from ltr_duel.experiment.run import run_experiment
from ltr_duel.experiment.verify import verify_store
from ltr_duel.simulation.run import simulate
from tests.experiment.conftest import plan_of, results_of, stored_runs


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    from tests.experiment.conftest import SMALL

    path = tmp_path_factory.mktemp("spec") / "spec.toml"
    path.write_text(SMALL)
    return path


@pytest.fixture(scope="module")
def serial(tmp_path_factory, path):
    """Return the store of an experiment that one worker ran from end to end."""
    folder = tmp_path_factory.mktemp("serial")
    report = run_experiment(plan_of(path), folder, backend=Backend(jobs=1))
    assert (report.planned, report.done, report.left) == (36, 36, 0)
    return folder


@pytest.mark.parametrize(
    "backend",
    [
        Backend("threads", 2),
        Backend("threads", 2, time_limit=300),
        Backend("loky", 2),
        Backend("dask", 2),
    ],
    ids=["threads", "helpers", "loky", "dask"],
)
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # sockets of the cluster's event loop, closed by the collector
def test_every_backend_gives_the_bytes_of_a_serial_run(path, serial, tmp_path, backend):
    if backend.name == "dask":
        pytest.importorskip("distributed")
    report = run_experiment(plan_of(path), tmp_path, backend=backend)
    assert report.done == 36 and not report.failed
    assert results_of(tmp_path) == results_of(serial)


def test_shards_that_are_copied_into_one_folder_are_the_whole(path, serial, tmp_path):
    for index in (1, 2, 3):
        report = run_experiment(plan_of(path), tmp_path / f"part-{index}", shard=Shard(index, 3))
        assert report.planned == report.done == 12
    # Some versions of cp end with code 1 if there is a file that they do not copy again.
    subprocess.run("mkdir all && cp -rn part-*/. all/", shell=True, cwd=tmp_path)
    assert results_of(tmp_path / "all") == results_of(serial)
    assert verify_store(tmp_path / "all", sample=3) == (36, 3, [], [], 0, 0)
    assert StudyResults(tmp_path / "all").to_frame().equals(StudyResults(serial).to_frame())
    assert run_experiment(plan_of(path), tmp_path / "all").already_done == 36


def test_a_store_is_taken_up_where_it_was_left(path, serial, tmp_path):
    run_experiment(plan_of(path), tmp_path, shard=Shard(2, 4))
    before = {one: one.read_bytes() for one in (tmp_path / "runs").iterdir()}
    report = run_experiment(plan_of(path), tmp_path)
    assert (report.already_done, report.done) == (9, 27)
    assert all(one.read_bytes() == data for one, data in before.items())
    assert results_of(tmp_path) == results_of(serial)
    again = run_experiment(plan_of(path), tmp_path)
    assert (again.already_done, again.done, again.left) == (36, 0, 0)


def test_a_stored_run_is_the_one_that_simulate_gives(path, serial):
    plan = plan_of(path)
    there = stored_runs(serial)
    for run in list(plan)[::7]:
        problem = plan.problems[run.problem]
        regret_by = problem.matrix if problem.measured_by else None
        direct = simulate(
            problem.oracle,
            run.label,
            horizon=run.horizon,
            repetitions=run.repetition + 1,
            seed=7,
            preferences=regret_by,
        ).runs[-1]
        ((_, row),) = there.batches([run.digest])
        stored = there.result(run.digest, row)
        assert direct.key == stored.key and direct.key.digest == run.digest
        for name in ("checkpoints", "pulls", "exposure", "recommended", "best", "worst"):
            assert (getattr(direct, name) == getattr(stored, name)).all(), name


def test_an_experiment_that_grows_keeps_what_it_has(path, tmp_path):
    run_experiment(plan_of(path), tmp_path)
    more = tmp_path / "more.toml"
    more.write_text(path.read_text().replace("repetitions = 3", "repetitions = 4"))
    report = run_experiment(plan_of(more), tmp_path)
    assert (report.already_done, report.done) == (36, 12)
