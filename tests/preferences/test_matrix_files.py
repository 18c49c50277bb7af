"""Preference matrices on disk: round trips, provenance, foreign files."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from ltr_duel.core import InputError
from ltr_duel.preferences import PreferenceMatrix, estimate_preferences, load_preferences, save_preferences
from tests.conftest import bradley_terry, random_rankings


def test_matrix_files_keep_everything_in_a_round_trip(tmp_path):
    error, counts = 0.01 * (1 - np.eye(5)), 77 * (1 - np.eye(5, dtype=int))
    names = ("a", "ü", "c d", "4", "")
    matrix = PreferenceMatrix(bradley_terry(5).p, names, error, counts, {"corpus": "x", "seed": 3})
    again = load_preferences(save_preferences(matrix, tmp_path / "new" / "m.parquet"))
    assert again.names == names and again.provenance == matrix.provenance
    upper = np.triu_indices(5)
    assert (again.p[upper] == matrix.p[upper]).all() and np.abs(again.p - matrix.p).max() < 1e-15
    assert (again.standard_error == error).all() and (again.comparisons == counts).all()
    assert save_preferences(again, tmp_path / "b.parquet").read_bytes() == (tmp_path / "new/m.parquet").read_bytes()
    about = json.loads(pq.read_schema(tmp_path / "b.parquet").metadata[b"ltr_duel"])
    assert about["provenance"] == matrix.provenance


def test_exact_counts_survive_and_are_columns_of_the_table(tmp_path):
    rankings, given = random_rankings(4, 5, 8), {"outcome": "sampled", "variance_reduction": "none"}
    matrix = estimate_preferences(rankings, comparisons=300, **given)
    path = save_preferences(matrix, tmp_path / "m.parquet")
    again = load_preferences(path)
    assert all((a == b).all() for a, b in zip(again.tally, matrix.tally, strict=True))
    assert (again.wins == matrix.wins).all() and (again.ties == matrix.ties).all()
    rows = pq.read_table(path).to_pandas()
    assert (rows["wins"] + rows["losses"] + rows["ties"] == 300).all()
    assert np.allclose(rows["p"], (rows["wins"] + rows["ties"] / 2) / 300)


def test_csv_keeps_p_and_names_and_warns_that_errors_are_lost(tmp_path):
    names = ("a, b", 'say "c"', "d")
    matrix = PreferenceMatrix(bradley_terry(3).p, names)
    again = load_preferences(save_preferences(matrix, tmp_path / "m.csv"))
    assert (again.p == matrix.p).all() and again.names == names
    estimate = PreferenceMatrix(matrix.p, names, 0.01 * (1 - np.eye(3)))
    with pytest.warns(UserWarning, match=r"m.csv cannot store standard errors, .* as exact; .parquet keeps them"):
        save_preferences(estimate, tmp_path / "m.csv")


def test_matrix_files_with_other_suffixes_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"m.csv.gz: a preference matrix is written to \.parquet or \.csv"):
        save_preferences(bradley_terry(3), tmp_path / "m.csv.gz")
    assert not list(tmp_path.iterdir())


def test_plain_squares_of_numbers_are_read(tmp_path):
    p = bradley_terry(3).p
    (tmp_path / "spaces.txt").write_text("\n".join(" ".join(map(repr, row.tolist())) for row in p))
    (tmp_path / "sized.txt").write_text("3\n" + "\n".join("\t".join(map(repr, row.tolist())) for row in p) + "\n")
    with gzip.open(tmp_path / "commas.txt.gz", "wt") as file:
        file.write("\n".join(",".join(map(repr, row.tolist())) for row in p))
    np.save(tmp_path / "array.npy", p)
    for path in tmp_path.iterdir():
        assert (load_preferences(path).p == p).all()
    error = load_preferences(path, comparisons=100).standard_error[0, 1]
    assert error == pytest.approx(np.sqrt(p[0, 1] * p[1, 0] / 100))


def test_all_published_files_are_read(real_data):
    folder = real_data / "preference_matrices"
    sizes = {path.name: len(load_preferences(path)) for path in folder.iterdir() if path.suffix != ".md"}
    assert sizes["MergeDTS_MSLR-Perfect.txt.gz"] == 136 and sizes["komiyama_pref_arxiv.txt"] == 6


@pytest.mark.parametrize(
    "content, sentence",
    [
        (b"", "must be square"),
        (b"0.5 0.6\n0.4\n", "its rows are not of equal length"),
        (b"0.5 x\n0.4 0.5\n", "could not convert string to float: 'x'"),
        (b"PAR1 is how Parquet begins", "not a preference matrix"),
        (b"\x93NUMPY", "not a preference matrix"),
        (b"\x93NUMPY\x01\x00\x0a\x00{'shape':\n", "not a preference matrix"),  # numpy parses this as Python
        (b"\xff\xfa\x00", "not a preference matrix"),
    ],
)
def test_files_that_are_no_matrix_are_refused_by_name(tmp_path, content, sentence):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(InputError, match=sentence) as caught:
        load_preferences(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_pickled_arrays_are_never_unpickled(tmp_path):
    np.save(tmp_path / "evil.npy", np.array([[{"a": 1}]], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match=r"not a preference matrix .*pickle"):
        load_preferences(tmp_path / "evil.npy")
