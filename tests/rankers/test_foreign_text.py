"""Runs, judgements and tables of scores as other programs write them."""

import numpy as np
import pandas as pd
import pytest

from ltr_duel.core import InputError
from ltr_duel.data import Dataset
from ltr_duel.rankers import pool_runs, rankers_named

QRELS = "q 0 Müller 1\nq 0 Bäcker 0\n"
RUN = "q Q0 Müller 1 5 x\nq Q0 Bäcker 2 4 x\n"


@pytest.fixture
def corpus():
    """Return a corpus of three queries, with two documents each."""
    documents = np.array(["null", "a b", "01", "1", "None", "Müller"])
    return Dataset(
        features=np.zeros((6, 1), np.float32),
        relevance=np.array([1, 0] * 3),
        query_ptr=np.array([0, 2, 4, 6]),
        query_ids=np.array(["NA", "007", "x"]),
        doc_ids=documents,
        name="small",
        grades=2,
        sha256="",
        feature_names=("1",),
    )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_ids_match_in_every_encoding(tmp_path, encoding):
    (tmp_path / "qrels").write_text(QRELS, encoding=encoding)
    (tmp_path / "run").write_text(RUN, encoding="utf-8")
    pool = pool_runs(tmp_path / "qrels", {"r": tmp_path / "run"})
    assert pool.dataset.query_ids.tolist() == ["q"] and pool.dataset.doc_ids.tolist() == ["Bäcker", "Müller"]
    assert pool.runs["r"].scores.tolist() == [4, 5] and pool.unjudged == 0


def test_only_ascii_blanks_separate_words(tmp_path):
    (tmp_path / "run").write_text("q Q0 a\u00a0b 1 5 x\n", encoding="utf-8")
    (tmp_path / "qrels").write_text("q 0 a\u00a0b 1\n", encoding="utf-8")
    pool = pool_runs(tmp_path / "qrels", {"r": tmp_path / "run"})
    assert pool.dataset.doc_ids.tolist() == ["a\u00a0b"] and pool.runs["r"].scores.tolist() == [5]


GRADES = {"q1": {"a b": 1, "c": 0}, "007": {"d": 2}}
JUDGED = {
    "beir.tsv": "query-id\tcorpus-id\tscore\nq1\ta b\t1\nq1\tc\t0\n007\td\t2\n",
    "table.csv": "\ufeffgrade,document,query\r\n1.0,a b,q1\r\n0.0,c,q1\r\n2.0,d,007\r\n",
}


@pytest.mark.parametrize("form", [*JUDGED, "dictionary", "frame"])
def test_judgements_are_read_in_the_forms_of_other_tools(tmp_path, form):
    rows = [(query, document, grade) for query, of in GRADES.items() for document, grade in of.items()]
    given = {
        "dictionary": GRADES,
        "frame": pd.DataFrame(rows, columns=["query-id", "corpus-id", "score"]),
    }.get(form, tmp_path / form)
    if form in JUDGED:
        given.write_text(JUDGED[form], encoding="utf-8", newline="")
    pool = pool_runs(given, {"r": {"q1": {"c": 3.0, "a b": 1.0}, "007": {"d": 1}}})
    assert pool.dataset.query_ids.tolist() == ["q1", "007"] and pool.dataset.doc_ids.tolist() == ["a b", "c", "d"]
    assert pool.dataset.relevance.tolist() == [1, 0, 2] and pool.runs["r"].scores.tolist() == [1, 3, 1]


@pytest.mark.parametrize("grade", [0.7, "inf", "high", None])
def test_grades_that_are_not_whole_are_refused(grade):
    with pytest.raises(InputError, match="qrels, row 1: the grade must be a whole number of at most 30, not '"):
        pool_runs({"q": {"d": grade}}, {"r": {"q": {"d": 1.0}}})


@pytest.mark.parametrize("grade", [1, "1.0", np.int8(1)])
def test_grades_that_are_whole_are_read(grade):
    assert pool_runs({"q": {"d": grade}}, {"r": {"q": {"d": 1.0}}}).dataset.relevance.tolist() == [1]


@pytest.mark.parametrize(("query", "document"), [(None, "d"), (np.nan, "d"), ("q", pd.NA), ("", "d")])
def test_missing_ids_are_refused(query, document):
    frame = pd.DataFrame({"qid": ["q", query], "docno": ["d", document], "label": [1, 1]})
    with pytest.raises(InputError, match="qrels, row 2: the id of the query or document is missing"):
        pool_runs(frame, {"r": {"q": {"d": 1.0}}})


def test_whole_numbers_that_pandas_made_floats_stay_ids():
    frame = pd.DataFrame({"qid": [7.0], "docno": [3], "label": [1]})
    assert pool_runs(frame, {"r": {"7": {"3": 1.0}}}).dataset.doc_ids.tolist() == ["3"]


@pytest.mark.parametrize("given", [5, {"q": 1}])
def test_other_objects_are_refused_with_the_forms(given):
    with pytest.raises(InputError, match=r"\{query: \{document: value\}\}"):
        pool_runs(given, {"r": {"q": {"d": 1.0}}})


def test_ids_survive_in_a_table_and_an_empty_cell_is_not_retrieved(corpus, tmp_path):
    text = 'query,document,a,b\nNA,null,3,\nNA,"a b",4,\n007,01,1,2\n007,1,2,1\nx,None,5,5\nx,Müller,,5\n'
    expected = [[3, 4, 1, 2, 5, np.nan], [np.nan, np.nan, 2, 1, 5, 5]]
    (tmp_path / "s.csv").write_bytes(text.encode("latin-1"))
    (tmp_path / "s.tsv").write_text(text.replace(",", "\t"), encoding="utf-16")
    names = ["NA"] * 2 + ["007"] * 2 + ["x"] * 2
    frame = pd.DataFrame({"query": names, "document": corpus.doc_ids, "a": expected[0], "b": expected[1]})
    frame.to_parquet(tmp_path / "s.parquet")
    for name in ("s.csv", "s.tsv", "s.parquet"):
        rankings = rankers_named(corpus, [f"scores:{name}"], folder=tmp_path)
        assert rankings.order[0].tolist() == [1, 0, 1, 0, 0, 1]
        about = rankings.provenance["rankers"]
        assert [(about[one]["retrieved"], about[one]["queries"]) for one in "ab"] == [(5, 3), (4, 2)]


def test_a_ranker_says_what_it_lacks_and_whether_it_orders_anything(corpus, tmp_path):
    (tmp_path / "r.trec").write_text("007 Q0 01 1 2 x\n007 Q0 1 2 2 x\nx Q0 None 1 9 x\n")
    about = rankers_named(corpus, ["run:r.trec"], folder=tmp_path).provenance["rankers"]["run:r"]
    assert (about["retrieved"], about["queries"], about["equal_scores"]) == (3, 2, True)
