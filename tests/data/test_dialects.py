"""The written forms of the public corpora, each recognised from its content."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ltr_duel.core.errors import InputError
from ltr_duel.data.load import load_dataset
from ltr_duel.data.text.dialects import DIALECTS, recognise_dialect
from tests.data.test_reading import SHARED, needs_real_files

RANKS = " ".join(f"{i}:{'NULL' if i % 3 else i}" for i in range(1, 22))
DENSE_136 = " ".join(f"{i}:0" for i in range(1, 137))


def written(folder: Path, text: str, name: str = "a.txt") -> Path:
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.parametrize(
    "line, dialect",
    [
        ("0 qid:1 1:1\n", "svmlight"),
        ("0 qid:1 1:1 2:0 #docid = G1-2\n", "letor"),
        (f"0 qid:1 {RANKS} #docid = GX1-2\n", "letor-agg"),
        (f"0 qid:1 {DENSE_136} \n", "mslr"),
        (f"0 qid:1 {DENSE_136} #docid = q1-d1\n", "letor"),
        ("2.5 1:0.5 245:0.000023 # 3382\n0 1:2 # 3382\n", "imat2009"),
        ("2 1:0.5 # 3381\n1 1:2 # 3382\n", "svmlight"),
        ("2 1:0.5 246:1 # 3382\n0 1:2 # 3382\n", "svmlight"),
        ("2 1:0.5 # a\n0 1:2 # a\n", "svmlight"),
        ("\n# a header\n2 1:0.5 # 3382\n0 1:2 # 3382\n", "imat2009"),
    ],
)
def test_the_first_document_shows_the_dialect(tmp_path: Path, line: str, dialect: str) -> None:
    assert recognise_dialect(written(tmp_path, line)).name == dialect


def test_a_sidecar_shows_the_dialect(tmp_path: Path) -> None:
    written(tmp_path, "2\n", "a.query")
    assert recognise_dialect(written(tmp_path, "0 1:1\n1 1:2\n")).name == "lightgbm"


def test_a_named_dialect_that_does_not_exist_names_the_others(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no dialect 'yaho'; did you mean 'yahoo'\?"):
        load_dataset(written(tmp_path, "0 qid:1 1:1\n"), dialect="yaho")


@pytest.mark.parametrize("name, width", [(d.name, d.features) for d in DIALECTS.values() if d.features])
def test_a_dialect_of_known_width_gives_all_its_columns(tmp_path: Path, name: str, width: int) -> None:
    file = written(tmp_path, "0 qid:1 3:1 # 7\n0 qid:1 1:1 # 7\n")
    assert load_dataset(file, dialect=name).n_features == width


def test_the_query_in_the_comment(tmp_path: Path) -> None:
    dataset = load_dataset(written(tmp_path, "1 1:1 # 7\n0 1:2 # 7\n2 2:3 #8\n"))
    assert dataset.query_ids.tolist() == ["7", "8"]
    assert dataset.query_ptr.tolist() == [0, 2, 3]
    assert dataset.doc_ids is None


def test_a_missing_query_in_the_comment_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.txt:2:1: the line has no query in its comment"):
        load_dataset(written(tmp_path, "1 1:1 # 7\n0 1:2 #\n"), dialect="imat2009")


def test_a_missing_query_in_the_first_comment_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.txt:1:1: the line has no query in its comment"):
        load_dataset(written(tmp_path, "0 1:2 # \n1 1:1 # 7\n"), dialect="imat2009")


@pytest.mark.parametrize("sidecar", ["a.txt.query", "a.query", "a.txt.group", "a.group"])
def test_sizes_of_the_queries_from_a_sidecar(tmp_path: Path, sidecar: str) -> None:
    written(tmp_path, "1\n2\n", sidecar)
    dataset = load_dataset(written(tmp_path, "0 1:1\n1 1:2\n2 1:3\n"))
    assert dataset.query_ptr.tolist() == [0, 1, 3]
    assert dataset.query_ids.tolist() == ["1", "2"]


@pytest.mark.parametrize(
    "sizes, what",
    [
        ("1\n1\n", "3 documents, but the sizes in .*a.query add up to 2"),
        ("2\nx\n", "a.query:2: 'x' is not the size"),
    ],
)
def test_a_sidecar_that_does_not_fit_is_refused(tmp_path: Path, sizes: str, what: str) -> None:
    written(tmp_path, sizes, "a.query")
    with pytest.raises(InputError, match=what):
        load_dataset(written(tmp_path, "0 1:1\n1 1:2\n2 1:3\n"))


def test_null_is_the_least_value_of_its_query(tmp_path: Path) -> None:
    text = "0 qid:1 1:NULL 2:5\n0 qid:1 1:3 2:NULL\n0 qid:1 1:2 2:6\n0 qid:2 1:NULL 2:NULL\n0 qid:2 1:NULL 2:-1\n"
    dataset = load_dataset(written(tmp_path, text), fill="min")
    assert dataset.features[:, 0].tolist() == [2, 3, 2, 0, 0]
    assert dataset.features[:, 1].tolist() == [5, 5, 6, -1, -1]


def test_null_in_a_rank_list_comes_after_the_last_rank(tmp_path: Path) -> None:
    first = " ".join(f"{i}:{i}" for i in range(1, 22))
    text = f"0 qid:1 {first} #docid = GX1\n0 qid:1 {RANKS} #docid = GX2\n"
    dataset = load_dataset(written(tmp_path, text), fill="last")
    assert dataset.lower_is_better and dataset.feature_names[0] == "run 1"
    assert dataset.features[1].tolist() == [i if i % 3 == 0 else i + 1 for i in range(1, 22)]
    with pytest.raises(InputError, match="fill it with 'last', not with 'min'"):
        load_dataset(tmp_path / "a.txt", fill="min")


def test_null_in_bm25_of_ohsumed_is_zero_and_elsewhere_the_minimum(tmp_path: Path) -> None:
    values = ["NULL" if i in (11, 13, 42) else "7" for i in range(1, 46)]
    other = [str(i) for i in range(1, 46)]
    lines = [" ".join(f"{i}:{v}" for i, v in enumerate(row, 1)) for row in (values, other)]
    text = "".join(f"0 qid:1 {line} #docid = {4000 + n}\n" for n, line in enumerate(lines))
    row = load_dataset(written(tmp_path, text), fill="min").features[0]
    assert (row[10], row[12], row[41]) == (0, 13, 0)


@pytest.mark.parametrize("fill, expected", [(-1.5, -1.5), ("nan", np.nan), (0, 0.0)])
def test_null_is_what_the_user_says(tmp_path: Path, fill: float | str, expected: float) -> None:
    dataset = load_dataset(written(tmp_path, "0 qid:1 1:NULL 2:1\n0 qid:1 1:3 2:1\n"), fill=fill)
    np.testing.assert_equal(dataset.features[0, 0], np.float32(expected))


@pytest.mark.parametrize("fill", ["median", "minimum", float("nan"), float("inf")])
def test_a_fill_that_does_not_exist_is_refused(tmp_path: Path, fill: float | str) -> None:
    with pytest.raises(InputError, match="fill"):
        load_dataset(written(tmp_path, "0 qid:1 1:1\n"), fill=fill)


@pytest.mark.parametrize("labels, grades", [("round", [0, 1, 2, 4, 1]), ("distinct", [0, 2, 3, 4, 1])])
def test_labels_with_decimals_become_grades_as_asked(tmp_path: Path, labels: str, grades: list[int]) -> None:
    text = "".join(f"{x} 1:1 # 3\n" for x in ("0.333329", "1.25", "2.16049", "4", "0.5"))
    assert load_dataset(written(tmp_path, text), labels=labels).relevance.tolist() == grades


def test_unlabelled_documents_are_grade_zero_only_when_asked(tmp_path: Path) -> None:
    file = written(tmp_path, "-1 1:1 # 3\n2 1:1 # 3\n")
    assert load_dataset(file, unlabelled="zero").relevance.tolist() == [0, 2]
    with pytest.raises(InputError, match=r"a\.txt:1:1: label -1 marks an unlabelled document"):
        load_dataset(file)


def test_words_that_are_not_utf8_are_read_as_latin1(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("0 qid:caffè 1:1 #docid = perché\n".encode("latin-1"))
    dataset = load_dataset(tmp_path / "a.txt")
    assert dataset.query_ids.tolist() == ["caffè"]
    assert dataset.doc_ids is not None and dataset.doc_ids.tolist() == ["perché"]


@needs_real_files
def test_real_files_of_the_other_dialects() -> None:
    learning = SHARED / "IMAT2009_sample" / "imat2009_learning.first1000.txt.gz"
    dataset = load_dataset(learning, labels="round")
    assert (dataset.n_docs, dataset.n_queries, dataset.n_features) == (1000, 104, 245)
    assert dataset.grades == 5
    test = load_dataset(SHARED / "IMAT2009_sample" / "imat2009_test.first10.txt", unlabelled="zero")
    assert (test.n_docs == 10 and test.query_ids.tolist() == ["0"]) or test.n_queries >= 1
    folder = SHARED / "LightGBM_lambdarank_example"
    train, held_out = load_dataset(folder, split="train"), load_dataset(folder, split="test")
    assert (train.n_docs, train.n_queries) == (3005, 201)
    assert (held_out.n_docs, held_out.n_queries) == (768, 50)
    assert train.grades == 5


@needs_real_files
@pytest.mark.parametrize(
    "path",
    [
        "MSLR_sample/WEB30K_Fold1_vali_head18q.txt.gz",
        "MQ2008/Fold1/vali.txt.gz",
        "LightGBM_lambdarank_example/rank.test.gz",
        "IMAT2009_sample/imat2009_learning.first1000.txt.gz",
    ],
)
def test_another_reader_agrees_on_real_files(path: str) -> None:
    """scikit-learn rejects string queries and NULL, and ignores queries in comments; it can read the numbers."""
    from sklearn.datasets import load_svmlight_file

    ours = load_dataset(SHARED / path, labels="distinct")
    theirs, labels = load_svmlight_file(str(SHARED / path), n_features=ours.n_features, dtype=np.float64)
    assert np.array_equal(ours.features, theirs.toarray().astype(np.float32))
    assert np.array_equal(ours.relevance, np.unique(labels, return_inverse=True)[1])
