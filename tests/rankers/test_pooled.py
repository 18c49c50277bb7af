"""Corpora of judgements and runs: pooled, counted, refused; as frames and as records."""

from __future__ import annotations

import gzip
from typing import NamedTuple

import ir_measures
import pandas as pd
import pytest
from ir_measures import RR, P, R, nDCG

from ltr_duel.core import InputError
from ltr_duel.data import ReadWarning
from ltr_duel.preferences import estimate_preferences
from ltr_duel.rankers import measure_by_query, pool_named, pool_runs, rankers_named, run_rankers

pytestmark = pytest.mark.filterwarnings("ignore:.* below 0, read as grade 0")
QRELS = "1 0 a 2\n1 0 b 0\n1 0 e 1\n2 0 a 1\n2 0 c -2\n3 0 a 1\n"
BM25 = "1 Q0 a 1 9 t\n1 Q0 c 2 8 t\n1 Q0 d 3 7 t\n2 Q0 c 1 3 t\n2 Q0 a 2 2 t\n9 Q0 a 1 1 t\n"
DENSE = "1 Q0 e 1 0.9 t\n1 Q0 b 2 0.8 t\n1 Q0 a 3 0.7 t\n2 Q0 a 1 0.5 t\n2 Q0 f 2 0.4 t\n"


class Judgement(NamedTuple):
    query_id: str
    doc_id: str
    relevance: int
    iteration: str = "0"


class Scored(NamedTuple):
    query_id: str
    doc_id: str
    score: float


class FakeDataset:
    """A dataset of ir_datasets."""

    def qrels_iter(self):
        for line in QRELS.splitlines():
            query, _, document, grade = line.split()
            yield Judgement(query, document, int(grade))


def frame(text):
    rows = [line.split() for line in text.splitlines()]
    return pd.DataFrame(
        {"qid": [r[0] for r in rows], "docno": [r[2] for r in rows], "score": [float(r[4]) for r in rows]}
    )


@pytest.fixture
def files(tmp_path):
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "bm25.trec.gz").write_bytes(gzip.compress(BM25.encode()))
    (tmp_path / "dense.trec").write_text(DENSE)
    return tmp_path


def test_documents_are_pooled_and_what_is_not_judged_has_grade_0(files):
    pool = pool_runs(files / "qrels.txt", {"bm25": files / "bm25.trec.gz", "dense": files / "dense.trec"})
    dataset = pool.dataset
    assert dataset.query_ids.tolist() == ["1", "2"] and dataset.n_features == 0
    assert dataset.doc_ids.tolist() == ["a", "b", "c", "d", "e", "a", "c", "f"]
    assert dataset.relevance.tolist() == [2, 0, 0, 0, 1, 1, 0, 0]
    assert (pool.unjudged, pool.left_out, dataset.grades) == (3, 2, 3)
    rankings = run_rankers(dataset, pool.runs)
    assert rankings.names == ("bm25", "dense")
    assert rankings.order[0, :3].tolist() == [0, 2, 3] and rankings.order[1, :3].tolist() == [4, 1, 0]
    named = rankers_named(dataset, ["run:bm25.trec.gz", "run:dense.trec"], folder=files)
    assert (named[["run:dense"]].order[0, :3] == rankings.order[1, :3]).all()
    assert estimate_preferences(rankings, clicks="perfect", comparisons=100).names == ("bm25", "dense")


@pytest.mark.parametrize("highest, grades", [(1, 2), (2, 3), (3, 5), (4, 5), (6, 7)])
def test_a_corpus_has_two_three_or_five_grades_where_that_is_enough(files, highest, grades):
    (files / "qrels.txt").write_text(f"1 0 a {highest}\n1 0 b 0\n")
    assert pool_runs(files / "qrels.txt", {"dense": files / "dense.trec"}).dataset.grades == grades


def test_the_depth_limits_what_comes_from_each_run(files):
    pool = pool_runs(files / "qrels.txt", {"bm25": files / "bm25.trec.gz"}, depth=1)
    assert pool.dataset.doc_ids.tolist() == ["a", "b", "e", "a", "c"] and pool.unjudged == 0


def test_ir_datasets_and_pyterrier_hand_over_the_same_corpus(files):
    from_files = pool_runs(files / "qrels.txt", {"bm25": files / "bm25.trec.gz", "dense": files / "dense.trec"})
    dense = [Scored(row.qid, row.docno, row.score) for row in frame(DENSE).itertuples()]
    handed = pool_runs(FakeDataset(), {"bm25": frame(BM25), "dense": dense})
    assert handed.dataset.sha256 == from_files.dataset.sha256
    assert (
        run_rankers(handed.dataset, handed.runs).order == run_rankers(from_files.dataset, from_files.runs).order
    ).all()


def test_measures_of_what_is_retrieved_are_those_of_ir_measures(files):
    pool = pool_runs(files / "qrels.txt", {"bm25": files / "bm25.trec.gz", "dense": files / "dense.trec"})
    rankings = run_rankers(pool.dataset, pool.runs)
    qrels = list(ir_measures.read_trec_qrels(QRELS))
    gains = {-2: 0, 0: 0, 1: 1, 2: 3}
    for k, text in enumerate((BM25, DENSE)):
        theirs = {"NDCG@2": nDCG(gains=gains) @ 2, "P@2": P @ 2, "R@2": R @ 2, "MRR@2": RR @ 2}
        found = {
            (one.measure, one.query_id): one.value
            for one in ir_measures.iter_calc(theirs.values(), qrels, list(ir_measures.read_trec_run(text)))
        }
        for name, measure in theirs.items():
            expected = [found[measure, "1"], found[measure, "2"]]
            assert measure_by_query(rankings, name)[k] == pytest.approx(expected, abs=1e-6), name


def test_judgements_and_runs_are_a_corpus_on_the_command_line(files, capsys):
    from ltr_duel.cli.main import main

    with pytest.raises(SystemExit) as stop:
        main(
            "evaluate", f"qrels:{files / 'qrels.txt'}", "--measure", "NDCG@2",
            "--rankers", f"run:{files / 'bm25.trec.gz'}", "--rankers", f"mine=run:{files / 'dense.trec'}",
        )  # fmt: skip
    said = capsys.readouterr()
    assert stop.value.code == 0 and "of 2 rankers on 2 queries" in said.out and "mine" in said.out
    assert "3 are not judged and have grade 0; 2 queries" in said.err


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_judgements_and_a_table_of_scores_are_the_corpus_of_the_same_runs(files, suffix):
    """All scores are given, so two runs that retrieve all documents of the table contain the same information."""
    rows = {
        "query": ["1", "1", "1", "9"],
        "document": ["b", "e", "new", "a"],
        "old": [3, 2, 1, 1],
        "mine": [1, 2, 3, 1],
    }
    table = pd.DataFrame(rows)
    table.to_csv(files / "t.csv", index=False) if suffix == "csv" else table.to_parquet(files / "t.parquet")
    runs = {
        name: pd.DataFrame({"qid": table["query"], "docno": table["document"], "score": table[name]})
        for name in ("old", "mine")
    }
    expected = pool_runs(files / "qrels.txt", runs)
    for words in ([f"scores:t.{suffix}"], [f"scores:t.{suffix}", f"scores:t.{suffix}"]):
        pool = pool_named("qrels:qrels.txt", words, folder=files)
        assert pool.dataset.sha256 == expected.dataset.sha256 and "new" in pool.dataset.doc_ids
    rankings = rankers_named(pool.dataset, [f"scores:t.{suffix}"], folder=files)
    assert (rankings.order == run_rankers(expected.dataset, expected.runs).order).all()
    mixed = pool_named("qrels:qrels.txt", [f"scores:t.{suffix}", "mine=run:dense.trec"], folder=files)
    both = pool_runs(files / "qrels.txt", runs | {"dense": files / "dense.trec"})
    assert mixed.dataset.sha256 == both.dataset.sha256


@pytest.mark.parametrize("command", [("evaluate",), ("power", "--users")])
def test_commands_take_judgements_and_a_table_of_scores(files, capsys, command):
    from ltr_duel.cli.main import main

    (files / "t.csv").write_text("query,document,old,mine\n1,a,1,2\n1,b,2,1\n2,a,1,2\n2,c,2,1\n")
    with pytest.raises(SystemExit) as stop:
        main(*command, f"qrels:{files / 'qrels.txt'}", "--rankers", f"scores:{files / 't.csv'}")
    said = capsys.readouterr()
    assert stop.value.code == 0 and "mine" in said.out, said.err


def test_judgements_with_rankers_that_retrieve_nothing_ask_for_runs_or_a_table(files):
    for words in ([], ["features"], ["lists:ranks.txt"], ["scores"], ["runn:dense.trec"]):
        with pytest.raises(InputError, match=r"requires runs; give --rankers run:FILE .*or .*--rankers scores:FILE"):
            pool_named("qrels:qrels.txt", words, folder=files)
    (files / "t.csv").write_text("query,document,old\n1,a,high\n")
    with pytest.raises(InputError, match=r"t.csv: row 1: the score of 'old' must be a finite number, not 'high'"):
        pool_named("qrels:qrels.txt", ["scores:t.csv"], folder=files)


@pytest.mark.parametrize(
    ("qrels", "runs", "complaint"),
    [
        ("1 0 a\n", {"r": frame(BM25)}, "a judgement has 4 words"),
        ("1 0 a high\n", {"r": frame(BM25)}, "the grade must be a whole number of at most 30, not 'high'"),
        (
            "1 0 a 1\n1 0 a 1\n",
            {"r": frame(BM25)},
            r"qrels.txt:2: document a is judged a second time for query 1, first in .*qrels.txt:1$",
        ),
        ("1 0 a 1\n2 0 a 1\n1 0 a 0\n", {"r": frame(BM25)}, r"qrels.txt:3: .* for query 1, first in .*qrels.txt:1$"),
        ("", {"r": frame(BM25)}, "there is no judgement"),
        ("7 0 a 1\n", {"r": frame(BM25)}, "no query has both a judgement and a document"),
        (QRELS, {}, "there is no run"),
        (QRELS, {"r": frame(BM25 + BM25)}, "run 'r', row 7: document a is retrieved a second time for query 1"),
        (QRELS, {"r": frame("1 Q0 a 1 nan t\n")}, "run 'r', row 1: the score must be a finite number, not nan"),
        (QRELS, {"r": pd.DataFrame({"qid": ["1"], "docno": ["a"]})}, "the rows have no score"),
    ],
)
def test_what_cannot_be_pooled_is_refused(tmp_path, qrels, runs, complaint):
    (tmp_path / "qrels.txt").write_text(qrels)
    with pytest.raises(InputError, match=complaint):
        pool_runs(tmp_path / "qrels.txt", runs)


def test_judgements_in_parquet_are_read_as_their_frame(files):
    rows = [line.split() for line in QRELS.splitlines()]
    qrels = pd.DataFrame([(int(query), document, int(grade)) for query, _, document, grade in rows])
    qrels.set_axis(["query_id", "doc_id", "relevance"], axis=1).to_parquet(files / "qrels.parquet")
    read, text = (pool_runs(files / f"qrels.{ending}", {"bm25": frame(BM25)}) for ending in ("parquet", "txt"))
    assert read.dataset.sha256 == text.dataset.sha256
    with pytest.raises(InputError, match=r"qrels\.parquet:1: the line contains a null character"):
        pool_runs(files / "qrels.txt", {"r": files / "qrels.parquet"})


def test_the_index_of_a_data_frame_is_no_ranker(files):
    table = pd.DataFrame({"query": ["1", "1"], "document": ["a", "b"], "mine": [1.0, 2.0]}, index=[7, 8])
    table.to_csv(files / "scores.csv")
    pool = pool_named("qrels:qrels.txt", ["scores:scores.csv"], folder=files)
    assert list(pool.runs) == [f"{files / 'scores.csv'}: mine"]
    assert rankers_named(pool.dataset, ["scores:scores.csv"], folder=files).names == ("mine",)


def test_judgements_of_a_query_may_stand_in_two_places(files):
    (files / "split.txt").write_text("1 0 a 2\n2 0 a 1\n2 0 c -2\n1 0 b 0\n1 0 e 1\n3 0 a 1\n")
    whole, split = (pool_runs(files / name, {"bm25": files / "bm25.trec.gz"}) for name in ("qrels.txt", "split.txt"))
    assert whole.dataset.sha256 == split.dataset.sha256


def test_a_corpus_without_features_asks_for_rankers(files):
    pool = pool_runs(files / "qrels.txt", {"bm25": files / "bm25.trec.gz"})
    with pytest.raises(InputError, match="has no features; name other rankers"):
        rankers_named(pool.dataset, [])


def test_negative_grades_are_read_as_0_with_a_note():
    with pytest.warns(ReadWarning, match="pooled runs: 2 judgements below 0, read as grade 0"):
        pool = pool_runs({"1": {"a": -1, "b": -2, "c": 1}}, {"r": {"1": {"a": 2, "b": 1}}})
    assert pool.dataset.relevance.tolist() == [0, 0, 1] and pool.negative == 2


def test_ids_in_bytes_and_a_quoted_header_are_read(tmp_path):
    (tmp_path / "q.csv").write_text('"query-id","corpus-id","score"\n1,a,1\n')
    for qrels in ({b"1": {b"a": 1}}, tmp_path / "q.csv"):
        pool = pool_runs(qrels, {"r": {b"1": {b"a": 2.0}}})
        assert (pool.dataset.query_ids.tolist(), pool.dataset.doc_ids.tolist()) == (["1"], ["a"])


JUDGED, RUN = {"1": {"a": 1}}, {"r": {"1": {"a": 1.0}}}


@pytest.mark.parametrize(
    "qrels, runs, sentence",
    [
        (JUDGED, {"r": {"1": {"a": 10**400}}}, "run 'r', row 1: the score must be a finite number, not an integer of"),
        ({"1": {"a\0": 1}}, RUN, "qrels, row 1: the id of the query or document contains a null character"),
        (pd.DataFrame([["1", "a", 1, 1]], columns=["qid", "docno", "label", "label"]), RUN, "columns are called 'lab"),
        ("1 0 a\0 1\n", RUN, "q:1: the line contains a null character"),
        ("1 0 a ٣\n", RUN, "q:1: the grade must be a whole number of at most 30, not '٣'"),
        (f"query-id,corpus-id,score\n1,{'a' * 132_000},1\n", RUN, "q:2: not a line of a table .field larger than"),
        (JUDGED, "1 Q0 a 1 1_0 t\n", "r:1: the score must be a finite number, not '1_0'"),
    ],
)
def test_what_would_be_read_as_something_else_is_refused(tmp_path, qrels, runs, sentence):
    for name, text in (("q", qrels), ("r", runs)):
        if isinstance(text, str):
            (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=sentence):
        pool_runs(*(given if not isinstance(given, str) else made for given, made in (
            (qrels, tmp_path / "q"), (runs, {"r": tmp_path / "r"}),
        )))  # fmt: skip
