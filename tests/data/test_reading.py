"""`load_dataset` on well-formed text."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from ltr_duel.core.errors import InputError
from ltr_duel.data.dataset import Dataset
from ltr_duel.data.load import load_dataset
from ltr_duel.data.synthetic import make_corpus
from ltr_duel.data.text.feature_buffers import MemoryBuffer
from ltr_duel.data.text.write import write_svmlight

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"
needs_real_files = pytest.mark.skipif(not SHARED.is_dir(), reason="the real corpora are not beside the repository")


def read(folder: Path, text: str | bytes, **options: object) -> Dataset:
    file = folder / "corpus.txt"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return load_dataset(file, **options)  # type: ignore[arg-type]


def test_a_letor_line_gives_grade_query_values_and_document_id(tmp_path: Path) -> None:
    dataset = read(tmp_path, "2 qid:WT04-182 1:0.5 2:-3 3:1e-3 #docid = G13-86-1372899 inc = 1\n")
    assert dataset.relevance.tolist() == [2]
    assert dataset.query_ids.tolist() == ["WT04-182"]
    assert dataset.features.tolist() == [[np.float32(0.5), -3, np.float32(0.001)]]
    assert dataset.doc_ids is not None and dataset.doc_ids.tolist() == ["G13-86-1372899"]


def test_types_and_layout_are_those_of_the_contract(tmp_path: Path) -> None:
    dataset = read(tmp_path, "0 qid:1 1:1 2:2\n1 qid:1 1:3 2:4\n")
    assert dataset.features.dtype == np.float32 and dataset.features.strides[0] == 4
    assert dataset.relevance.dtype == np.int16
    assert dataset.query_ptr.dtype == np.int64
    assert dataset.doc_ids is None


@pytest.mark.parametrize("end", ["\n", "\r\n", " \n", " \r\n", "\t\n"])
def test_line_ends_make_no_difference(tmp_path: Path, end: str) -> None:
    dataset = read(tmp_path, f"0 qid:1 1:1 2:2{end}1 qid:2 1:3 2:4{end}")
    assert dataset.features.tolist() == [[1, 2], [3, 4]]
    assert dataset.query_ids.tolist() == ["1", "2"]


def test_what_a_line_leaves_out_is_zero(tmp_path: Path) -> None:
    dataset = read(tmp_path, "0 qid:1 2:7\n0 qid:1 5:1\n0 qid:1\n")
    assert dataset.features.tolist() == [[0, 7, 0, 0, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 0]]


def test_ids_may_come_in_any_order(tmp_path: Path) -> None:
    assert read(tmp_path, "0 qid:1 3:3 1:1 2:2\n").features.tolist() == [[1, 2, 3]]


def test_empty_lines_and_lines_of_comment_hold_no_document(tmp_path: Path) -> None:
    assert read(tmp_path, "# made by hand\n\n0 qid:1 1:1\n\r\n  \n1 qid:1 1:2\n").n_docs == 2


def test_gzip_is_recognised_by_its_bytes_not_by_its_name(tmp_path: Path) -> None:
    assert read(tmp_path, gzip.compress(b"0 qid:1 1:1\n") + gzip.compress(b"1 qid:1 1:2\n")).n_docs == 2


def test_text_of_the_same_content_is_one_corpus(tmp_path: Path) -> None:
    text = "0 qid:1 1:1 2:0.5 #docid = a\n1 qid:2 1:2 #docid = b\n"
    first = read(tmp_path, text).sha256
    for same in (gzip.compress(text.encode()), text.replace("\n", "\r\n"), text.encode("utf-16"), "# x\n" + text):
        assert read(tmp_path, same).sha256 == first
    assert read(tmp_path, text.replace("0.5", "5e-1").replace("1:2", "2:0 1:2.0")).sha256 == first
    (tmp_path / "parts").mkdir()
    for part, line in zip(("train", "test"), text.splitlines(), strict=True):
        (tmp_path / "parts" / f"{part}.txt").write_text(line + "\n")
    assert load_dataset(tmp_path / "parts").sha256 == first


@pytest.mark.parametrize("old, new", [("1:2", "1:3"), ("1 qid:2", "0 qid:2"), ("qid:2", "qid:1"), ("= b", "= c")])
def test_other_content_is_another_corpus(tmp_path: Path, old: str, new: str) -> None:
    text = "0 qid:1 1:1 #docid = a\n1 qid:2 1:2 #docid = b\n"
    first = read(tmp_path, text)
    assert read(tmp_path, text.replace(old, new)).sha256 != first.sha256
    assert read(tmp_path, text, feature_names=["bm25"]).sha256 != first.sha256


@pytest.mark.parametrize("highest, grades", [(0, 2), (1, 2), (2, 3), (3, 5), (4, 5), (5, 6), (30, 31)])
def test_grades_are_the_next_usual_number(tmp_path: Path, highest: int, grades: int) -> None:
    assert read(tmp_path, f"{highest} qid:1 1:1\n").grades == grades


def test_a_last_line_as_long_as_the_others_needs_no_line_end(tmp_path: Path) -> None:
    assert read(tmp_path, "0 qid:1 1:1 2:2\n0 qid:1 1:1 2:3").features[1].tolist() == [1, 3]


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_the_size_of_the_chunks_makes_no_difference(tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = make_corpus(queries=5, documents=4, features=7, seed=3)
    file = write_svmlight(corpus, tmp_path / "corpus.txt")
    monkeypatch.setattr("ltr_duel.data.text.pipeline.CHUNK_BYTES", size)
    monkeypatch.setattr("ltr_duel.data.text.pipeline._FIRST_BYTES", size)
    monkeypatch.setattr("ltr_duel.data.text.pipeline._fitting", lambda room, most: most)
    again = load_dataset(file)
    assert np.array_equal(again.features, corpus.features)
    assert again.query_ids.tolist() == corpus.query_ids.tolist()
    assert np.array_equal(again.query_ptr, corpus.query_ptr)


@pytest.mark.parametrize("expected", [1, 10_000, 10**9])
def test_a_wrong_guess_of_the_length_makes_no_difference(expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryBuffer, "_LOOK_AT", 40)
    rng = np.random.default_rng(0)
    sink = MemoryBuffer(expected)
    blocks = [rng.random((3, width), dtype=np.float32) for width in (2, 2, 5, 4, 5, 5)]
    copies = [sink.put(block, 30) for block in blocks]
    for place in rng.permutation(len(copies)):
        copies[place]()
    wanted = np.vstack([np.pad(block, ((0, 0), (0, 7 - block.shape[1]))) for block in blocks])
    assert np.array_equal(sink.matrix(7), wanted)


def test_a_folder_is_its_parts_in_order(tmp_path: Path) -> None:
    for part, query in (("test", 3), ("train", 1), ("vali", 2)):
        (tmp_path / f"{part}.txt").write_text(f"0 qid:{query} 1:{query}\n")
    assert load_dataset(tmp_path).query_ids.tolist() == ["1", "2", "3"]
    assert load_dataset(tmp_path, split="test").query_ids.tolist() == ["3"]


def test_a_sample_of_a_part_is_that_part_where_there_is_no_other(tmp_path: Path) -> None:
    (tmp_path / "WEB10K_part_11q_train.txt").write_text("0 qid:1 1:1\n")
    (tmp_path / "WEB30K_Fold1_vali_head18q.txt").write_text("0 qid:2 1:2\n")
    (tmp_path / "validity-notes.txt").write_text("no feature file")
    assert load_dataset(tmp_path).query_ids.tolist() == ["1", "2"]
    assert load_dataset(tmp_path, split="vali").query_ids.tolist() == ["2"]
    (tmp_path / "vali.txt").write_text("0 qid:3 1:3\n")
    assert load_dataset(tmp_path, split="vali").query_ids.tolist() == ["3"]


def test_a_query_in_two_parts_is_refused(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("0 qid:1 1:1\n")
    (tmp_path / "test.txt").write_text("0 qid:1 1:1\n")
    with pytest.raises(InputError, match=r"test.txt:1: query '1' appears again, it began at .*train.txt:1"):
        load_dataset(tmp_path)


@needs_real_files
@pytest.mark.parametrize(
    "path, queries, documents, counts",
    [
        ("MQ2008/Fold1", 784, 15_211, [12_279, 2_001, 931]),
        ("MQ2008/Fold2", 784, 15_211, [12_279, 2_001, 931]),
        ("NP2004/Fold1", 15, 15_000, [14_985, 15]),
        ("MSLR_sample/WEB30K_Fold1_vali_head18q.txt.gz", 18, 1_734, None),
        ("MSLR_sample/WEB10K_part_11q_train.txt.gz", 11, 1_063, None),
    ],
)
def test_real_files_have_the_published_counts(
    path: str, queries: int, documents: int, counts: list[int] | None
) -> None:
    dataset = load_dataset(SHARED / path)
    assert (dataset.n_queries, dataset.n_docs) == (queries, documents)
    if counts:
        assert np.bincount(dataset.relevance).tolist() == counts


@needs_real_files
@pytest.mark.parametrize(
    "path, column, name",
    [
        ("MQ2008/Fold1", 25, "LM absolute body"),
        ("NP2004/Fold1", 48, "HITS authority"),
        ("MSLR_sample/WEB10K_part_11q_train.txt.gz", 105, "BM25 body"),
    ],
)
def test_known_corpora_have_named_columns(path: str, column: int, name: str) -> None:
    names = load_dataset(SHARED / path).feature_names
    assert names[column] == name
    assert len(set(names)) == len(names)


def test_a_made_corpus_of_the_same_width_is_not_taken_for_a_known_one(tmp_path: Path) -> None:
    file = write_svmlight(make_corpus(queries=3, features=136, doc_ids=False), tmp_path / "made.txt")
    assert load_dataset(file).feature_names[:2] == ("1", "2")
