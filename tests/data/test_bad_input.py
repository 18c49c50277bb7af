"""Each kind of bad input leads to one sentence with the position, the value and the valid values."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from ltr_duel.core import InputError
from ltr_duel.data import load_dataset

GOOD = "1 qid:7 1:1 2:2 3:3\n"


@pytest.mark.parametrize(
    "text, where, what",
    [
        ("x qid:7 1:1\n", "1:1", "'x' instead of a grade"),
        ("0.5 qid:7 1:1\n", "1:1", "label 0.5 is not a whole number; choose how it becomes a grade: --labels"),
        ("-1 qid:7 1:1\n", "1:1", "label -1 marks an unlabelled document; --unlabelled zero"),
        ("-2 qid:7 1:1\n", "1:1", "label -2 is not a relevance grade \\(0..1000\\)"),
        ("1e999 qid:7 1:1\n", "1:1", "label inf is not a relevance grade \\(0..1000\\)$"),
        ("nan qid:7 1:1\n", "1:1", "'nan' instead of a grade"),
        ("0 1:1 2:2\n", "1:3", "'1:1' is not a query such as qid:17"),
        ("0 qid: 1:1\n", "1:7", "a query such as qid:17 is missing"),
        ("0\n", "1:2", "a query such as qid:17 is missing"),
        ("0 qid:7 1:1 2:x\n", "1:15", "'x' in '2:x' is not a number such as"),
        ("0 qid:7 1:1 2:\n", "1:15", "'' in '2:' is not a number"),
        ("0 qid:7 1:1e\n", "1:11", "'1e' in '1:1e' is not a number"),
        ("0 qid:7 1:1.2.3\n", "1:11", "'1.2.3'"),
        ("0 qid:7 1:nan\n", "1:11", "feature 1 is nan; choose a replacement with --fill"),
        ("0 qid:7 1:nano\n", "1:11", "'nano' in '1:nano' is not a number"),
        ("0 qid:7 1:-inf\n", "1:11", "is not a finite number"),
        ("0 qid:7 1:NULL\n", "1:11", "feature 1 is NULL; choose a replacement"),
        ("0 qid:7 0:1\n", "1:9", "feature id 0 in '0:1'; ids start at 1"),
        ("0 qid:7 -2:1\n", "1:9", "negative feature id in '-2:1'; ids start at 1"),
        ("0 qid:7 1:1 1:2\n", "1:13", "feature 1 occurs twice on this line"),
        ("0 qid:7 10001:1\n", "1:9", "'10001:1' is too large; valid ids are 1..10000"),
        ("0 qid:7 99999999999999999999:1\n", "1:9", "is too large; valid ids are 1..10000"),
        ("0 qid:7 1:1 junk\n", "1:13", "'junk' is not '<id>:<value>'"),
        ("0 qid:7 1:1 2:2\r3:3\n", "1:16", "a carriage return inside the line"),
        ("0 qid:7 1:1\0\n", "1:11", "a NUL byte"),
        ("0 qid:7 1:1 # a\0\n", "1:16", "a NUL byte"),
        ("# a\0\n", "1:4", "a NUL byte"),
    ],
)
def test_a_bad_line_is_named_with_line_and_column(tmp_path: Path, text: str, where: str, what: str) -> None:
    file, lines_before = tmp_path / "corpus.txt", len(text) % 4
    file.write_bytes((GOOD * lines_before + text).encode("latin-1"))
    line, column = where.split(":")
    with pytest.raises(InputError, match=rf"corpus\.txt:{int(line) + lines_before}:{column}: .*{what}"):
        load_dataset(file)


@pytest.mark.parametrize("blank, name", [("\u00a0", "no-break space"), ("\u3000", "ideographic space")])
@pytest.mark.parametrize("line", ["0 qid:1{}1:1 2:5\n", "0 qid:1 1:1{}2:5\n", "0{}qid:1 1:1\n", "0 qid:1 1:1 {}2:5\n"])
def test_a_strange_blank_is_no_separator_and_is_named(tmp_path: Path, line: str, blank: str, name: str) -> None:
    (tmp_path / "a.txt").write_text(line.format(blank))
    with pytest.raises(InputError, match=rf"a\.txt:1:?\d*: an? {name} \(U\+\w+\) in '.*' is not a separator"):
        load_dataset(tmp_path / "a.txt")


def test_a_query_that_comes_back_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("0 qid:1 1:1\n0 qid:2 1:1\n0 qid:1 1:1\n")
    with pytest.raises(InputError, match=r"a:3: query '1' appears again, it began at .*a:1; the lines of a query must"):
        load_dataset(tmp_path / "a")


@pytest.mark.parametrize(
    "data, what",
    [
        (b"", "the file is empty"),
        (b"\n\n# nothing\n", "the file has no document"),
        (b"0 qid:1\n", "no line has a feature"),
        (b"<!DOCTYPE html><html>", "this is a web page, not data"),
        (b"PK\x03\x04abc", "this is an archive"),
        (b"PAR1abc", "the table cannot be read"),
        (b"query,document,bm25\n1,a,7.5\n", "no column 'label' .*this is a table of scores: give it as --rankers"),
        (gzip.compress(GOOD.encode() * 99, mtime=0)[:-10], "the compressed stream is damaged or cut short"),
        (gzip.compress(GOOD.encode() * 99, mtime=0)[:60] + b"\1" * 30, "the compressed stream is damaged or cut short"),
    ],
)
def test_a_file_that_is_no_feature_text_is_refused(tmp_path: Path, data: bytes, what: str) -> None:
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(InputError, match=f"a: .*{what}"):
        load_dataset(tmp_path / "a")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere: there is no such file or folder"):
        load_dataset(tmp_path / "nowhere")


def test_two_files_of_one_part_are_refused(tmp_path: Path) -> None:
    for name in ("train.txt", "train.txt.gz"):
        (tmp_path / name).write_text(GOOD)
    with pytest.raises(InputError, match=r"more than one train file \(train\.txt, train\.txt\.gz\)"):
        load_dataset(tmp_path)
