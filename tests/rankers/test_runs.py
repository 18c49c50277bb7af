"""Run files: matched, ordered, counted, refused."""

from __future__ import annotations

import gzip
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ltr_duel.core.errors import InputError
from ltr_duel.data.dataset import Dataset
from ltr_duel.rankers.pooled import pool_runs
from ltr_duel.rankers.runs import read_runs, run_rankers


@pytest.fixture
def dataset() -> Dataset:
    """Return two queries of four and three documents; document "b" is in both."""
    ids = np.array(["a", "b", "c", "d", "b", "e", "f"])
    return Dataset(
        np.zeros((7, 1), np.float32), np.array([0, 1, 0, 0, 1, 0, 0], np.int16), np.array([0, 4, 7]),
        np.array(["q1", "WT04-2"]), ids, "toy", 2, "0" * 64, ("1",),
    )  # fmt: skip


FULL = """q1 Q0 c 1 9.5 mine
q1 Q0 a 2 7 mine
q1 Q0 d 3 1e-3 mine
q1 Q0 b 4 -2 mine

WT04-2 Q0 f 1 3 mine
WT04-2\tQ0\tb\t2\t2\tmine
WT04-2 Q0 e 3 1 mine\r
"""


def written(tmp_path, text, name="mine.run"):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("name", ["mine.run", "mine.run.gz"])
def test_documents_are_ordered_by_score_and_the_rank_column_is_not_looked_at(tmp_path, dataset, name):
    text = FULL.replace(" 1 9.5", " 77 9.5")
    (run,) = read_runs([written(tmp_path, text, name)], dataset)
    rankings = run_rankers(dataset, [run])
    assert rankings.order.tolist() == [[2, 0, 3, 1, 2, 0, 1]]
    assert rankings.names == ("mine",)
    assert (run.lines, run.retrieved, run.queries, run.unknown_queries, run.unknown_documents) == (7, 7, 2, 0, 0)


def test_what_a_run_does_not_retrieve_comes_last_by_the_tie_rule(tmp_path, dataset):
    runs = read_runs([written(tmp_path, "q1 Q0 d 1 0.5 x\nq1 Q0 b 2 -1e30 x\n")], dataset)
    assert run_rankers(dataset, runs, ties="file").order.tolist() == [[3, 1, 0, 2, 0, 1, 2]]
    orders = {tuple(run_rankers(dataset, runs, seed=seed).order[0, :4].tolist()) for seed in range(20)}
    assert orders == {(3, 1, 0, 2), (3, 1, 2, 0)}


def test_a_run_that_retrieves_nothing_is_its_tie_rule(tmp_path, dataset):
    empty, silent = read_runs(
        [written(tmp_path, "", "empty.txt"), written(tmp_path, "q9 Q0 a 1 1 t\n", "silent.txt")], dataset
    )
    assert empty.retrieved == silent.retrieved == 0 and silent.unknown_queries == 1
    rankings = run_rankers(dataset, [empty, silent], ties="shared", seed=5)
    assert (rankings.order[0] == rankings.order[1]).all()
    assert run_rankers(dataset, [empty], ties="file").order.tolist() == [[0, 1, 2, 3, 0, 1, 2]]


def test_unknown_queries_and_documents_are_counted_and_reported(tmp_path, dataset):
    text = "q1 Q0 zzz 5 1 mine\nq1 Q0 e 6 1 mine\n" + FULL + "q7 Q0 a 1 1 mine\nq7 Q0 b 2 1 mine\nq8 Q0 a 1 1 mine\n"
    (run,) = read_runs([written(tmp_path, text)], dataset)
    assert (run.unknown_queries, run.unknown_documents, run.retrieved) == (2, 2, 7)
    assert run.report.endswith(
        "12 lines retrieve 7 of 7 documents, for 2 of 2 queries."
        " 2 queries of the run are not in the corpus; for the other queries, 2 documents are not in the corpus"
    )
    told = run_rankers(dataset, {"system": run}).provenance["runs"]["system"]
    assert told == {"sha256": run.sha256, "retrieved": 7, "unknown_queries": 2, "unknown_documents": 2}


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("q1 Q0 a 1 0.5", r"mine\.run:2: a line of a run has 6 words.*not 5"),
        ("q1 Q0 a 1 0.5 tag more", r"mine\.run:2: a line of a run has 6 words.*not 7"),
        ("q1 Q0 a 1 high tag", r"mine\.run:2: the score must be a finite number.*not 'high'"),
        ("q1 Q0 a 1 nan tag", r"mine\.run:2: the score must be a finite number.*not 'nan'"),
        ("q1 Q0 c 1 3 tag", r"mine\.run:2: document c is retrieved a second time for query q1"),
    ],
)
def test_malformed_lines_are_refused_by_file_and_line(tmp_path, dataset, line, complaint):
    path = written(tmp_path, f"q1 Q0 c 1 9.5 tag\n{line}\n")
    with pytest.raises(InputError, match=complaint):
        read_runs([path], dataset)


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ("q1 Q0 a\nq1 Q0 b\n\nWT04-2 Q0 b\nq1 Q0 c\n", ":5: query q1 was listed before, in lines 1 to 2;"),
        ("q1 Q0 a\nq1 Q0 b\n\nWT04-2 Q0 b\nq1 Q0 a\n", ":5: query q1 was listed before, in lines 1 to 2;"),
        ("strange Q0 a\nq1 Q0 a\nstrange Q0 b\n", ":3: query strange was listed before, in line 1;"),
    ],
)
@pytest.mark.parametrize("name", ["mine.run", "mine.run.gz"])
def test_a_query_that_is_listed_in_two_places_is_refused(tmp_path, dataset, name, lines, complaint):
    path = written(tmp_path, "".join(f"{line} 1 2.5 t\n" if line else "\n" for line in lines.splitlines()), name)
    for read in (lambda: read_runs([path], dataset), lambda: pool_runs(frame_of_judgements(), {"mine": path})):
        with pytest.raises(InputError, match=complaint) as refused:
            read()
        assert str(refused.value).startswith(str(path)) and "\n" not in str(refused.value)


def frame_of_judgements():
    return pd.DataFrame({"qid": ["q1"], "docno": ["a"], "label": [1]})


def test_files_that_cannot_be_read_are_refused(tmp_path, dataset):
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress(FULL.encode())[:-12])
    for path, complaint in (
        (tmp_path / "none", "no such file"),
        (tmp_path, "directory"),
        (cut, "damaged or cut short"),
    ):
        with pytest.raises(InputError, match=complaint):
            read_runs([path], dataset)


def test_a_corpus_must_be_able_to_tell_its_documents_apart(tmp_path, dataset):
    path = written(tmp_path, FULL)
    with pytest.raises(InputError, match="have no ids"):
        read_runs([path], replace(dataset, doc_ids=None))
    with pytest.raises(InputError, match="query q1 has document a twice"):
        read_runs([path], replace(dataset, doc_ids=np.array(["a", "a", "c", "d", "b", "e", "f"])))


def test_names_and_corpora_must_fit(tmp_path, dataset):
    (run,) = read_runs([written(tmp_path, FULL)], dataset)
    with pytest.raises(InputError, match="same name"):
        run_rankers(dataset, [run, run])
    with pytest.raises(InputError, match="read for a corpus of 3, not 7 documents"):
        run_rankers(dataset, [replace(run, scores=run.scores[:3])])
    with pytest.raises(InputError, match="no ranker left"):
        run_rankers(dataset, [])
