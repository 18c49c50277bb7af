"""The store: damaged files are missing, equal duplicates are fine, claims end with their process."""

from __future__ import annotations

import json
import os
import random
import shutil
import time

import pyarrow.feather
import pytest

from ltr_duel.core import InputError, host
from ltr_duel.experiment import Backend, StudyResults, read_status, run_experiment
from ltr_duel.experiment import claims as claims_module
from ltr_duel.experiment.claims import Claims, live_claims
from ltr_duel.experiment.runs import SCHEMA, write_runs
from ltr_duel.experiment.store import Store
from tests.experiment.conftest import count_runs, matrix_spec, only_file, results_of, rows_of, schedule_of

ONE = Backend(jobs=1)


@pytest.fixture(scope="module")
def schedule(tmp_path_factory):
    path = tmp_path_factory.mktemp("spec") / "spec.toml"
    path.write_text(matrix_spec(["rucb", "mdb"], repetitions=2, horizon=20))
    return schedule_of(path)


@pytest.fixture(scope="module")
def whole(schedule, tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    run_experiment(schedule, folder, backend=ONE)
    rows = rows_of(folder)
    shutil.rmtree(folder / "runs")
    Store(folder).prepare()
    write_runs(Store(folder), rows)  # one file, even if policies had to be compiled
    return folder


@pytest.fixture
def store(whole, tmp_path):
    """Return a copy of a store with four runs in one file."""
    return shutil.copytree(whole, tmp_path / "store")


def flip(data: bytes, rng) -> bytes:
    position = rng.randrange(len(data))
    return data[:position] + bytes([data[position] ^ 1 << rng.randrange(8)]) + data[position + 1 :]


@pytest.mark.parametrize(
    "damage",
    [lambda data, rng: b"", lambda data, rng: data[: rng.randrange(len(data))], flip, lambda data, rng: b"a text"],
    ids=["empty", "cut off", "one bit", "text"],
)
def test_a_damaged_file_is_missing_and_its_runs_are_run_again(schedule, whole, store, damage):
    path, rng = only_file(store, "runs"), random.Random(3)
    content = path.read_bytes()
    for _ in range(20):
        path.write_bytes(damage(content, rng))
        assert count_runs(store) == 0
    assert read_status(store).damaged == [str(path)] and read_status(store).done == 0
    results = StudyResults(store)
    assert not results.policies and results.notes[-1] == f"{path} is damaged; its runs are missing."
    report = run_experiment(schedule, store, backend=ONE)
    assert (report.done, report.already_done, report.damaged) == (4, 0, (str(path),))
    path.unlink()
    assert results_of(store) == results_of(whole)


def test_a_damaged_matrix_or_study_is_written_again_by_run(schedule, store):
    for kind in ("problems", "studies"):
        path = only_file(store, kind)
        content = path.read_bytes()
        path.write_bytes(content[:-30])
        assert kind == "studies" or read_status(store).lost == [str(path)]
        with pytest.raises(InputError, match=rf"{path.name}: .*damaged.*; 'ltr-duel run' with .* writes it again"):
            StudyResults(store).to_frame()
        report = run_experiment(schedule, store, backend=ONE)
        assert report.already_done == 4 and path.read_bytes() == content


@pytest.mark.parametrize("change", [{"format": "ltr_duel.study/99"}, {"groups": [["a"]]}, {"groups": 7}])
def test_a_study_of_another_version_is_refused(store, change):
    path = only_file(store, "studies")
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError, match=r"\.json: (made by another version|damaged .*); 'ltr-duel run' with"):
        read_status(store)


def test_equal_duplicate_runs_are_accepted_and_different_ones_are_an_error(whole, store):
    rows, seconds = rows_of(store), SCHEMA.get_field_index("seconds")
    for row in rows:
        row[seconds] += 1
    write_runs(Store(store), rows[1:3])
    assert results_of(store) == results_of(whole) and len(StudyResults(store).final()) == 4
    rows[2][SCHEMA.get_field_index("decisions")] += 1
    wrong = write_runs(Store(store), rows[2:])
    with pytest.raises(
        InputError, match=rf"{wrong}.* contain different results of the same run: remove the wrong file"
    ):
        StudyResults(store)
    (store / "runs" / wrong).unlink()
    assert results_of(store) == results_of(whole)


def test_other_programs_can_read_the_runs(store):
    frame = pyarrow.feather.read_table(only_file(store, "runs")).to_pandas()
    assert frame[["problem", "policy", "horizon", "repetition"]].to_numpy().tolist() == [
        ["m", policy, 20, repetition] for policy in ("mdb", "rucb") for repetition in (0, 1)
    ]
    run = frame.iloc[-1]
    t, recommended, outcomes, *counts = run["steps"].reshape(-1, run["checkpoints"]).cumsum(axis=1)
    assert t[-1] == 20 and set(recommended) <= {0, 1, 2} and outcomes[-1] <= 20
    assert sum(counts[:3])[-1] == 2 * 20  # pulls of three arms
    assert "numpy" in json.loads(run["environment"])["versions"] and frame["error"].isna().all()


class TestClaims:
    @pytest.fixture
    def empty(self, tmp_path):
        store = Store(tmp_path / "store")
        store.prepare()
        return store

    def test_a_block_has_one_holder_until_its_last_run(self, empty):
        with Claims(empty, {"jobs": 2}) as mine, Claims(empty, {"jobs": 1}) as other:
            assert mine.take("block", 3) and not other.take("block", 3)
            mine.finish("block", 2)
            assert not other.take("block", 3)
            assert [(claim["jobs"], claim["runs"]) for claim in live_claims(empty)] == [(2, 3)]
            mine.finish("block", 1)
            assert other.take("block", 3)
        assert not any(empty.claims.iterdir())

    @pytest.mark.parametrize(
        "machine, start, age, held",
        [
            ("here", "its start", 1e6, True),  # a paused process of this machine
            ("here", "an earlier process", 0, False),
            ("elsewhere", "unknown", 299, True),
            ("elsewhere", "unknown", 301, False),
        ],
    )
    def test_a_claim_is_void_if_its_process_ended_or_is_silent_for_five_minutes(self, empty, machine, start, age, held):
        identity = host.process_identity(os.getpid())
        identity["start"] -= 100 if start == "an earlier process" else 0
        identity |= {"machine": machine} if machine != "here" else {}
        path = empty.claims / "block"
        path.write_text(json.dumps({"process": identity, "runs": 3}))
        os.utime(path, (time.time() - age,) * 2)
        assert bool(live_claims(empty)) == held
        with Claims(empty, {}) as claims:
            assert path.exists() == held and claims.take("block", 1) != held

    def test_a_claim_is_renewed_every_half_minute(self, empty, monkeypatch):
        with Claims(empty, {}) as claims:
            claims.take("block", 1)
            os.utime(empty.claims / "block", (0, 0))
            claims.renew()
            assert (empty.claims / "block").stat().st_mtime == 0
            monkeypatch.setattr(claims_module, "_BEAT", -1.0)
            claims.renew()
            assert (empty.claims / "block").stat().st_mtime > time.time() - 60
