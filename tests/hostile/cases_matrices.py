"""Hostile files of preference matrices, and paths that are not writable."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ltr_duel import PreferenceMatrix
from ltr_duel.preferences import (
    arxiv,
    compare_matrices,
    load_preferences,
    matrix_properties,
    random_condorcet_subset,
    save_preferences,
    synthetic_preferences,
)
from tests.hostile.case import Case, Content
from tests.hostile.matrix_files import parquet, saved

FAIR = [[0.5, 0.9], [0.1, 0.5]]
THREE = "0.5 0.7 0.8\n0.3 0.5 0.6\n0.2 0.4 0.5\n"
LONG = "n" * 300

FILES: dict[str, tuple[Content, str]] = {  # the content of the file, and the message
    "metadata is a list": (parquet(metadata=b"[1, 2]"), "not a preference matrix"),
    "metadata is null": (parquet(metadata=b"null"), "not a preference matrix"),
    "metadata is not JSON": (parquet(metadata=b"{x"), "not a preference matrix"),
    "metadata is not text": (parquet(metadata=b"\xff\xfe"), "not a preference matrix"),
    "another version": (
        parquet({"format": "ltr_duel.preferences/9"}),
        r"written by another version of this program \(ltr_duel.preferences/9\)",
    ),
    "names are null": (parquet({"names": None}), "its metadata is damaged"),
    "one name too few": (parquet({"names": ["a"]}), "1 rows; 1 rankers have 0 pairs"),
    "names in another order": (parquet({"names": ["b", "a"]}), "'first' is not in the order of the names"),
    "a name twice": (
        parquet({"names": ["a", "a"]}, second=pa.array(["a"])),
        "2 rankers needs 2 different names",
    ),
    "a name of two lines": (
        parquet({"names": ["a\nb", "b"]}, first=pa.array(["a\nb"])),
        r"must be one line of text, not 'a\\nb'",
    ),
    "provenance is a list": (parquet({"provenance": [1]}), "its metadata is damaged"),
    "p is text": (parquet(p=pa.array(["x"])), "column 'p' must contain numbers, not string"),
    "p is numbers as text": (parquet(p=pa.array(["0.5"])), "column 'p' must contain numbers, not string"),
    "p has a gap": (parquet(p=pa.array([None], pa.float64())), "column 'p' has empty cells"),
    "p is missing": (parquet(p=None), "not a preference matrix .*p"),
    "p is lists": (parquet(p=pa.array([[0.5]])), "column 'p' must contain numbers, not list"),
    "p is truth values": (parquet(p=pa.array([True])), "column 'p' must contain numbers, not bool"),
    "p is 2": (parquet(p=np.array([2.0])), r"p\['a', 'b'\] must be between 0 and 1, not 2.0"),
    "p is NaN": (parquet(p=np.array([np.nan])), r"p\['a', 'b'\] must be between 0 and 1, not nan"),
    "a fraction of a comparison": (parquet(comparisons=np.array([2.5])), "'comparisons' must contain whole numbers"),
    "2^62 comparisons": (parquet(comparisons=np.array([2**62])), "whole numbers up to 9,007,199,254,740,992"),
    "2^64 - 1 comparisons": (parquet(comparisons=np.array([2**64 - 1], np.uint64)), "whole numbers up to 9,007,"),
    "-1 comparisons": (parquet(comparisons=np.array([-1])), "comparisons must be symmetric and must not be negative"),
    "a negative error": (parquet(standard_error=np.array([-1.0])), "standard_error must be symmetric and must not"),
    "an error of NaN": (parquet(standard_error=np.array([np.nan])), "standard_error must be symmetric and must not"),
    "an error of text": (parquet(standard_error=pa.array(["x"])), "column 'standard_error' must contain numbers"),
    "counts without squares": (parquet(total=np.array([1])), "not a preference matrix .*square"),
    "counts are fractions": (
        parquet(total=np.array([1.5]), square=np.array([1.0]), within=np.array([1.0])),
        "column 'total' must contain whole numbers",
    ),
    "counts are impossible": (
        parquet(total=np.array([2**62]), square=np.array([0]), within=np.array([0]), comparisons=np.array([10])),
        "the counts are impossible",
    ),
    "p does not agree with the counts": (
        parquet(total=np.array([0]), square=np.array([0]), within=np.array([0]), comparisons=np.array([10])),
        "p does not agree with the counts",
    ),
    "Parquet cut short": (parquet()[:-20], "not a preference matrix"),
    "npy of three axes": (saved(np.zeros((2, 2, 2))), r"must be square, not of shape \(2, 2, 2\)"),
    "npy of one number": (saved(0.5), r"must be square, not of shape \(\)"),
    "npy of nothing": (saved(np.zeros((0, 0))), r"must be square, not of shape \(0, 0\)"),
    "npy of complex numbers": (saved([[0.5, 0.5 + 1j], [0.5 - 1j, 0.5]]), "p must be real numbers, not complex128"),
    "npy of texts": (saved([["a", "b"], ["c", "d"]]), "p must be real numbers, not <U1"),
    "npy of truth values": (saved([[True, False], [True, True]]), "p must be real numbers, not bool"),
    "npy of days": (saved(np.zeros((2, 2), "M8[s]")), r"p must be real numbers, not datetime64"),
    "npy of records": (saved(np.zeros((2, 2), [("a", "f8")])), "p must be real numbers"),
    "npy with a NaN": (saved([[0.5, np.nan], [0.5, 0.5]]), r"p\['0', '1'\] must be between 0 and 1, not nan"),
    "gzip cut short": (gzip.compress(THREE.encode() * 99)[:-9], "not a preference matrix"),
    "gzip that is damaged": (gzip.compress(THREE.encode())[:20] + b"\0" * 30, "not a preference matrix"),
    "null bytes": ("0.5 \x00\n", r":1: '0.5 \\x00' is not a row of numbers"),
    "complex numbers": ("0.5 1j\n0.5 0.5\n", ":1: '0.5 1j' is not a row of numbers"),
    "400 digits": (f"0.5 {'9' * 400}\n0.5 0.5\n", r"p\['0', '1'\] must be between 0 and 1, not inf"),
    "NaN": ("0.5 nan\n0.5 0.5\n", r"p\['0', '1'\] must be between 0 and 1, not nan"),
    "does not add up": ("0.5 0.6\n0.6 0.5\n", r"p\['0', '1'\] \+ p\['1', '0'\] must be 1, not 1.2"),
    "a size of another matrix": ("9\n0.5 0.5\n0.5 0.5\n", "row 1 has 1 numbers; a matrix of 3 rows"),
    "more rows than columns": (THREE + "0.5 0.5 0.5\n", "4 rows; a matrix of 3|a matrix of 4 rows needs 4"),
    "a table without numbers": (",a,b\na,0.5\n", ":2: 1 numbers for 2 names"),
    "a table with a name twice": (",a,a\na,0.5,0.5\na,0.5,0.5\n", "needs 2 different names"),
    "nothing at all": ("", "contains no numbers; a preference matrix must be square"),
    "a folder": (Path.mkdir, "a folder, not a file with a preference matrix"),
    "a link to itself": (lambda path: path.symlink_to(path.name), "Too many levels of symbolic links"),
    "a link to nowhere": (lambda path: path.symlink_to("nowhere"), "no such file"),
}

CORPUS = "".join(f"{(q + d) % 3} qid:{q} 1:{d} 2:{q * d % 5} 3:{d % 4}\n" for q in range(1, 4) for d in range(6))


def typed(name: str, words: tuple[str, ...], says: str, **files: Content) -> Case:
    return Case(name, words, files={"m.txt": THREE, "corpus.txt": CORPUS, "file": "x"} | files, says=says)


def called(name: str, call: Callable[[], Any], says: str, **files: Content) -> Case:
    return Case(name, call=call, files={"m.txt": THREE} | files, says=says)


def fifo(path: Path) -> None:
    os.mkfifo(path)


def circle(path: Path) -> None:
    path.symlink_to(path.name)


def places(name: str, words: tuple[str, ...], ending: str) -> list[Case]:
    """Check that an unwritable output is reported before any work."""
    return [
        typed(f"{name}, {what}", (*words, "--out", out), says)
        for what, out, says in (
            ("a file as a folder", f"file/x{ending}", "cannot be written: file is a file, not a folder"),
            ("a file as a folder of a folder", f"file/x/y{ending}", "cannot be written: file is a file, not a folder"),
            ("a name of 300 letters", LONG + ending, r"nnn\.\.\..*cannot be written: File name too long|characters"),
            ("no name", "", "an empty name is not an output path"),
            ("a null character", f"a\0{ending}", "a null character cannot be part of a command"),
        )
    ]


def into(name: str, words: tuple[str, ...], out: str, says: str, make: Callable[[Path], Any]) -> Case:
    place = out.partition("/")[0]
    return Case(name, (*words, "--out", out), files={"m.txt": THREE, "corpus.txt": CORPUS, place: make}, says=says)


SIMULATE = ("simulate", "m.txt", "--policy", "rucb", "--horizon", "10", "--repetitions", "1", "--jobs", "1")
ESTIMATE = ("prefs", "estimate", "corpus.txt", "--comparisons", "10", "--jobs", "1")

CASES = [
    *(Case(f"matrix: {name}", ("prefs", "show", "m"), files={"m": made}, says=says)
      for name, (made, says) in FILES.items()),
    *places("estimate", ESTIMATE, ".parquet"),
    *places("simulate", SIMULATE, ""),
    *places("demo", ("demo", "--data", "corpus.txt"), ""),
    *places("sensitivity", ("sensitivity", "corpus.txt"), ""),
    into("estimate into a pipe", ESTIMATE, "pipe", "there is a pipe, not a file", fifo),
    into("estimate into a folder", ESTIMATE, "dir", "there is a folder, not a file", Path.mkdir),
    into("simulate into a pipe", SIMULATE, "pipe", "pipe is a pipe, not a folder", fifo),
    into("demo into a file", ("demo", "--data", "corpus.txt"), "one", "one is a file, not a folder",
         lambda path: path.write_text("x")),
    into("estimate beyond a circle of links", ESTIMATE, "loop/x.parquet", "Too many levels of symbolic links", circle),
    into("estimate into a circle of links", ESTIMATE, "loop", "Too many levels of symbolic links", circle),
    typed("a matrix of 300 letters", ("prefs", "show", LONG), "File name too long"),
    called("load None", lambda: load_preferences(None), "requires the path of a file, not None"),
    called("load a null character", lambda: load_preferences("\0"), r"\\x00: not a preference matrix"),
    called("save a text", lambda: save_preferences("x", "a.csv"), "requires a PreferenceMatrix and a path, not 'x'"),
    called("save to None", lambda: save_preferences(arxiv(), None), "and None"),
    called("save a provenance of objects",
           lambda: save_preferences(PreferenceMatrix(FAIR, provenance={"a": object()}), "new/a"), "must be valid JSON"),
    called("p is None", lambda: PreferenceMatrix(None), r"must be square, not of shape \(\)"),
    called("p is ragged", lambda: PreferenceMatrix([[0.5], [0.5, 0.5]]), "its rows are not of equal length"),
    called("p is complex", lambda: PreferenceMatrix(np.array(FAIR) + 0j), "real numbers, not complex128"),
    called("p is objects", lambda: PreferenceMatrix([[None, 1], [0, 0.5]]), "real numbers, not object"),
    called("p is texts", lambda: PreferenceMatrix([["0.5"]]), "real numbers, not <U3"),
    called("p is masked", lambda: PreferenceMatrix(np.ma.masked_array(FAIR, [[0, 1], [1, 0]])), "not masked"),
    called("names of ints", lambda: PreferenceMatrix(FAIR, (1, 2)), "must be one line of text, not 1"),
    called("names in a text", lambda: PreferenceMatrix(FAIR, "ab"), "must be a list of strings, not 'ab'"),
    called("names of None", lambda: PreferenceMatrix(FAIR, None), "must be a list of strings, not None"),
    called("names of lists", lambda: PreferenceMatrix(FAIR, [["a"], ["b"]]), "one line of text, not a list"),
    called("a name of an unpaired surrogate", lambda: PreferenceMatrix(FAIR, ("\ud800", "b")), r"not '\\ud800'"),
    called("errors of None", lambda: PreferenceMatrix(FAIR, standard_error=None), "must have the shape of p"),
    called("counts of halves", lambda: PreferenceMatrix(FAIR, comparisons=np.full((2, 2), 1.5)), "whole numbers"),
    called("counts of 10^30", lambda: PreferenceMatrix(FAIR, comparisons=[[0, 10**30], [10**30, 0]]), "not object"),
    called("a provenance of None", lambda: PreferenceMatrix(FAIR, provenance=None), "must be a dict, not None"),
    called("a tally of 5", lambda: PreferenceMatrix(FAIR, tally=5), "must be a Tally, not 5"),
    called("the ranker at 1.5", lambda: arxiv().index(1.5), "must be a whole number, not 1.5"),
    called("the ranker at True", lambda: arxiv().index(True), "must be a whole number, not True"),
    called("the ranker at 99", lambda: arxiv().index(99), "from 0 to 5; there is no 99"),
    called("one ranker as a text", lambda: arxiv()["A"], "as a list of names or positions, not 'A'"),
    called("rankers as a slice", lambda: arxiv()[0:2], "not a slice"),
    called("other names of 5", lambda: arxiv().relabelled(5), "must be a list of strings, not 5"),
    called("a confidence of text", lambda: arxiv().intervals("x"), "must be between 0 and 1, not 'x'"),
    called("a subset of 1.5", lambda: random_condorcet_subset(arxiv(), 1.5), "must be a whole number, not 1.5"),
    called("compared with 5", lambda: compare_matrices(arxiv(), 5), "a PreferenceMatrix is required, not 5"),
    called("properties of 5", lambda: matrix_properties(5), "a PreferenceMatrix is required, not 5"),
    called("a list of a name", lambda: synthetic_preferences(["x"]), "no synthetic preference matrix a list"),
]  # fmt: skip
