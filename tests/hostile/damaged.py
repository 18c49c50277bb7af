"""Damaged and forged files, one table for each command: name -> (content, a part of the sentence, further words)."""

from __future__ import annotations

import functools
import gzip
import io
import json
import shutil
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ltr_duel.experiment import make_schedule, read_spec, run_experiment
from ltr_duel.preferences import PreferenceMatrix, save_preferences
from tests.hostile.commands import FILES

GOOD = "1 qid:1 1:0.5 2:3\n0 qid:1 2:1\n2 qid:2 1:4 2:2\n"
NULLS = GOOD.replace("0.5", "NULL")
FACTS = {
    "format": 6, "omits": False, "name": "forged", "grades": 3, "sha256": "0", "lower_is_better": False,
    "feature_names": ["1", "2"],
}  # fmt: skip
Table = dict[str, tuple[Any, ...]]


def archive_of_a_link() -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        about = tarfile.TarInfo("a.txt")
        about.type, about.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(about)
    return data.getvalue()


def huge_npy() -> bytes:
    """Return an .npy file that claims to hold an array of 8 TB."""
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000), }"
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()


def folder(**contents: str | bytes) -> Callable[[Path], None]:
    """Return a function that writes a folder; ``a_txt`` is the file ``a.txt``."""

    def write(path: Path) -> None:
        path.mkdir()
        for name, content in contents.items():
            (path / name.replace("_", ".")).write_bytes(content if isinstance(content, bytes) else content.encode())

    return write


def parquet(about: dict[str, Any] | None = None, **columns: Any) -> bytes:
    """Return a matrix of two rankers, with some of its metadata or columns forged."""
    metadata = {"format": "ltr_duel.preferences/2", "names": ["a", "b"], "provenance": {}} | (about or {})
    table = {"first": ["a"], "second": ["b"], "p": [0.6], "standard_error": [0.0], "comparisons": [0]} | columns
    written = pa.table({name: pa.array(column) for name, column in table.items()})
    file = io.BytesIO()
    pq.write_table(written.replace_schema_metadata({b"ltr_duel": json.dumps(metadata).encode()}), file)
    return file.getvalue()


@functools.cache
def sound_store() -> Path:
    """Return a store of two runs."""
    path = Path(tempfile.mkdtemp(prefix="ltr-duel-store-")) / "store"
    run_experiment(make_schedule(read_spec("spec.toml", FILES["spec.toml"]), jobs=1), path)
    return path


def store(kind: str, write: Callable[[Path], Any]) -> Callable[[Path], None]:
    """Return a function that copies the store to a path, and damages its file of a kind."""

    def damage(path: Path) -> None:
        shutil.copytree(sound_store(), path)
        write(*(path / kind).iterdir())

    return damage


OTHER = PreferenceMatrix(np.array([[0.5, 0.9], [0.1, 0.5]]))
TABLES: dict[str, Table] = {  # words of the command, which end with the name of the damaged file
    "data info a.txt": {
        "empty": (b"\xef\xbb\xbf", "the file is empty"),
        "no feature": ("0 qid:1\n1 qid:1\n", "no line has a feature"),
        "web page": ("<!DOCTYPE html><html>", "a web page, not data"),
        "cut gzip": (gzip.compress(GOOD.encode() * 50)[:-9], "damaged or cut short"),
        "NUL": ("0 qid:1 1:1\n0 qid:1 1:\0\n", "'\\x00' in '1:\\x00' is not a finite number"),
        "huge id": (f"1 qid:1 {'9' * 20}:1\n", "is too large; valid ids are 1..10000; --features N allows more"),
        "twice": ("1 qid:1 1:1 1:1\n", "a.txt:1:13: feature 1 occurs twice on this line; each id may occur once"),
        "escape codes": ("1 qid:1 1:\x1b[31m\n", "feature value '\\x1b[31m'"),
        "NULL": (NULLS, "feature 1 is NULL; choose a replacement with --fill"),
        "half a label": (GOOD.replace("1 qid", "0.5 qid", 1), "label 0.5 is not a relevance ~--labels round"),
        "unlabelled": ("-1 qid:1 1:1\n", "--unlabelled zero reads -1 as grade 0"),
        "query again": (GOOD + "0 qid:1 1:1 2:2\n", "the lines of a query must be adjacent"),
        "carriage return": ("1 qid:1 1:1\r2:2\n", "'\\r2:2' is not '<id>:<value>'"),
        "fill of ranks": (NULLS, "fill it with 'last', not with 'min'", "--fill", "min", "--dialect", "letor-agg"),
        "empty folder": (Path.mkdir, "no feature file in this folder"),
        "query in two parts": (folder(train_txt=GOOD, test_txt=GOOD), "~--split train"),
        "another version": (folder(corpus_json=json.dumps(FACTS | {"format": 1})), "made by another version; remove"),
        "forged size": (folder(corpus_json=json.dumps(FACTS), columns_npy=huge_npy()), "damaged (~); remove"),
        "deep nesting": (folder(corpus_json="[" * 50_000), "damaged (~); remove this folder and read the text again"),
    },
    "data fetch imat2009 --accept-terms --folder c --archive given": {
        "link": (archive_of_a_link(), "is a link to an absolute path"),
    },
    "prefs show m": {
        "another version": (
            parquet({"format": "ltr_duel.preferences/9"}),
            "another version of this one (ltr_duel.preferences/9)",
        ),
        "one name too few": (parquet({"names": ["a"]}), "'first' must have a row for each pair"),
        "provenance is null": (parquet({"provenance": None}), "provenance must be a dict, not None"),
        "p is text": (parquet(p=["0.5"]), "not a preference matrix"),
        "impossible counts": (parquet(total=[2**62], square=[0], within=[0], comparisons=[10]), "are impossible"),
        "gzip cut short": (gzip.compress(b"0.5 0.7\n0.3 0.5\n" * 99)[:-9], "damaged or cut short"),
        "null bytes": ("0.5 \x00\n", "could not convert string to float: '\\x00'"),
        "other names": (",a,b\na,0.5,0.6\nc,0.4,0.5\n", "first column must repeat the names of the first row"),
        "a link to itself": (lambda path: path.symlink_to(path.name), "no such file"),
    },
    "list policies --plugin mine.py": {"recursion": ("def f(): f()\nf()\n", "mine.py: RecursionError: ")},
    "results store": {
        "a study without groups": (store("studies", lambda path: path.write_text("{}")), "damaged (~writes it again"),
        "another matrix": (store("problems", lambda path: save_preferences(OTHER, path)), "missing or damaged;"),
        "other runs": (store("runs", lambda path: path.write_text("x")), "no run is done yet"),
        "a file": ("text", "contains no results of 'ltr-duel run'"),
    },
}
