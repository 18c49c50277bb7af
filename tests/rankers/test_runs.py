"""Run files: matched, ordered, counted, refused."""

from __future__ import annotations

import gzip
from dataclasses import replace

import numpy as np
import pytest

from ltr_duel.core import InputError
from ltr_duel.data import Dataset
from ltr_duel.rankers import pool_runs, rankers_named, run_rankers


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


def ranked(dataset, path, **settings):
    return rankers_named(dataset, [f"run:{path}"], **settings)


@pytest.mark.parametrize("name", ["mine.run", "mine.run.gz"])
def test_documents_are_ordered_by_score_and_the_rank_column_is_ignored(tmp_path, dataset, name):
    rankings = ranked(dataset, written(tmp_path, FULL.replace(" 1 9.5", " 77 9.5"), name))
    assert rankings.order.tolist() == [[2, 0, 3, 1, 2, 0, 1]] and rankings.names == ("run:mine",)


def test_documents_that_a_run_does_not_retrieve_come_last_by_the_tie_rule(tmp_path, dataset):
    path = written(tmp_path, "q1 Q0 d 1 0.5 x\nq1 Q0 b 2 -1e30 x\n")
    assert ranked(dataset, path, ties="file").order.tolist() == [[3, 1, 0, 2, 0, 1, 2]]
    orders = {tuple(ranked(dataset, path, seed=seed).order[0, :4].tolist()) for seed in range(20)}
    assert orders == {(3, 1, 0, 2), (3, 1, 2, 0)}


def test_unknown_queries_and_documents_are_counted(tmp_path, dataset):
    text = "q1 Q0 zzz 5 1 mine\nq1 Q0 e 6 1 mine\n" + FULL + "q7 Q0 a 1 1 mine\nq7 Q0 b 2 1 mine\nq8 Q0 a 1 1 mine\n"
    about = ranked(dataset, written(tmp_path, text)).provenance["rankers"]["run:mine"]
    assert (about["unknown_queries"], about["unknown_documents"], about["retrieved"]) == (2, 2, 7)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("q1 Q0 a 1 0.5", r"mine\.run:2: a line of a run has 6 words.*not 5"),
        ("q1 Q0 a 1 high tag", r"mine\.run:2: the score must be a finite number, not 'high'"),
        ("q1 Q0 a 1 nan tag", r"mine\.run:2: the score must be a finite number, not 'nan'"),
        ("q1 Q0 c 1 3 tag", r"mine\.run:2: document c is retrieved a second time for query q1"),
    ],
)
def test_malformed_lines_are_refused_by_file_and_line(tmp_path, dataset, line, complaint):
    with pytest.raises(InputError, match=complaint):
        ranked(dataset, written(tmp_path, f"q1 Q0 c 1 9.5 tag\n{line}\n"))


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ("q1 Q0 a\nq1 Q0 b\n\nWT04-2 Q0 b\nq1 Q0 c\n", ":5: query q1 was listed before, in lines 1 to 2;"),
        ("strange Q0 a\nq1 Q0 a\nstrange Q0 b\n", ":3: query strange was listed before, in line 1;"),
    ],
)
@pytest.mark.parametrize("name", ["mine.run", "mine.run.gz"])
def test_a_query_that_is_listed_twice_is_refused(tmp_path, dataset, name, lines, complaint):
    path = written(tmp_path, "".join(f"{line} 1 2.5 t\n" if line else "\n" for line in lines.splitlines()), name)
    for read in (lambda: ranked(dataset, path), lambda: pool_runs({"q1": {"a": 1}}, {"mine": path})):
        with pytest.raises(InputError, match=complaint) as refused:
            read()
        assert str(refused.value).startswith(str(path)) and "\n" not in str(refused.value)


def test_files_that_cannot_be_read_are_refused(tmp_path, dataset):
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress(FULL.encode())[:-12])
    for path, complaint in ((tmp_path / "none", "no such file"), (tmp_path, "directory"), (cut, "damaged or cut")):
        with pytest.raises(InputError, match=complaint):
            ranked(dataset, path)


def test_a_corpus_must_tell_its_documents_apart(tmp_path, dataset):
    path = written(tmp_path, FULL)
    with pytest.raises(InputError, match="have no ids"):
        ranked(replace(dataset, doc_ids=None), path)
    with pytest.raises(InputError, match="query q1 has document a twice"):
        ranked(replace(dataset, doc_ids=np.array(["a", "a", "c", "d", "b", "e", "f"])), path)


def test_runs_of_another_corpus_are_refused(dataset):
    pool = pool_runs({"q1": {"a": 1}}, {"r": {"q1": {"a": 2.0}}})
    with pytest.raises(InputError, match="matched to a corpus of 1, not 7 documents"):
        run_rankers(dataset, pool.runs)
    with pytest.raises(InputError, match="no ranker left"):
        run_rankers(dataset, {})
