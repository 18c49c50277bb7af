"""`load_dataset` on well-formed text: lines, files, folders, and the corpora of this format."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from ltr_duel.core import InputError
from ltr_duel.data import Dataset, ReadWarning, load_dataset, make_corpus, write_svmlight

LARGEST = float(np.finfo(np.float32).max)


def read(folder: Path, text: str | bytes, **options) -> Dataset:
    (folder / "corpus.txt").write_bytes(text.encode() if isinstance(text, str) else text)
    return load_dataset(folder / "corpus.txt", **options)


def ids(corpus):
    return None if corpus.doc_ids is None else corpus.doc_ids.tolist()


def test_a_letor_line_gives_grade_query_values_and_document_id(tmp_path):
    corpus = read(tmp_path, "2 qid:WT04-182 1:0.5 2:-3 3:1e-3 #docid = G13-86-1372899 inc = 1\n")
    assert corpus.relevance.tolist() == [2] and corpus.features.tolist() == [[0.5, -3, np.float32(0.001)]]
    assert corpus.query_ids.tolist() == ["WT04-182"] and ids(corpus) == ["G13-86-1372899"]
    assert corpus.features.dtype == np.float32 and corpus.features.strides[0] == 4
    assert corpus.relevance.dtype == np.int16 and corpus.query_ptr.dtype == np.int64


def test_omitted_features_are_zero_and_ids_may_come_in_any_order(tmp_path):
    text = "# made by hand\n\n0 qid:1 2:7\n0 qid:1 5:1 3:2\n\r\n  \n0 qid:1\n"
    assert read(tmp_path, text).features.tolist() == [[0, 7, 0, 0, 0], [0, 0, 2, 0, 1], [0, 0, 0, 0, 0]]


def test_omitted_features_are_missing_on_request(tmp_path, monkeypatch):
    monkeypatch.setattr("ltr_duel.data.text.pipeline._fitting", lambda room: 1)  # so that the width grows
    text = "0 qid:1 1:5\n1 qid:1 2:0\n0 qid:1 4:7\n"
    corpus, nan = read(tmp_path, text, omitted="missing"), np.nan
    assert np.array_equal(corpus.features, [[5, nan, nan, nan], [nan, 0, nan, nan], [nan, nan, nan, 7]], equal_nan=True)
    assert not corpus.omits and read(tmp_path, text).omits and not read(tmp_path, "0 qid:1 1:0 2:1\n").omits


def test_texts_of_the_same_content_are_one_corpus(tmp_path):
    text = "0 qid:1 1:1 2:0.5 #docid = a\n1 qid:2 1:2 #docid = b\n"
    first = read(tmp_path, text).sha256
    packed = gzip.compress(text.encode()[:40]) + gzip.compress(text.encode()[40:])
    for same in (packed, text.encode("utf-16"), "# x\n" + text, text.encode("utf-8-sig")):
        assert read(tmp_path, same).sha256 == first
    assert read(tmp_path, text.replace("0.5", "5e-1").replace("1:2", "2:0 1:2.0")).sha256 == first


def test_values_beyond_float32_are_clipped_and_counted(tmp_path):
    text = "1 qid:1 1:1.79769313486e+308 2:5\n0 qid:1 1:-1e39 2:3.4028235677973367e38\n"
    with pytest.warns(ReadWarning, match="corpus: 3 values beyond the range of float32, clipped to 3.4028235e38"):
        assert read(tmp_path, text).features.tolist() == [[LARGEST, 5], [-LARGEST, LARGEST]]


def test_documents_have_ids_if_every_comment_has_one(tmp_path):
    text = "0 qid:1 1:1 #docid = GX1\n0 qid:1 1:1 # docid=GX2 x\n"
    assert ids(read(tmp_path, text)) == ["GX1", "GX2"] and ids(read(tmp_path, text + "0 qid:1 1:1 # c\n")) is None


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_ids_are_the_same_in_every_encoding(tmp_path, encoding):
    text = "1 qid:voilà 1:1 #docid = Müller\n0 qid:007 1:2 #docid = null\n"
    corpus = read(tmp_path, text.encode(encoding))
    assert corpus.query_ids.tolist() == ["voilà", "007"] and ids(corpus) == ["Müller", "null"]


def test_a_folder_is_its_parts_in_order_but_files_that_may_be_another_corpus_are_refused(tmp_path):
    for part, query in (("a.test", 3), ("a.train", 1), ("a.train_old", 1), ("A.valid", 2), ("._.test", 9)):
        (tmp_path / f"{part}.txt").write_text(f"0 qid:{query} 1:{query}\n")
    for path in (tmp_path, tmp_path / "a"):  # the folder, and the common beginning of the names
        assert load_dataset(path).query_ids.tolist() == ["1", "2", "3"]
        assert [load_dataset(path, split=part).query_ids.tolist() for part in ("vali", "test")] == [["2"], ["3"]]
    for old, new in (("A.valid", "a.valid_head"), ("a.valid_head", "b.valid")):  # once ignored, once joined
        (tmp_path / f"{old}.txt").rename(tmp_path / f"{new}.txt")
        with pytest.raises(InputError, match=rf"of one corpus: (?=.*a\.train\.txt)(?=.*{new}\.txt).*the path of one"):
            load_dataset(tmp_path)


def test_a_corpus_of_five_folds_is_its_five_test_parts(tmp_path):
    for k in range(1, 6):
        (tmp_path / f"Fold{k}").mkdir()
        (tmp_path / f"Fold{k}" / "test.txt").write_text(f"0 qid:{k} 1:{k}\n")
        (tmp_path / f"Fold{k}" / "train.txt").write_text(f"0 qid:{k % 5 + 1} 1:{k}\n")
    assert load_dataset(tmp_path).query_ids.tolist() == list("12345")
    assert load_dataset(tmp_path, fold=2).query_ids.tolist() == ["3", "2"]
    assert load_dataset(tmp_path, fold=2, split="test").query_ids.tolist() == ["2"]
    with pytest.raises(InputError, match="choose a fold, 1 to 5"):
        load_dataset(tmp_path, split="test")
    (tmp_path / "Fold3" / "test.txt").unlink()
    with pytest.raises(InputError, match=r"five folds; there are .*Fold2/test\.txt, Fold4"):
        load_dataset(tmp_path)


@pytest.mark.parametrize("jobs, size", [(1, 1), (3, 64), (1, 1000)])
def test_chunks_and_jobs_make_no_difference(tmp_path, size, jobs, monkeypatch):
    corpus = make_corpus(queries=15, documents=8, features=7, seed=3)
    file = write_svmlight(corpus, tmp_path / "corpus.txt")
    monkeypatch.setattr("ltr_duel.data.text.pipeline.FIRST_BYTES", size)
    monkeypatch.setattr("ltr_duel.data.text.pipeline._fitting", lambda room: size)
    again = load_dataset(file, jobs=jobs)
    assert again.sha256 == corpus.sha256 and np.array_equal(again.features, corpus.features)


@pytest.mark.parametrize("lines, most_in_memory", [(1, 1), (40, 2**40), (100_000, 1)])
def test_the_estimate_of_the_length_and_the_kind_of_memory_make_no_difference(
    tmp_path, lines, most_in_memory, monkeypatch
):
    text = "".join(f"0 qid:{k // 9} 1:{k} {k + 2}:NULL 7:1\n" for k in range(6, 90))
    expected = read(tmp_path, text, fill="min")
    monkeypatch.setenv("LTR_DUEL_HOME", str(tmp_path))
    monkeypatch.setattr("ltr_duel.data.text.pipeline._fitting", lambda room: 100)
    monkeypatch.setattr("ltr_duel.data.text.assemble.estimate_lines", lambda files: lines)
    monkeypatch.setattr("ltr_duel.data.text.matrix.MOST_IN_MEMORY", most_in_memory)
    monkeypatch.setattr("ltr_duel.data.text.matrix.RELEASE_AFTER", 1)
    corpus = read(tmp_path, text, fill="min", jobs=2)
    assert corpus.n_features == 91 and corpus.sha256 == expected.sha256


@pytest.mark.parametrize(
    "path, options, shape, name",
    [
        ("MQ2008/Fold1/vali.txt.gz", {}, (157, 2_707, 46), "LM absolute body"),
        ("MSLR_sample/WEB30K_Fold1_vali_head18q.txt.gz", {}, (18, 1_734, 136), "TF min body"),
        ("IMAT2009_sample/imat2009_learning.first1000.txt.gz", {"dialect": "imat2009"}, (104, 1_000, 245), "26"),
        ("LightGBM_lambdarank_example/rank.train.gz", {}, (201, 3_005, 300), "26"),
    ],
)
def test_real_files_have_the_published_counts_and_the_numbers_of_another_reader(real_data, path, options, shape, name):
    """scikit-learn rejects string queries and NULL, and ignores queries in comments; it can read the numbers."""
    ours = load_dataset(real_data / path, labels="distinct", **options)
    assert (ours.n_queries, ours.n_docs, ours.n_features) == shape and ours.feature_names[25] == name
    theirs, labels = load_svmlight_file(str(real_data / path), n_features=ours.n_features, dtype=np.float64)
    assert np.array_equal(ours.features, theirs.toarray().astype(np.float32))
    assert np.array_equal(ours.relevance, np.unique(labels, return_inverse=True)[1])


def test_a_made_corpus_of_the_same_width_is_not_taken_for_a_known_one(tmp_path):
    file = write_svmlight(make_corpus(queries=3, features=136, doc_ids=False), tmp_path / "made.txt")
    assert load_dataset(file).feature_names[:2] == ("1", "2")


@pytest.mark.parametrize("sidecar", ["a.txt.query", "a.group"])
def test_sizes_of_the_queries_come_from_a_file_beside_the_text(tmp_path, sidecar):
    (tmp_path / sidecar).write_bytes(b"\xef\xbb\xbf1\n2\n")
    (tmp_path / "a.txt.bz2").write_bytes(bz2.compress(b"0 1:1\n1 1:2\n2 1:3\n"))
    corpus = load_dataset(tmp_path / "a.txt.bz2")
    assert corpus.query_ptr.tolist() == [0, 1, 3] and corpus.query_ids.tolist() == ["1", "2"]


@pytest.mark.parametrize(
    "sizes, what",
    [("1\n1\n", "3 documents, but the sizes .* add up to 2"), ("2\nx\n", "query:2: 'x' is not the size")],
)
def test_sizes_that_do_not_fit_are_refused(tmp_path, sizes, what):
    (tmp_path / "corpus.query").write_text(sizes)
    with pytest.raises(InputError, match=what):
        read(tmp_path, "0 1:1\n1 1:2\n2 1:3\n")
