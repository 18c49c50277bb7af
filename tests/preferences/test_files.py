"""Preference matrices on disk: round trips, provenance, foreign files."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ltr_duel.core.errors import InputError
from ltr_duel.preferences.estimate.api import estimate_preferences
from ltr_duel.preferences.io import load_preferences, save_preferences
from ltr_duel.preferences.matrix import PreferenceMatrix
from tests.conftest import bradley_terry, random_rankings


def test_everything_survives_a_round_trip(tmp_path):
    p = bradley_terry(5).p
    error, counts = np.full((5, 5), 0.01), np.full((5, 5), 77)
    np.fill_diagonal(error, 0)
    np.fill_diagonal(counts, 0)
    matrix = PreferenceMatrix(p, ("a", "ü", "c d", "4", ""), error, counts, {"corpus": "x", "seed": 3})
    again = load_preferences(save_preferences(matrix, tmp_path / "new" / "m.parquet"))
    assert again.names == matrix.names and again.provenance == matrix.provenance
    upper = np.triu_indices(5)
    assert (again.p[upper] == matrix.p[upper]).all() and np.abs(again.p - matrix.p).max() < 1e-15
    assert (again.standard_error == error).all() and (again.comparisons == counts).all()


def test_provenance_lies_in_the_schema_metadata(tmp_path):
    path = save_preferences(
        PreferenceMatrix(bradley_terry(2).p, provenance={"clicks": "perfect"}), tmp_path / "m.parquet"
    )
    about = json.loads(pq.read_schema(path).metadata[b"ltr_duel"])
    assert about["provenance"] == {"clicks": "perfect"} and about["names"] == ["0", "1"]


def test_the_same_matrix_gives_the_same_bytes(tmp_path):
    one, two = (save_preferences(bradley_terry(9), tmp_path / name) for name in ("a.parquet", "b.parquet"))
    assert one.read_bytes() == two.read_bytes()


def test_plain_squares_of_numbers_are_read(tmp_path):
    p = bradley_terry(3).p
    (tmp_path / "spaces.txt").write_text("\n".join(" ".join(map(repr, row.tolist())) for row in p))
    (tmp_path / "sized.txt").write_text("3\n" + "\n".join("\t".join(map(repr, row.tolist())) for row in p) + "\n")
    with gzip.open(tmp_path / "commas.txt.gz", "wt") as file:
        file.write("\n".join(",".join(map(repr, row.tolist())) for row in p))
    np.save(tmp_path / "array.npy", p)
    for path in tmp_path.iterdir():
        assert (load_preferences(path).p == p).all()


def test_all_published_files_are_read(real_data):
    sizes = {}
    for path in sorted((real_data / "preference_matrices").iterdir()):
        if path.suffix != ".md":
            sizes[path.name] = len(load_preferences(path))
    assert sizes["MergeDTS_MSLR-Perfect.txt.gz"] == 136 and sizes["komiyama_pref_arxiv.txt"] == 6


@pytest.mark.parametrize(
    "content, sentence",
    [
        (b"", "must be square"),
        (b"0.5 0.6\n0.4\n", "row 2 has 1 numbers; a matrix of 2 rows needs 2 numbers"),
        (b"0.5 x\n0.4 0.5\n", ":1: '0.5 x' is not a row of numbers"),
        (b"PAR1 is how Parquet begins", "not a preference matrix"),
        (b"\x93NUMPY", "not a preference matrix"),
        (b"\x1f\x8b but not gzip", "not a preference matrix"),
        (b"\xff\xfa\x00", "not a preference matrix"),
    ],
)
def test_other_files_are_refused_by_name(tmp_path, content, sentence):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(InputError, match=sentence) as caught:
        load_preferences(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_a_foreign_parquet_file_and_a_missing_one_are_refused(tmp_path):
    pq.write_table(pa.table({"x": [1]}), tmp_path / "other.parquet")
    with pytest.raises(InputError, match="a Parquet file, but not a preference matrix"):
        load_preferences(tmp_path / "other.parquet")
    with pytest.raises(InputError, match="no such file; 'ltr-duel prefs estimate' makes"):
        load_preferences(tmp_path / "missing.parquet")


def test_pickled_arrays_are_never_unpickled(tmp_path):
    np.save(tmp_path / "evil.npy", np.array([[{"a": 1}]], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match=r"not a preference matrix .*pickle"):
        load_preferences(tmp_path / "evil.npy")


@pytest.mark.parametrize("ending", [".csv", ".npy", ".txt"])
def test_an_estimate_loses_its_errors_not_without_a_word(tmp_path, ending):
    estimate = PreferenceMatrix(bradley_terry(3).p, standard_error=0.01 * ~np.eye(3, dtype=bool))
    with pytest.warns(UserWarning, match=rf"m{ending} cannot store standard errors, .* as exact; .parquet keeps them"):
        path = save_preferences(estimate, tmp_path / f"m{ending}")
    assert not load_preferences(path).standard_error.any()


@pytest.mark.parametrize("name", ["m.csv.gz", "m.tsv", "m"])
def test_other_suffixes_are_refused_and_the_legal_ones_named(tmp_path, name):
    with pytest.raises(InputError, match=rf"{name}: .* is written to \.parquet, \.csv, \.txt or \.npy; "):
        save_preferences(bradley_terry(3), tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", [".csv", ".npy", ".txt"])
def test_plain_formats_keep_p(tmp_path, ending):
    matrix = PreferenceMatrix(bradley_terry(3).p, ("a, b", 'say "c"', "d"))
    again = load_preferences(save_preferences(matrix, tmp_path / f"m{ending}"))
    assert (again.p == matrix.p).all()
    assert again.names == (matrix.names if ending == ".csv" else ("0", "1", "2"))


def test_counts_survive_and_are_spelled_out(tmp_path):
    matrix = estimate_preferences(
        random_rankings(4, 5, 8), comparisons=300, outcome="sampled", variance_reduction="none"
    )
    path = save_preferences(matrix, tmp_path / "m.parquet")
    again = load_preferences(path)
    assert all((a == b).all() for a, b in zip(again.tally, matrix.tally, strict=True))
    assert (again.wins == matrix.wins).all() and (again.ties == matrix.ties).all()
    rows = pq.read_table(path).to_pandas()
    assert (rows["wins"] + rows["losses"] + rows["ties"] == 300).all()
    assert np.allclose(rows["p"], (rows["wins"] + rows["ties"] / 2) / 300)
    assert estimate_preferences(random_rankings(2, 5, 8), comparisons=300, outcome="expectation").wins is None


def test_files_of_the_first_format_are_refused(tmp_path):
    path = save_preferences(bradley_terry(3), tmp_path / "m.parquet")
    table = pq.read_table(path)
    about = json.loads(table.schema.metadata[b"ltr_duel"]) | {"format": "ltr_duel.preferences/1"}
    pq.write_table(table.replace_schema_metadata({b"ltr_duel": json.dumps(about).encode()}), path)
    with pytest.raises(InputError, match=r"another version of this program \(ltr_duel.preferences/1\)"):
        load_preferences(path)


READS = """
import os, sys
import ltr_duel.preferences.io as io
before = len(os.listdir("/proc/self/task"))
io.load_preferences(sys.argv[1])
print(len(os.listdir("/proc/self/task")) - before)
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted as Linux lists them")
def test_reading_a_matrix_starts_no_thread_that_could_abort_the_process_while_it_shuts_down(tmp_path):
    path = save_preferences(bradley_terry(5), tmp_path / "m.parquet")
    read = subprocess.run([sys.executable, "-c", READS, path], capture_output=True, text=True, timeout=120)
    assert (read.returncode, read.stdout, read.stderr) == (0, "0\n", "")
