"""Stores of earlier versions: stores of 0.1 are rejected with a sentence, others can be read but not extended."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ltr_duel.core.errors import InputError
from ltr_duel.experiment.backends.backend import Backend
from ltr_duel.experiment.joining import merge_stores
from ltr_duel.experiment.results import StudyResults
from ltr_duel.experiment.run import run_experiment
from ltr_duel.experiment.status import read_status
from ltr_duel.experiment.verify import verify_store
from ltr_duel.simulation.run_result import AS_GIVEN
from tests.experiment.conftest import matrix_spec, plan_of, results_of, stored_runs


@pytest.fixture
def plan(spec_file):
    return replace(plan_of(spec_file(matrix_spec(["rucb"], repetitions=3, horizon=50))), labels=AS_GIVEN)


def test_a_store_of_version_0_1_is_refused_by_a_sentence_that_says_what_to_do(plan, tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    for folder in (old, new):
        run_experiment(plan, folder, backend=Backend(jobs=1))
    for digest in [digest for digest, _ in stored_runs(old)]:
        (old / "runs" / f"{digest}.parquet").write_bytes(b"PAR1")
    merges = [lambda folder: merge_stores(new, [folder]), lambda folder: merge_stores(folder, [new])]
    kept = results_of(new)
    for look in (read_status, verify_store, StudyResults, lambda folder: run_experiment(plan, folder), *merges):
        with pytest.raises(
            InputError, match=r"old: 3 runs .* version 0\.1.* 7012071: .*'ltr-duel merge .*old --out NEW'"
        ):
            look(old)
    assert results_of(new) == kept


def test_runs_from_before_arms_were_numbered_at_random_are_read_and_never_put_beside_others(plan, tmp_path):
    before = tmp_path / "new"
    run_experiment(plan, before, backend=Backend(jobs=1))
    now = replace(plan, labels="random")
    assert plan.digest != now.digest
    assert verify_store(before, sample=3).complaints == []
    kept = results_of(before)
    sentence = "new: the runs there were made by a version in which policies numbered the arms as the matrix does"
    with pytest.raises(InputError, match=f"{sentence}.*: take another folder"):
        run_experiment(now, before)
    assert results_of(before) == kept
    run_experiment(now, tmp_path / "now", backend=Backend(jobs=1))
    for both in ([before, tmp_path / "now"], [tmp_path / "now", before]):
        with pytest.raises(InputError, match=sentence):
            merge_stores(tmp_path / "both", both)
        assert not (tmp_path / "both").exists()
    with pytest.raises(InputError, match=sentence):
        merge_stores(tmp_path / "now", [before])
    assert len(stored_runs(tmp_path / "now")) == 3
    assert results_of(tmp_path / "now") != kept
