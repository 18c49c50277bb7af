"""Stores of development versions before 0.3.0 are rejected with a sentence that explains how to export them."""

from __future__ import annotations

import pytest

from ltr_duel.core.errors import InputError
from ltr_duel.experiment.backends.backend import Backend
from ltr_duel.experiment.joining import merge_stores
from ltr_duel.experiment.results import StudyResults
from ltr_duel.experiment.run import run_experiment
from ltr_duel.experiment.status import read_status
from ltr_duel.experiment.verify import verify_store
from tests.experiment.conftest import matrix_spec, plan_of, results_of


@pytest.mark.parametrize(
    "name, sentence",
    [
        (
            "ab" * 16 + ".runs",
            r"install commit 98b9506, export them with 'ltr-duel results .*old --csv table.csv'",
        ),
        (
            "ab" * 32 + ".parquet",
            r"commit 7012071, .* 'ltr-duel merge .*old --out NEW' and 'ltr-duel results NEW",
        ),
    ],
)
def test_a_store_of_an_earlier_version_is_refused(spec_file, tmp_path, name, sentence):
    plan = plan_of(spec_file(matrix_spec(["rucb"], repetitions=3, horizon=50)))
    old, new = tmp_path / "old", tmp_path / "new"
    for folder in (old, new):
        run_experiment(plan, folder, backend=Backend(jobs=1))
    (old / "runs" / name).write_bytes(b"PAR1")
    merges = [lambda folder: merge_stores(new, [folder]), lambda folder: merge_stores(folder, [new])]
    kept = results_of(new)
    for look in (read_status, verify_store, StudyResults, lambda folder: run_experiment(plan, folder), *merges):
        with pytest.raises(InputError, match=rf"old: the runs were written by a development version.*{sentence}"):
            look(old)
    assert results_of(new) == kept
