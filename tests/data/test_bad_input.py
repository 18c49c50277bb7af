"""Malformed text is refused with file, line, column and value; tests/hostile has the sentences of the command line."""

from __future__ import annotations

import gzip

import pytest

from ltr_duel.core import InputError
from ltr_duel.data import load_dataset

GOOD = "1 qid:7 1:1 2:2 3:3\n"


@pytest.mark.parametrize(
    "text, position, what",
    [
        ("1e999 qid:7 1:1", "1", r"label inf is not a relevance grade \(0..1000\)"),
        ("nan qid:7 1:1", "1", "'nan' instead of a grade"),
        ("0", "2", "'' is not a query such as qid:17"),
        ("0 qid: 1:1", "7", "'' is not a query such as qid:17"),
        ("0 qid:7 1:1 2:", "15", "'' in '2:' is not a finite number"),
        ("0 qid:7 1:1.2.3", "11", "'1.2.3'"),
        ("0 qid:7 1:-nano", "11", "'-nano' in '1:-nano' is not a finite number"),
        ("0 qid:7 1:1\0", "11", r"'1\\x00' in '1:1\\x00' is not a finite number"),
        ("0 qid:7 1:1 1:2", "13", "feature 1 occurs twice on this line"),
        ("0 qid:7 99999999999999999999:1", "9", "is too large; valid ids are 1..10000"),
        ("0 qid:7 1:1 junk", "13", "'junk' is not '<id>:<value>'"),
        ("0 qid:7 1:1 2:2\r3:3", "16", r"'\\r3:3' is not '<id>:<value>'"),
        ("0 qid:7 1:1\u00a02:5", "11", r"'1\\xa02:5' in '1:1\\xa02:5' is not a finite number"),
    ],
)
def test_a_bad_line_is_named_with_line_and_column(tmp_path, text, position, what):
    (tmp_path / "corpus.txt").write_text(f"{GOOD}\n{GOOD}{text}\n{GOOD}", newline="")
    with pytest.raises(InputError, match=rf"corpus\.txt:4:{position}: .*{what}"):
        load_dataset(tmp_path / "corpus.txt")


@pytest.mark.parametrize(
    "data, what",
    [
        (b"PAR1abc", "the table cannot be read"),
        (b"query,document,bm25\n1,a,7.5\n", r"no column 'label' \(or grade, .*\) among query, document, bm25"),
        (gzip.compress(GOOD.encode() * 99, mtime=0)[:60] + b"\1" * 30, "the compressed stream is damaged or cut short"),
    ],
)
def test_a_file_that_is_no_feature_text_is_refused(tmp_path, data, what):
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(InputError, match=f"a: .*{what}"):
        load_dataset(tmp_path / "a")
