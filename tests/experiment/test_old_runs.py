"""Stores of versions before 0.2: refused with a sentence, and copied by `merge`."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ltr_duel.core.errors import InputError
from ltr_duel.experiment.backends.backend import Backend
from ltr_duel.experiment.merge import merge_stores
from ltr_duel.experiment.results import StudyResults
from ltr_duel.experiment.run import run_experiment
from ltr_duel.experiment.status import read_status
from ltr_duel.experiment.verify import verify_store
from ltr_duel.simulation.run_result import AS_GIVEN, key_fields
from tests.experiment.conftest import matrix_spec, plan_of, results_of, stored_runs


def write_old(path, run, manifest):
    """Write the two files of a run, as version 0.1 did."""
    lists = {"pulls": pa.int64(), "exposure": pa.float64(), "best": pa.int64(), "worst": pa.int64()}
    columns = {"t": run.checkpoints, "recommended": run.recommended}
    for name, kind in lists.items():
        values = getattr(run, name)
        columns[name] = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel(), kind), values.shape[1])
    about = {"format": "ltr_duel.run/1", "key": key_fields(run.key), "decisions": run.decisions}
    table = pa.table(columns).replace_schema_metadata({b"ltr_duel": json.dumps(about, sort_keys=True).encode()})
    pq.write_table(table, path, compression="zstd")
    manifest = manifest | {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    path.with_suffix(".json").write_text(json.dumps(manifest, indent=1))


@pytest.fixture
def plan(spec_file):
    return replace(plan_of(spec_file(matrix_spec(["rucb"], repetitions=3, horizon=50))), labels=AS_GIVEN)


@pytest.fixture
def stores(plan, tmp_path):
    """Return a store, and the same as it was before."""
    new, old = tmp_path / "new", tmp_path / "old"
    for folder in (new, old):
        run_experiment(plan, folder, backend=Backend(jobs=1))
    for path in (old / "runs").iterdir():
        path.unlink()
    results = StudyResults(new)
    for digest, stored in stored_runs(new):
        write_old(old / "runs" / f"{digest}.parquet", stored.result("rucb"), results.manifest(digest))
    return new, old


def test_an_old_store_is_refused_by_a_sentence_that_says_what_to_do(stores, plan):
    _, old = stores
    for look in (read_status, verify_store, StudyResults, lambda folder: run_experiment(plan, folder)):
        with pytest.raises(InputError, match=r"old: 3 runs .* before version 0\.2.*'ltr-duel merge .*old --out NEW'"):
            look(old)


def test_a_merge_copies_an_old_store_with_results_and_manifests(stores, plan, tmp_path):
    new, old = stores
    assert merge_stores(tmp_path / "copy", [old]) == (3, 0, [])
    copied, made = (StudyResults(folder).to_frame() for folder in (tmp_path / "copy", new))
    pd.testing.assert_frame_equal(copied.drop(columns="outcomes"), made.drop(columns="outcomes"))
    for digest, stored in stored_runs(new):
        assert StudyResults(tmp_path / "copy").manifest(digest) == StudyResults(new).manifest(digest)
        assert dict(stored_runs(tmp_path / "copy"))[digest].about.seconds == stored.about.seconds
    assert run_experiment(plan, tmp_path / "copy").already_done == 3
    assert verify_store(tmp_path / "copy", sample=3).complaints == []
    assert merge_stores(tmp_path / "both", [old, new]) == (3, 3, [])


def test_a_merge_leaves_out_what_is_damaged_in_an_old_store(stores, tmp_path):
    _, old = stores
    cut, other, orphan = sorted((old / "runs").glob("*.parquet"))
    cut.write_bytes(cut.read_bytes()[:-9])
    cut_too = orphan.with_suffix(".json")
    cut_too.unlink()
    merged = merge_stores(tmp_path / "copy", [old])
    assert merged.copied == 1 and len(merged.damaged) == 2
    assert any(cut.name in one and "not the one its manifest describes" in one for one in merged.damaged)
    assert any(orphan.stem in one and "cannot be read" in one for one in merged.damaged)
    assert [digest for digest, _ in stored_runs(tmp_path / "copy")] == [other.stem]


def test_runs_from_before_arms_were_numbered_at_random_are_read_and_never_put_beside_others(stores, plan, tmp_path):
    before, _ = stores
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
