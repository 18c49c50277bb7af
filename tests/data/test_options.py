"""Dialects and reading options: each changes the numbers as documented, and nothing else does."""

from __future__ import annotations

import numpy as np
import pytest

from ltr_duel.core import InputError
from ltr_duel.data import format_of, load_dataset
from tests.data.test_text import read

RANKS = " ".join(f"{i}:{'NULL' if i % 3 else i}" for i in range(1, 22))
DENSE_136 = " ".join(f"{i}:0" for i in range(1, 137))


@pytest.mark.parametrize(
    "text, dialect",
    [
        ("\n# a header\n0 qid:1 1:1\n", "svmlight"),
        ("0 qid:1 1:1 2:0 #docid = G1-2\n", "letor"),
        (f"0 qid:1 {RANKS} #docid = GX1-2\n", "letor-agg"),
        (f"0 qid:1 {DENSE_136} \n", "mslr"),
        (f"0 qid:1 {DENSE_136} #docid = q1-d1\n", "letor"),
    ],
)
def test_the_first_document_shows_the_dialect(tmp_path, text, dialect):
    (tmp_path / "a.txt").write_text(text)
    assert format_of(tmp_path / "a.txt").startswith(f"{dialect} (recognised): ")


@pytest.mark.parametrize("dialect, width", [("mslr", 136), ("yahoo", 700), ("istella", 220)])
def test_a_dialect_of_known_width_gives_all_its_columns(tmp_path, dialect, width):
    assert read(tmp_path, "0 qid:1 3:1 # 7\n0 qid:1 1:1 # 7\n", dialect=dialect).n_features == width


def test_the_query_can_stand_in_the_comment(tmp_path):
    corpus = read(tmp_path, "1 1:1 # 7\n0 1:2 # 7\n2 2:3 #8\n", dialect="imat2009")
    assert corpus.query_ids.tolist() == ["7", "8"] and corpus.query_ptr.tolist() == [0, 2, 3]
    assert corpus.n_features == 245
    for text, line in (("1 1:1 # 7\n0 1:2 #\n", 2), ("0 1:2 # \n1 1:1 # 7\n", 1)):
        with pytest.raises(InputError, match=rf"corpus\.txt:{line}:1: the line has no query in its comment"):
            read(tmp_path, text, dialect="imat2009")


def test_null_is_the_least_value_of_its_query(tmp_path):
    text = "0 qid:1 1:NULL 2:5\n0 qid:1 1:3 2:nan\n0 qid:1 1:2 2:6\n0 qid:2 1:-NaN 2:NULL\n0 qid:2 1:NULL 2:-1\n"
    assert read(tmp_path, text, fill="min").features.T.tolist() == [[2, 3, 2, 0, 0], [5, 5, 6, -1, -1]]


def test_null_in_a_rank_list_comes_after_the_last_rank(tmp_path):
    first = " ".join(f"{i}:{i}" for i in range(1, 22))
    text = f"0 qid:1 {first} #docid = GX1\n0 qid:1 {RANKS} #docid = GX2\n"
    corpus = read(tmp_path, text, fill="last")
    assert corpus.lower_is_better and corpus.feature_names[0] == "run 1"
    assert corpus.features[1].tolist() == [i if i % 3 == 0 else i + 1 for i in range(1, 22)]


def test_null_in_bm25_of_ohsumed_is_zero_and_elsewhere_the_minimum(tmp_path):
    values = ["NULL" if i in (11, 13, 42) else "7" for i in range(1, 46)]
    lines = [" ".join(f"{i}:{v}" for i, v in enumerate(row, 1)) for row in (values, range(1, 46))]
    text = "".join(f"0 qid:1 {line} #docid = {4000 + n}\n" for n, line in enumerate(lines))
    assert read(tmp_path, text, fill="min").features[0, [10, 12, 41]].tolist() == [0, 13, 0]


def test_null_has_the_fill_value_that_is_given(tmp_path):
    text = "0 qid:1 1:NULL 2:1\n0 qid:1 1:3 2:1\n"
    assert read(tmp_path, text, fill=-1.5).features[0, 0] == -1.5
    assert np.isnan(read(tmp_path, text, fill="nan").features[0, 0])


@pytest.mark.parametrize(
    "options, given, grades",
    [
        ({"labels": "round"}, ("0.333329", "1.25", "2.16049", "4", "0.5"), [0, 1, 2, 4, 1]),
        ({"labels": "distinct"}, ("0.333329", "1.25", "2.16049", "4", "0.5"), [0, 2, 3, 4, 1]),
        ({"labels": "distinct"}, ("1330", "7", "16777216", "7"), [1, 0, 2, 0]),
        ({"unlabelled": "zero"}, ("-1", "2"), [0, 2]),
    ],
)
def test_labels_become_grades_as_asked(tmp_path, options, given, grades):
    text = "".join(f"{label} qid:1 1:1\n" for label in given)
    assert read(tmp_path, text, **options).relevance.tolist() == grades
    with pytest.raises(InputError, match=rf"corpus\.txt:1:1: label {given[0]} is not .*{next(iter(options))}"):
        read(tmp_path, text)


def test_ids_can_start_at_zero(tmp_path):
    corpus = read(tmp_path, "0 qid:1 0:7 2:5\n1 qid:1 1:3 2:4\n", first_id=0)
    assert corpus.features.tolist() == [[7, 0, 5], [0, 3, 4]] and corpus.feature_names == ("0", "1", "2")
    with pytest.raises(InputError, match=r"corpus\.txt:1:13: .* valid ids are 0\.\.1"):
        read(tmp_path, "0 qid:1 0:7 2:5\n1 qid:1 1:3 2:4\n", first_id=0, features=2)


def test_ids_above_ten_thousand_need_a_declared_number(tmp_path):
    corpus = read(tmp_path, "0 qid:1 1:1 20000:5\n1 qid:1 1:3 19000:4\n", features=20_000)
    assert corpus.n_features == 20_000 and corpus.features[:, [0, 18_999, 19_999]].tolist() == [[1, 0, 5], [3, 4, 0]]


def test_queries_that_start_anew_in_each_part_are_told_apart_by_split(tmp_path):
    for part in ("train", "test"):
        (tmp_path / f"{part}.txt").write_text("1 qid:1 1:0.5\n0 qid:2 1:1\n")
    with pytest.raises(InputError, match=r"test\.txt:1: query '1' appears again, .*train\.txt:1; .*--split train"):
        load_dataset(tmp_path)
    assert load_dataset(tmp_path, split="test").n_queries == 2
