"""Corpora from tables, data frames and arrays are the corpora of the same numbers in feature text."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse

from ltr_duel.core import InputError
from ltr_duel.data import Dataset, load_dataset
from ltr_duel.data.text.reading import ReadWarning

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


def test_missing_and_large_values_are_treated_as_in_text(tmp_path):
    frame = FRAME.assign(bm25=[np.nan, 4, 2], age=[1e39, 0, 0])
    with pytest.warns(ReadWarning, match="frame: 1 value beyond the range of float32"):
        corpus = Dataset.from_frame(frame, fill="min")
    assert corpus.features.tolist() == [[4, float(np.finfo(np.float32).max)], [4, 0], [2, 0]]


def test_a_pool_of_catboost_is_read_with_its_description(tmp_path):
    (tmp_path / "pool.tsv").write_text("2\tq1\td1\t7.5\tred\t3\n0\tq1\td2\t3\tblue\t1\n1\tq2\td3\t0.25\tred\t0\n")
    (tmp_path / "pool.tsv.cd").write_text("0\tLabel\n1\tGroupId\n2\tSampleId\n3\tNum\tbm25\n4\tCateg\tcolour\n")
    with pytest.warns(ReadWarning, match=r"left out, as they are no numbers: \(Categ\) colour"):
        corpus = load_dataset(tmp_path / "pool.tsv")
    assert corpus.features.tolist() == [[7.5, 3], [3, 1], [0.25, 0]] and corpus.relevance.tolist() == [2, 0, 1]
    assert corpus.feature_names == ("bm25", "feature 5") and corpus.query_ids.tolist() == ["q1", "q2"]
