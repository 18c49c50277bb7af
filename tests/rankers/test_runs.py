"""Runs, judgements and tables of scores: read as other programs write them, matched, pooled, counted, refused."""

from __future__ import annotations

import gzip
from collections import namedtuple
from dataclasses import replace
from pathlib import Path

import ir_measures
import numpy as np
import pandas as pd
import pytest
from ir_measures import RR, P, R, nDCG

from ltr_duel.cli.main import main
from ltr_duel.core import InputError
from ltr_duel.data import Dataset, ReadWarning
from ltr_duel.rankers import measure_by_query, pool_named, pool_runs, rankers_named, run_rankers

pytestmark = pytest.mark.filterwarnings("ignore:.* below 0, read as grade 0")
QRELS = "1 0 a 2\n1 0 b 0\n1 0 e 1\n2 0 a 1\n2 0 c -2\n3 0 a 1\n"
BM25 = "1 Q0 a 1 9 t\n1 Q0 c 2 8 t\n1 Q0 d 3 7 t\n2 Q0 c 1 3 t\n2 Q0 a 2 2 t\n9 Q0 a 1 1 t\n"
DENSE = "1 Q0 e 1 0.9 t\n1 Q0 b 2 0.8 t\n1 Q0 a 3 0.7 t\n2 Q0 a 1 0.5 t\n2 Q0 f 2 0.4 t\n"
RUN = {"r": {"1": {"a": 3.0}}}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "bm25.trec.gz").write_bytes(gzip.compress(BM25.encode()))
    (tmp_path / "dense.trec").write_text(DENSE)
    return tmp_path


@pytest.fixture
def pool(files):
    return pool_runs("qrels.txt", {"bm25": "bm25.trec.gz", "dense": "dense.trec"})


@pytest.fixture
def dataset():
    """Return two queries of four and three documents; document "b" is in both."""
    documents = np.array(["a", "b", "null", "007", "b", "None", "a b"])
    relevance, query_ptr = np.array([0, 1, 0, 0, 1, 0, 0]), np.array([0, 4, 7])
    queries = np.array(["NA", "WT04-2"])
    return Dataset(np.zeros((7, 1), np.float32), relevance, query_ptr, queries, documents, "toy", 2, "", ("1",))


def ranked(dataset, text, **settings):
    Path("mine.run").write_text(text, newline="")
    return rankers_named(dataset, ["run:mine.run"], **settings)


def test_documents_are_ordered_by_score_and_the_rank_is_ignored(files, dataset):
    text = "NA Q0 null 77 9.5 t\nNA Q0 a 2 7 t\n\nNA\tQ0\t007 3 1e-3 t\r\nNA Q0 b 4 -2 t\nWT04-2 Q0 None 1 3 t\n"
    rankings = ranked(dataset, text + "WT04-2 Q0 zzz 1 9 t\nq7 Q0 a 1 1 t\nq8 Q0 a 1 1 t\n")
    assert rankings.order[0, :5].tolist() == [2, 0, 3, 1, 1] and rankings.names == ("run:mine",)
    about = rankings.provenance["rankers"]["run:mine"]
    assert (about["unknown_queries"], about["unknown_documents"], about["retrieved"], about["queries"]) == (2, 1, 5, 2)
    assert not about["equal_scores"]


def test_documents_that_a_run_does_not_retrieve_come_last_by_the_tie_rule(files, dataset):
    text = "NA Q0 007 1 0.5 x\nNA Q0 b 2 0.5 x\n"
    rankings = ranked(dataset, text, ties="file")
    assert rankings.order.tolist() == [[1, 3, 0, 2, 0, 1, 2]]
    assert rankings.provenance["rankers"]["run:mine"]["equal_scores"]
    orders = {tuple(ranked(dataset, text, seed=seed).order[0, :4].tolist()) for seed in range(30)}
    assert orders == {(1, 3, 0, 2), (1, 3, 2, 0), (3, 1, 0, 2), (3, 1, 2, 0)}


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("NA Q0 a 1 0.5", r"mine\.run:2: a line has 6 words.*not 5"),
        ("NA Q0 a 1 high tag", r"mine\.run:2: the score must be a finite number, not 'high'"),
        ("NA Q0 a 1 nan tag", r"mine\.run:2: the score must be a finite number, not 'nan'"),
        ("NA Q0 b 1 3 tag", r"mine\.run:2: document b of query NA appears a second time, first in mine\.run:1"),
        ("WT04-2 Q0 b 1 3 t\nNA Q0 a 1 1 t", r"mine\.run:3: query NA was listed before, from line 1 on; the lines of"),
    ],
)
def test_malformed_runs_are_refused_by_file_and_line(files, dataset, line, complaint):
    with pytest.raises(InputError, match=complaint):
        ranked(dataset, f"NA Q0 b 1 9.5 tag\n{line}\n")


@pytest.mark.parametrize("text", ["", "NA Q0 nobody 1 2 t\n"])
def test_a_run_without_a_document_of_the_corpus_is_refused(files, dataset, text):
    with pytest.raises(InputError, match=r"mine\.run: none of the \d documents of run:mine is in toy"):
        ranked(dataset, text)


def test_a_corpus_must_tell_its_documents_apart(files, dataset):
    with pytest.raises(InputError, match=r"have no ids, .* '# docid = ID'"):
        ranked(replace(dataset, doc_ids=None), BM25)
    with pytest.raises(InputError, match="query NA has document a twice"):
        ranked(replace(dataset, doc_ids=np.array(["a", "a", "c", "d", "b", "e", "f"])), BM25)


def test_documents_are_pooled_and_what_is_not_judged_has_grade_0(pool):
    corpus = pool.dataset
    assert corpus.query_ids.tolist() == ["1", "2"] and corpus.n_features == 0
    assert corpus.doc_ids.tolist() == ["a", "b", "c", "d", "e", "a", "c", "f"]
    assert corpus.relevance.tolist() == [2, 0, 0, 0, 1, 1, 0, 0]
    assert (pool.unjudged, pool.left_out, corpus.grades) == (3, 2, 3)
    rankings = run_rankers(corpus, pool.runs)
    assert rankings.names == ("bm25", "dense")
    assert rankings.order[0, :3].tolist() == [0, 2, 3] and rankings.order[1, :3].tolist() == [4, 1, 0]
    named = rankers_named(corpus, ["run:bm25.trec.gz", "run:dense.trec"])
    assert (named[["run:dense"]].order[0, :3] == rankings.order[1, :3]).all()


def test_the_depth_limits_what_comes_from_each_run(files):
    pool = pool_runs("qrels.txt", {"bm25": "bm25.trec.gz"}, depth=1)
    assert pool.dataset.doc_ids.tolist() == ["a", "b", "e", "a", "c"] and pool.unjudged == 0


def test_negative_grades_are_read_as_0_with_a_note(files):
    with pytest.warns(ReadWarning, match=r"qrels\.txt: 1 judgement below 0, read as grade 0"):
        pool_runs("qrels.txt", {"bm25": "bm25.trec.gz"})


def frame(text, column, *names):
    rows = [line.split() for line in text.splitlines()]
    values = {names[0]: [row[0] for row in rows], names[1]: [row[2] for row in rows]}
    return pd.DataFrame(values | {names[2]: [float(row[column]) for row in rows]})


class Judgements:
    """A dataset of ir_datasets."""

    def qrels_iter(self):
        row = namedtuple("Qrel", "query_id doc_id relevance iteration")
        return (
            row(query, document, int(grade), "0")
            for query, _, document, grade in map(str.split, QRELS.split("\n")[:-1])
        )


@pytest.mark.parametrize("form", ["ir_datasets", "PyTerrier", "BEIR", "csv", "parquet", "dictionary"])
def test_judgements_and_runs_of_other_tools_are_the_same_corpus(files, pool, form):
    qrels = frame(QRELS, 3, "query-id", "corpus-id", "score")
    bm25, dense = (frame(text, 4, "qid", "docno", "score") for text in (BM25, DENSE))
    runs = {"bm25": bm25.assign(query="its text"), "dense": dense}
    if form == "ir_datasets":
        given = Judgements()
        scored = namedtuple("ScoredDoc", "query_id doc_id score")
        runs["dense"] = [scored(*row) for row in dense.itertuples(index=False)]
    elif form == "PyTerrier":
        given = qrels.set_axis(["qid", "docno", "label"], axis=1).astype({"qid": float})  # of a frame with a gap
    elif form == "dictionary":
        given, *nested = (
            {query: dict(part.iloc[:, 1:].to_numpy().tolist()) for query, part in table.groupby(table.columns[0])}
            for table in (qrels, bm25, dense)
        )
        runs = dict(zip(runs, nested, strict=True))
    else:
        given = files / f"q.{form}"
        text = qrels.to_csv(index=False, sep="\t" if form == "BEIR" else ",")
        qrels.to_parquet(given) if form == "parquet" else given.write_text(text, "utf-8-sig")
    assert pool_runs(given, runs).dataset.sha256 == pool.dataset.sha256


def test_measures_of_what_is_retrieved_are_those_of_ir_measures(pool):
    rankings = run_rankers(pool.dataset, pool.runs)
    qrels = list(ir_measures.read_trec_qrels(QRELS))
    theirs = {"NDCG@2": nDCG(gains={-2: 0, 0: 0, 1: 1, 2: 3}) @ 2, "P@2": P @ 2, "R@2": R @ 2, "MRR@2": RR @ 2}
    for k, text in enumerate((BM25, DENSE)):
        values = ir_measures.iter_calc(theirs.values(), qrels, list(ir_measures.read_trec_run(text)))
        expected = {(value.measure, value.query_id): value.value for value in values}
        for name, measure in theirs.items():
            ours = measure_by_query(rankings, name)[k]
            assert ours == pytest.approx([expected[measure, "1"], expected[measure, "2"]], abs=1e-6), name


def test_judgements_and_rankers_are_a_corpus_on_the_command_line(files, capsys):
    (files / "t.csv").write_text("query,document,old\n1,a,1\n1,b,2\n2,a,1\n2,c,2\n")
    words = ("run:bm25.trec.gz", "mine=run:dense.trec", "scores:t.csv")
    with pytest.raises(SystemExit) as stop:
        main("evaluate", "qrels:qrels.txt", "--measure", "NDCG@2", *(w for word in words for w in ("--rankers", word)))
    output = capsys.readouterr()
    assert stop.value.code == 0 and "3 rankers on 2 queries" in output.out and "mine" in output.out
    assert "3 are not judged and have grade 0; 2 queries" in output.err


def test_a_table_of_scores_is_a_run_for_each_column(files):
    table = pd.DataFrame({"query": ["1", "1", "1", "9"], "document": ["b", "e", "new", "a"]})
    table = table.assign(old=[3, 2, 1, 1], mine=[1, 2, np.nan, 1])
    runs = {name: table[["query", "document"]].assign(score=table[name]).dropna() for name in ("old", "mine")}
    expected = pool_runs("qrels.txt", runs)
    table.to_csv("t.csv")  # with the index, which is no ranker
    pool = pool_named("qrels:qrels.txt", ["scores:t.csv", "features"])
    assert pool.dataset.sha256 == expected.dataset.sha256 and "new" in pool.dataset.doc_ids
    rankings = rankers_named(pool.dataset, ["scores:t.csv"])
    assert (rankings.order == run_rankers(expected.dataset, expected.runs).order).all()


@pytest.mark.parametrize("form", ["latin-1", "utf-16", "semicolons", "parquet"])
def test_ids_keep_their_text_and_an_empty_cell_is_not_retrieved(files, dataset, form):
    text = 'query,document,a,b\nNA,null,3,\nNA,007,4,\nNA,Müller,1,1\nWT04-2,None,1,5\nWT04-2,"a b",,6\n'
    if form == "parquet":
        columns = {"query": [b"NA", b"NA", b"WT04-2", b"WT04-2"], "document": [b"null", b"007", b"None", b"a b"]}
        pd.DataFrame(columns | {"a": [3, 4, 1, np.nan], "b": [np.nan, np.nan, 5, 6]}).to_parquet("s")
    else:
        encoding = "utf-8" if form == "semicolons" else form
        (files / "s").write_text(text.replace(",", ";") if form == "semicolons" else text, encoding)
    rankings = rankers_named(dataset, ["scores:s"])
    assert rankings.order[0, [0, 1, 4]].tolist() == [3, 2, 1] and rankings.order[1, 4:6].tolist() == [2, 1]
    about = rankings.provenance["rankers"]
    assert [(about[name]["retrieved"], about[name]["queries"]) for name in "ab"] == [(3, 2), (2, 1)]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1"])
def test_ids_match_in_every_encoding_and_only_ascii_blanks_separate_words(files, encoding):
    (files / "q").write_text("q 0 Müller 1\nq 0 a\u00a0b 0\n", encoding)
    (files / "r").write_text("q Q0 Müller 1 5 x\nq Q0 a\u00a0b 2 4 x\n", "utf-8")
    pool = pool_runs("q", {"r": "r"})
    assert pool.dataset.doc_ids.tolist() == ["Müller", "a\u00a0b"] and pool.runs["r"].scores.tolist() == [5, 4]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("query,document,a\n1,a,1\n1,a,2\n", "row 2: document a of query 1 appears a second time"),
        ("query,document,a\n1,a,high\n", "row 1: the score of 'a' must be a finite number, not 'high'"),
        ("query,document\n1,a\n", "a table of scores needs a query, a document and scores, but has"),
        ("query,document,a\n1,a\n", "the table cannot be read .*Expected 3 columns, got 2"),
        ("", "the table cannot be read"),
    ],
)
def test_bad_tables_of_scores_are_refused(files, text, complaint):
    (files / "bad.csv").write_text(text)
    with pytest.raises(InputError, match=rf"bad\.csv: {complaint}"):
        pool_named("qrels:qrels.txt", ["scores:bad.csv"])


def judged(query="1", document="a", label=1):
    return pd.DataFrame({"qid": ["1", query], "docno": ["z", document], "label": [1, label]}, dtype=object)


@pytest.mark.parametrize(
    ("qrels", "runs", "complaint"),
    [
        ("1 0 a\n", RUN, "qrels.txt:1: a line has 4 words"),
        ("1 0 a 1\n2 0 a 1\n1 0 a 0\n", RUN, r"qrels.txt:3: document a of query 1 appears .* first in qrels\.txt:1"),
        ("1 0 a \u0663\n", RUN, "qrels.txt:1: the grade must be a finite number, not '\u0663'"),
        ("7 0 a 1\n", RUN, "no query has both a judgement and a document"),
        ("", RUN, "no query has both a judgement and a document"),
        (judged(label=0.7), RUN, "qrels, row 2: the grade must be a whole number of at most 30, not 0.7"),
        (judged(label=None), RUN, "qrels, row 2: the grade must be a finite number, not None"),
        (judged(query=np.nan), RUN, "qrels, row 2: an id is missing"),
        (judged(document=pd.NA), RUN, "qrels, row 2: an id is missing"),
        (judged(document="a\0"), RUN, "qrels, row 2: an id is missing, or contains a null character"),
        (judged().set_axis(["qid", "docno", "docno"], axis=1), RUN, "two columns are called 'docno'"),
        ({"q": 1}, RUN, r"\{query: \{document: value\}\}"),
        (judged(), {}, "there is no run"),
        (judged(), {"r": pd.DataFrame({"qid": ["1"], "docno": ["a"]})}, "run 'r': no column 'score' among qid, docno"),
    ],
)
def test_runs_that_cannot_be_pooled_are_refused(files, qrels, runs, complaint):
    if isinstance(qrels, str):
        (files / "qrels.txt").write_text(qrels)
    with pytest.raises(InputError, match=complaint):
        pool_runs("qrels.txt" if isinstance(qrels, str) else qrels, runs)


def test_runs_of_another_corpus_are_refused(dataset, pool):
    with pytest.raises(InputError, match="matched to a corpus of 8, not 7 documents"):
        run_rankers(dataset, pool.runs)
