"""What published files contain beyond the format: values out of range, large labels, ids in free comments, nan."""

from __future__ import annotations

import numpy as np
import pytest

from ltr_duel.core import InputError
from ltr_duel.data import load_dataset
from ltr_duel.data.text.reading import ReadWarning

LARGEST = float(np.finfo(np.float32).max)


def test_values_beyond_float32_are_clipped_and_counted(tmp_path):
    (tmp_path / "a.txt").write_text("1 qid:1 1:1.79769313486e+308 2:5\n0 qid:1 1:-1e39 2:3.4028235677973367e38\n")
    with pytest.warns(ReadWarning, match="a: 3 values beyond the range of float32, clipped to 3.4028235e38"):
        corpus = load_dataset(tmp_path / "a.txt")
    assert corpus.features.tolist() == [[LARGEST, 5], [-LARGEST, LARGEST]]


def test_labels_above_a_thousand_become_ranks_with_distinct(tmp_path):
    (tmp_path / "a.txt").write_text("1330 qid:1 1:1\n7 qid:1 1:2\n16777216 qid:1 1:3\n7 qid:1 1:4\n")
    assert load_dataset(tmp_path / "a.txt", labels="distinct").relevance.tolist() == [1, 0, 2, 0]
    with pytest.raises(InputError, match=r"a\.txt:1:1: label 1330 is not a relevance grade .*; --labels distinct"):
        load_dataset(tmp_path / "a.txt")


@pytest.mark.parametrize(
    "comments, ids",
    [
        (("7555 rambo", "1370 rambo", "7555 rocky"), ["7555", "1370", "7555"]),  # the last one is of another query
        (("1A", "2B", "1A"), ["1A", "2B", "1A"]),
        (("7555 rambo", "7555 rambo", "1 x"), None),  # one document twice in a query
        (("7555 rambo", "", "1368 rambo"), None),
        (("by hand", "docid = b", "c"), None),
    ],
)
def test_first_words_of_comments_are_ids_where_every_comment_can_be_one(tmp_path, comments, ids):
    lines = zip((1, 1, 2), comments, strict=True)
    (tmp_path / "a.txt").write_text("".join(f"0 qid:{query} 1:1 # {comment}\n" for query, comment in lines))
    corpus = load_dataset(tmp_path / "a.txt")
    assert (corpus.doc_ids if corpus.doc_ids is None else corpus.doc_ids.tolist()) == ids


@pytest.mark.parametrize("word", ["NULL", "nan", "NaN", "-nan"])
def test_words_for_missing_values_are_read_as_fill_says(tmp_path, word):
    (tmp_path / "a.txt").write_text(f"1 qid:1 1:{word} 2:2\n0 qid:1 1:3\n")
    assert np.array_equal(load_dataset(tmp_path / "a.txt", fill="nan").features, [[np.nan, 2], [3, 0]], equal_nan=True)
    assert load_dataset(tmp_path / "a.txt", fill="min").features.tolist() == [[3, 2], [3, 0]]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_ids_are_the_same_in_every_encoding(tmp_path, encoding):
    (tmp_path / "a.txt").write_bytes("1 qid:NA 1:1 #docid = Müller\n0 qid:007 1:2 #docid = null\n".encode(encoding))
    corpus = load_dataset(tmp_path / "a.txt")
    assert corpus.query_ids.tolist() == ["NA", "007"] and corpus.doc_ids.tolist() == ["Müller", "null"]
