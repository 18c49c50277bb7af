"""A store from an untrusted source: no code that it names is run."""

from __future__ import annotations

import hashlib
import json

import pyarrow.parquet as pq
import pytest

from ltr_duel.core.digest import sha256_file
from ltr_duel.experiment.backends.backend import Backend
from ltr_duel.experiment.run import run_experiment
from ltr_duel.experiment.store import Store
from ltr_duel.experiment.verify import verify_store
from tests.experiment.conftest import damage, matrix_spec, plan_of


def forged(plan, **changed):
    """Change the declarations of a plan."""
    table = pq.read_table(plan)
    about = json.loads(table.schema.metadata[b"ltr_duel"]) | changed
    text = json.dumps(about).encode()
    checksum = hashlib.sha256(text).hexdigest()
    pq.write_table(table.replace_schema_metadata({"ltr_duel": text, "ltr_duel.sha256": checksum}), plan)


@pytest.mark.parametrize("repair", [False, True])
def test_a_store_of_somebody_else_runs_no_code_that_it_names(spec_file, tmp_path, repair):
    spec, folder = spec_file(matrix_spec(["rucb"])), tmp_path / "store"
    run_experiment(plan_of(spec), folder, backend=Backend(jobs=1))
    (folder / "plans" / "innocent.py").write_text(f"open({str(tmp_path / 'was here')!r}, 'w')\n")
    (plan,) = (folder / "plans").glob("*.parquet")
    text = 'plugins = ["innocent.py"]\n' + spec.read_text()
    forged(plan, spec=text, spec_path=str(folder / "plans" / "x.toml"))
    if repair:
        damage(folder, next(iter(Store(folder).scan().done)))
    verify_store(folder, jobs=1, repair=repair)
    assert not (tmp_path / "was here").exists()


def test_a_store_whose_runs_need_a_plugin_is_verified_with_that_file_alone(spec_file, awkward, tmp_path):
    (tmp_path / "mine.py").write_bytes(awkward.read_bytes() + b"# other\n")
    spec, folder = spec_file(f'plugins = ["{awkward}"]\n' + matrix_spec(["slow:seconds=0"])), tmp_path / "store"
    run_experiment(plan_of(spec), folder, backend=Backend(jobs=1))
    (complaint,) = verify_store(folder, jobs=1).complaints
    assert f"it needs {awkward} (SHA-256 {sha256_file(awkward)}): pass this file with --plugin" in complaint
    assert verify_store(folder, jobs=1, plugins=[awkward]) == (4, 4, [], [], 0, 0)
