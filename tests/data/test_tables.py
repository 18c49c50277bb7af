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

TEXT = "2 qid:NA 1:7.5 2:3 #docid = 007\n0 qid:NA 1:3 2:1 #docid = null\n1 qid:2 1:0.25 2:0 #docid = a b\n"
FRAME = pd.DataFrame(
    {
        "qid": ["NA", "NA", "2"],
        "docno": ["007", "null", "a b"],
        "grade": [2, 0, 1.0],
        "bm25": [7.5, 3, 0.25],
        "age": [3, 1, 0],
    }
)
NAMES = ["bm25", "age"]


@pytest.fixture
def expected(tmp_path):
    (tmp_path / "text").write_text(TEXT.replace("a b", "a"))
    return load_dataset(tmp_path / "text", feature_names=NAMES)


def same(corpus: Dataset, expected: Dataset) -> bool:
    assert np.array_equal(corpus.features, expected.features) and corpus.features.dtype == np.float32
    assert corpus.relevance.tolist() == expected.relevance.tolist()
    assert corpus.query_ids.tolist() == expected.query_ids.tolist() and corpus.feature_names == expected.feature_names
    return corpus.sha256 == expected.sha256


@pytest.mark.parametrize(
    "ending", [".parquet", ".csv", ".tsv", ".csv.gz", " with semicolons.csv", " without an ending"]
)
def test_a_table_is_read_like_text(tmp_path, expected, ending):
    frame, path = FRAME.replace("a b", "a"), tmp_path / f"table{ending}"
    separator = {".tsv": "\t", " with semicolons.csv": ";"}.get(ending, ",")
    if ending == ".parquet":
        frame.to_parquet(path)
    else:
        text = frame.to_csv(index=False, sep=separator).encode()
        path.write_bytes(gzip.compress(text) if ending == ".csv.gz" else text)
    corpus = load_dataset(path)
    assert same(corpus, expected) and corpus.doc_ids.tolist() == ["007", "null", "a"]


def test_the_rows_of_a_table_in_a_file_may_be_in_any_order(tmp_path):
    FRAME.iloc[[0, 2, 1]].to_csv(tmp_path / "table.csv", index=False)
    corpus = load_dataset(tmp_path / "table.csv")
    assert corpus.doc_ids.tolist() == ["007", "null", "a b"] and corpus.query_ptr.tolist() == [0, 2, 3]
    with pytest.raises(InputError, match="row 3: query 'NA' appears again; the rows of a query must be adjacent"):
        Dataset.from_frame(FRAME.iloc[[0, 2, 1]])


@pytest.mark.parametrize("make", [pd.DataFrame, pa.Table.from_pandas, pd.DataFrame.convert_dtypes])
def test_frames_of_several_libraries_are_read(expected, make):
    frame = make(FRAME.replace("a b", "a").astype({"qid": "category"}))
    assert same(Dataset.from_frame(frame), expected)
    named = make(FRAME.rename(columns={"qid": "q", "grade": "g", "docno": "d"}))
    assert Dataset.from_frame(named, query="q", label="g", document="d", features=["age"]).features.tolist() == [
        [3],
        [1],
        [0],
    ]


@pytest.mark.parametrize(
    "make", [np.asarray, lambda x: x.tolist(), scipy.sparse.csr_matrix, scipy.sparse.coo_array, pd.DataFrame]
)
def test_arrays_are_read(expected, make):
    x = FRAME[NAMES].to_numpy(np.float64)
    names = None if make is pd.DataFrame else NAMES
    x = pd.DataFrame(x, columns=NAMES) if make is pd.DataFrame else make(x)
    corpus = Dataset.from_arrays(x, FRAME.grade, FRAME.qid, documents=["007", "null", "a"], feature_names=names)
    assert same(corpus, expected)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_the_index_of_a_data_frame_is_no_feature(tmp_path, expected, ending):
    frame = FRAME.replace("a b", "a").set_axis([5, 3, 4])
    path = tmp_path / f"table{ending}"
    frame.to_csv(path) if ending == ".csv" else frame.to_parquet(path)
    with pytest.warns(
        ReadWarning, match="left out, as the index of a data frame is no feature: '(__index_level_0__)?'"
    ):
        assert same(load_dataset(path), expected)
    with pytest.warns(ReadWarning, match="'Unnamed: 0'"):  # as pandas.read_csv calls it
        assert same(Dataset.from_frame(frame.reset_index(names="Unnamed: 0")), expected)


@pytest.mark.parametrize(
    "stored_zero, omitted, filled", [(None, "all zeros", 0), (0, "some zeros", 0), (None, "", np.nan)]
)
def test_entries_that_a_sparse_matrix_omits_are_omitted_features(stored_zero, omitted, filled):
    values, rows, columns = [7.5, 3], [0, 1], [0, 1]
    if stored_zero is not None:
        values, rows, columns = [*values, stored_zero], [*rows, 1], [*columns, 0]
    matrix = scipy.sparse.csr_matrix((values, (rows, columns)), (2, 2))
    corpus = Dataset.from_arrays(matrix, [1, 0], [1, 1], omitted=None if omitted else "missing")
    assert np.array_equal(corpus.features, [[7.5, filled], [filled, 3]], equal_nan=True) and corpus.omitted == omitted


@pytest.mark.parametrize(
    "qid, ids", [([7, 7, 8], ["7", "8"]), ([7.0, 7.0, 8.0], ["7", "8"]), (["07", "07", " 8"], ["07", " 8"])]
)
def test_ids_of_queries_keep_their_text(qid, ids):
    assert Dataset.from_arrays([[1], [2], [3]], [0, 1, 2], qid).query_ids.tolist() == ids


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"grade": [0.7, 0, 1]}, r"row 1: label 0\.7 is not a whole number"),
        ({"grade": [0, np.inf, 1]}, "row 2: label inf is not a relevance grade"),
        ({"grade": [0, 1, np.nan]}, "row 3: label nan is not a relevance grade"),
        (
            {"bm25": [1, np.nan, 2]},
            "column 'bm25', row 2: this cell of the table is empty; choose a replacement with --fill",
        ),
        ({"bm25": [1, np.inf, 2]}, "column 'bm25', row 2: the value is infinite"),
        ({"bm25": ["1", "x", "2"]}, "column 'bm25', row 2: 'x' is not a number"),
        ({"qid": ["1", None, "2"]}, "column 'qid', row 2: there is no id"),
        ({"query": ["1", "1", "2"]}, "the columns query and qid may both be the query"),
    ],
)
def test_what_is_no_corpus_is_refused(tmp_path, change, sentence):
    frame = FRAME.assign(**change)
    with pytest.raises(InputError, match=sentence):
        Dataset.from_frame(frame)
    frame.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match=f"a.parquet: .*{sentence}"):
        load_dataset(tmp_path / "a.parquet")


def test_a_missing_column_or_option_of_text_is_refused(tmp_path):
    FRAME.drop(columns="grade").to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(
        InputError, match=r"a\.csv: no column 'label' \(or grade, .*\); this is a table of qid, docno, bm25, age"
    ):
        load_dataset(tmp_path / "a.csv")
    FRAME.to_csv(tmp_path / "b.csv", index=False)
    with pytest.raises(InputError, match="this is a table; first_id applies to feature text only"):
        load_dataset(tmp_path / "b.csv", first_id=0)
    with pytest.raises(InputError, match=r"these arrays are no corpus: .*inconsistent numbers of samples"):
        Dataset.from_arrays([[1], [2]], [0, 1, 2], [1, 1])
    with pytest.raises(InputError, match=r"a data frame becomes a corpus with Dataset\.from_frame"):
        load_dataset(FRAME)


def test_missing_and_large_values_are_treated_as_in_text(tmp_path):
    frame = FRAME.assign(bm25=[np.nan, 4, 2], age=[1e39, 0, 0])
    with pytest.warns(ReadWarning, match="frame: 1 value beyond the range of float32"):
        corpus = Dataset.from_frame(frame, fill="min")
    assert corpus.features.tolist() == [[4, float(np.finfo(np.float32).max)], [4, 0], [2, 0]]


def test_ids_beyond_the_whole_numbers_of_floats_stay_exact():
    corpus = Dataset.from_arrays([[1], [2], [3]], [0, 1, 0], [2**63 + 1, 2**63 + 2, 5])
    assert corpus.query_ids.tolist() == [str(2**63 + 1), str(2**63 + 2), "5"]


def x_of(*cells):
    return pd.DataFrame({"qid": ["1", "1"], "label": [1, 0], "x": cells})


TIMES = pd.to_datetime(["2020", "2021"])


@pytest.mark.parametrize(
    "make, sentence",
    [
        (lambda: Dataset.from_frame(pd.concat([x_of(1, 2), x_of(3, 4)[["x"]]], axis=1)), "two columns are called 'x'"),
        (lambda: Dataset.from_arrays(x_of(1, 2)[["x", "x"]], [1, 0], [1, 1]), "two columns are called 'x'"),
        (
            lambda: Dataset.from_arrays(x_of(*TIMES)[["x"]], [1, 0], [1, 1]),
            "no corpus: X contains values that are no n",
        ),
        (lambda: Dataset.from_arrays(x_of("a", "b")[["x"]].astype("category"), [1, 0], [1, 1]), "no corpus: "),
        (lambda: Dataset.from_frame(x_of(1, 2).assign(qid=["a", "a\0"])), "row 2: an id cannot contain a null char"),
        (lambda: Dataset.from_frame(x_of("1_0", "2")), "row 1: '1_0' is not a number"),
        (lambda: Dataset.from_frame(x_of(1, 2), fill=1e300), "must be a finite number of float32"),
        ("qid,label,x,x\n1,1,2,3\n", "a.csv: two columns are called 'x'"),
        ("qid,label,x\n1,1,0x10\n1,0,3\n", "a.csv: the table cannot be read .* invalid value '0x10'"),
        ("qid,label,x\n1,1,1_0\n1,0,3\n", "a.csv: column 'x', row 1: '1_0' is not a number"),
    ],
)
def test_what_would_be_read_as_something_else_is_refused(tmp_path, make, sentence):
    if isinstance(make, str):
        (tmp_path / "a.csv").write_text(make)
    with pytest.raises(InputError, match=sentence):
        load_dataset(tmp_path / "a.csv") if isinstance(make, str) else make()


@pytest.mark.parametrize(
    "change",
    [
        {"X": [[1.0], [2.0], [4.0]]},
        {"y": [1, 0, 0]},
        {"qid": [1, 2, 2]},  # the same queries with another boundary
        {"qid": [1, 1, 3]},
        {"documents": ["a", "b", "d"]},
        {"feature_names": ["age"]},
    ],
)
def test_the_digest_covers_features_grades_boundaries_ids_and_names(change):
    given = {"X": [[1.0], [2.0], [3.0]], "y": [1, 0, 1], "qid": [1, 1, 2], "documents": ["a", "b", "c"]}
    given |= {"feature_names": ["bm25"]}
    one, other = (Dataset.from_arrays(**each) for each in (given, given | change))
    assert one.sha256 != other.sha256 and one.sha256 == Dataset.from_arrays(**given).sha256
