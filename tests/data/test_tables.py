"""Corpora from tables, data frames and arrays are the corpora of the same numbers in feature text."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse

from ltr_duel.core import InputError
from ltr_duel.data import Dataset, ReadWarning, load_dataset

TEXT = "2 qid:NA 1:7.5 2:3 #docid = 007\n0 qid:NA 1:3 2:1 #docid = null\n1 qid:2 1:0.25 2:0 #docid = a\n"
NAMES = ["bm25", "age"]
FRAME = pd.DataFrame(
    {"qid": ["NA", "NA", "2"], "docno": ["007", "null", "a"], "grade": [2, 0, 1.0], "bm25": [7.5, 3, 0.25]}
).assign(age=[3, 1, 0])


@pytest.fixture
def expected(tmp_path):
    (tmp_path / "text").write_text(TEXT)
    return load_dataset(tmp_path / "text", feature_names=NAMES)


@pytest.mark.parametrize("ending", [".parquet", ".tsv", ".csv.gz", " with semicolons.csv", " without an ending"])
def test_a_table_is_read_like_text(tmp_path, expected, ending):
    path = tmp_path / f"table{ending}"
    if ending == ".parquet":
        FRAME.to_parquet(path)
    else:
        separator = {".tsv": "\t", " with semicolons.csv": ";"}.get(ending, ",")
        text = FRAME.to_csv(index=False, sep=separator).encode()
        path.write_bytes(gzip.compress(text) if ending == ".csv.gz" else text)
    corpus = load_dataset(path)
    assert corpus.sha256 == expected.sha256 and corpus.features.dtype == np.float32
    assert corpus.doc_ids.tolist() == ["007", "null", "a"]


def test_the_rows_of_a_table_in_a_file_may_be_in_any_order(tmp_path):
    FRAME.iloc[[0, 2, 1]].to_csv(tmp_path / "table.csv", index=False)
    corpus = load_dataset(tmp_path / "table.csv")
    assert corpus.doc_ids.tolist() == ["007", "null", "a"] and corpus.query_ptr.tolist() == [0, 2, 3]
    with pytest.raises(InputError, match="row 3: query 'NA' appears again; the rows of a query must be adjacent"):
        Dataset.from_frame(FRAME.iloc[[0, 2, 1]])


@pytest.mark.parametrize("make", [pd.DataFrame, pa.Table.from_pandas, pd.DataFrame.convert_dtypes])
def test_frames_of_several_libraries_are_read(expected, make):
    assert Dataset.from_frame(make(FRAME.astype({"qid": "category"}))).sha256 == expected.sha256


@pytest.mark.parametrize("make", [np.asarray, lambda x: x.tolist(), scipy.sparse.csr_matrix, pd.DataFrame])
def test_dataset_from_arrays_has_their_values(expected, make):
    x = make(FRAME[NAMES].to_numpy(np.float64))
    names = None if make is pd.DataFrame else NAMES
    x = x.set_axis(NAMES, axis=1) if make is pd.DataFrame else x
    corpus = Dataset.from_arrays(x, FRAME.grade, FRAME.qid, documents=["007", "null", "a"], feature_names=names)
    assert corpus.sha256 == expected.sha256


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_the_index_of_a_data_frame_is_no_feature(tmp_path, expected, ending):
    frame, path = FRAME.set_axis([5, 3, 4]), tmp_path / f"table{ending}"
    frame.to_csv(path) if ending == ".csv" else frame.to_parquet(path)
    with pytest.warns(ReadWarning, match="left out, as the index of a data frame is no feature: '(__index_level_0__)?"):
        assert load_dataset(path).sha256 == expected.sha256


@pytest.mark.parametrize("omitted, filled", [(None, 0), ("missing", np.nan)])
def test_entries_that_a_sparse_matrix_omits_are_omitted_features(omitted, filled):
    matrix = scipy.sparse.csr_matrix(([7.5, 3, 0], ([0, 1, 1], [0, 1, 2])), (2, 3))
    corpus = Dataset.from_arrays(matrix, [1, 0], [1, 1], omitted=omitted)
    assert np.array_equal(corpus.features, [[7.5, filled, filled], [filled, 3, 0]], equal_nan=True)
    assert corpus.omits == (omitted is None)


@pytest.mark.parametrize(
    "qid, ids",
    [
        ([7.0, 7.0, 8.0], ["7", "8"]),
        (["07", "07", " 8"], ["07", " 8"]),
        ([2**63 + 1, 2**63 + 1, 2**63 + 2], [str(2**63 + 1), str(2**63 + 2)]),
    ],
)
def test_ids_of_queries_keep_their_text(qid, ids):
    assert Dataset.from_arrays([[1], [2], [3]], [0, 1, 2], qid).query_ids.tolist() == ids


def test_missing_and_large_values_are_treated_as_in_text():
    frame = FRAME.assign(bm25=[np.nan, 4, 2], age=[1e39, 0, 0])
    with pytest.warns(ReadWarning, match="frame: 1 value beyond the range of float32"):
        corpus = Dataset.from_frame(frame, fill="min")
    assert corpus.features.tolist() == [[4, float(np.finfo(np.float32).max)], [4, 0], [2, 0]]


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"grade": [0.7, 0, 1]}, r"row 1: label 0\.7 is not a relevance grade"),
        ({"grade": [0, 1, np.nan]}, "row 3: label nan is not a relevance grade"),
        ({"bm25": [1, np.nan, 2]}, "column 'bm25', row 2: this cell of the table is empty; choose a replacement with"),
        ({"bm25": [1, np.inf, 2]}, "column 'bm25', row 2: the value is infinite"),
        ({"bm25": ["1_0", "1", "2"]}, "column 'bm25', row 1: '1_0' is not a number"),
        ({"qid": ["1", None, "2"]}, "column 'qid', row 2: there is no id"),
        ({"qid": ["1", "a\0", "2"]}, "column 'qid', row 2: there is no id, or it contains a null character"),
        ({"query": ["1", "1", "2"]}, "the columns query and qid may both be the query"),
    ],
)
def test_a_table_that_is_no_corpus_is_refused(tmp_path, change, sentence):
    frame = FRAME.assign(**change)
    with pytest.raises(InputError, match=sentence):
        Dataset.from_frame(frame)
    frame.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match=f"a.parquet: .*{sentence}"):
        load_dataset(tmp_path / "a.parquet")


TIMES = pd.DataFrame({"x": pd.to_datetime(["2020", "2021"])})


@pytest.mark.parametrize(
    "make, sentence",
    [
        (lambda: Dataset.from_arrays(FRAME[["age", "age"]], [0, 1, 0], [1, 1, 1]), "two columns are called 'age'"),
        (lambda: Dataset.from_arrays(TIMES, [1, 0], [1, 1]), "no corpus: X contains values that are no numbers"),
        (lambda: Dataset.from_arrays([["a"], ["b"]], [1, 0], [1, 1]), "no corpus: "),
        (lambda: Dataset.from_arrays([[1], [2]], [0, 1, 2], [1, 1]), "no corpus: .*inconsistent numbers of samples"),
        (lambda: load_dataset(FRAME), r"a data frame becomes a corpus with Dataset\.from_frame"),
    ],
)
def test_arrays_that_are_no_corpus_are_refused(make, sentence):
    with pytest.raises(InputError, match=sentence):
        make()


CHANGES = {
    "X": [[1.0], [2.0], [4.0]],
    "y": [1, 0, 0],
    "qid": [1, 2, 2],
    "documents": list("abd"),
    "feature_names": ["b"],
}


@pytest.mark.parametrize("name", CHANGES)
def test_the_digest_covers_features_grades_boundaries_ids_and_names(name):
    change = {name: CHANGES[name]}
    given = {"X": [[1.0], [2.0], [3.0]], "y": [1, 0, 1], "qid": [1, 1, 2], "documents": ["a", "b", "c"]}
    given |= {"feature_names": ["bm25"]}
    one, other = (Dataset.from_arrays(**each) for each in (given, given | change))
    assert one.sha256 != other.sha256 and one.sha256 == Dataset.from_arrays(**given).sha256
