"""Damaged and forged files, one table for each kind: name -> (content, a part of the sentence, further words)."""

from __future__ import annotations

import functools
import gzip
import io
import json
import os
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ltr_duel.experiment import make_schedule, read_spec, run_experiment
from ltr_duel.preferences import PreferenceMatrix, save_preferences

GOOD = "1 qid:1 1:0.5 2:3\n0 qid:1 2:1\n2 qid:2 1:4 2:2\n"
NULLS = GOOD.replace("0.5", "NULL")
DEEP = "[" * 50_000
SPEC = """
policies = "mdb"
horizon = 20
repetitions = 2
matrices = [{ name = "m", answers = "independent_coins", p = [[0.5, 0.6, 0.7], [0.4, 0.5, 0.6], [0.3, 0.4, 0.5]] }]
"""
Content = bytes | str | Callable[[Path], Any]
Table = dict[str, tuple[Any, ...]]


def zipped(*members: tuple[str, str]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in members:
            archive.writestr(name, text)
    return data.getvalue()


def tarred(kind: bytes) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        about = tarfile.TarInfo("a.txt")
        about.type, about.linkname = kind, "/etc/passwd"
        archive.addfile(about)
    return data.getvalue()


def npy(shape: object, dtype: str = "<f8", data: bytes = b"") -> bytes:
    """Return an .npy file that claims to hold an array of a shape."""
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + data


def saved(values: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, np.array(values))
    return file.getvalue()


def parquet(about: dict[str, Any] | None = None, metadata: bytes | None = None, **columns: Any) -> bytes:
    """Return a matrix of two rankers, with some of its metadata or columns forged; None leaves a column out."""
    said = {"format": "ltr_duel.preferences/2", "names": ["a", "b"], "provenance": {}} | (about or {})
    table = {"first": ["a"], "second": ["b"], "p": [0.6], "standard_error": [0.0], "comparisons": [0]} | columns
    written = pa.table({name: pa.array(column) for name, column in table.items() if column is not None})
    file, content = io.BytesIO(), json.dumps(said).encode() if metadata is None else metadata
    pq.write_table(written.replace_schema_metadata({b"ltr_duel": content}), file)
    return file.getvalue()


CORPORA: Table = {  # a feature file for `data info a.txt`
    "empty": (b"\xef\xbb\xbf", "the file is empty"),
    "only comments": ("# nothing\n\n", "the file has no document"),
    "no feature": ("0 qid:1\n1 qid:1\n", "no line has a feature"),
    "zip": (zipped(("a", "b")), "an archive, not text"),
    "web page": ("<!DOCTYPE html><html>", "a web page, not data"),
    "cut gzip": (gzip.compress(GOOD.encode() * 50)[:-9], "damaged or cut short"),
    "NUL": ("0 qid:1 1:1\n0 qid:1 1:\0\n", "'\\x00' in '1:\\x00' is not a finite number"),
    "no label": ("qid:1 1:1\n", "a.txt:1:1: the line starts with 'qid:1'"),
    "no query": ("1 1:1\n", "'1:1' is not a query such as qid:17"),
    "negative id": ("1 qid:1 -1:1\n", "'-1:1' is not '<id>:<value>'"),
    "huge id": (f"1 qid:1 {'9' * 20}:1\n", "is too large; valid ids are 1..10000; --features N allows more"),
    "id 0": ("1 qid:1 0:1\n", "--first-id 0 reads ids that start at 0"),
    "twice": ("1 qid:1 1:1 1:1\n", "each id may occur once"),
    "infinite": ("1 qid:1 1:inf\n", "is not a finite number"),
    "400 letters": (f"1 qid:1 1:{'x' * 400}\n", "feature value 'x~...'"),
    "escape codes": ("1 qid:1 1:\x1b[31m\n", "feature value '\\x1b[31m'"),
    "NULL": (NULLS, "feature 1 is NULL; choose a replacement with --fill"),
    "half a label": (GOOD.replace("1 qid", "0.5 qid", 1), "label 0.5 is not a relevance ~--labels round"),
    "unlabelled": ("-1 qid:1 1:1\n", "--unlabelled zero reads -1 as grade 0"),
    "grade 1001": ("1001 qid:1 1:1\n", "grade (0..1000)"),
    "query again": (GOOD + "0 qid:1 1:1 2:2\n", "the lines of a query must be adjacent"),
    "no-break space": ("1 qid:1\u00a01:1\n", "'qid:1\\xa01:1' contains a blank that is no space or tab"),
    "carriage return": ("1 qid:1 1:1\r2:2\n", "'\\r2:2' is not '<id>:<value>'"),
    "wrong fill": (NULLS, "no fill 'mean'", "--fill", "mean"),
    "fill of ranks": (NULLS, "fill it with 'last', not with 'min'", "--fill", "min", "--dialect", "letor-agg"),
    "labels": (GOOD, "did you mean 'round'", "--labels", "rounded"),
    "first id 7": (GOOD, "first_id must be between 0 and 1, not 7", "--first-id", "7"),
    "features 1e30": (GOOD, "features must be between 1 and 1e", "--features", "1e30"),
    "dialect": (GOOD, "did you mean 'yahoo'", "--dialect", "yaho"),
    "split of a file": (GOOD, "a split or a fold requires a folder", "--split", "train"),
    "dangling link": (lambda path: path.symlink_to("nowhere"), "no such file or folder"),
    "empty folder": (Path.mkdir, "no feature file in this folder"),
}
FACTS = {
    "format": 6, "omits": False, "name": "forged", "grades": 3, "sha256": "0", "lower_is_better": False,
    "feature_names": ["1", "2"],
}  # fmt: skip


def folder(**contents: Content) -> Callable[[Path], None]:
    """Return a function that writes a folder; ``a_txt`` is the file ``a.txt``."""

    def write(path: Path) -> None:
        path.mkdir()
        for name, content in contents.items():
            (path / name.replace("_", ".")).write_bytes(content if isinstance(content, bytes) else content.encode())

    return write


FOLDERS: Table = {  # a folder for `data info a`
    "a query in two parts": (folder(train_txt=GOOD, test_txt=GOOD), "~--split train"),
    "no such part": (folder(train_txt=GOOD), "no 'vali' part in this folder", "--split", "vali"),
    "no folds": (folder(train_txt=GOOD), "there is no fold 2", "--fold", "2"),
    "read in another way": (
        folder(corpus_json=json.dumps(FACTS)), "a folder of the cache is read as it is", "--fill", "3"
    ),
    "another version": (folder(corpus_json=json.dumps(FACTS | {"format": 1})), "made by another version; remove"),
    "forged size": (folder(corpus_json=json.dumps(FACTS), columns_npy=npy((10**6, 10**6))), "damaged (~); remove"),
    "deep nesting": (folder(corpus_json=DEEP), "damaged (~); remove this folder and read the text again"),
}  # fmt: skip
ARCHIVES: Table = {  # an archive for `data fetch imat2009`
    "empty": (b"", "neither zip, tar nor rar"),
    "web page": (b"<html>", "web page"),
    "no features": (zipped(("docs/readme.md", "x")), "c/unpacked: no feature files ~archive of Yandex"),
    "name of 300 characters": (zipped(("x" * 300, GOOD)), "cannot be written: File name too long"),
    "link": (tarred(tarfile.SYMTYPE), "is a link to an absolute path"),
    "device": (tarred(tarfile.CHRTYPE), "is a special file"),
}
THREE = "0.5 0.7 0.8\n0.3 0.5 0.6\n0.2 0.4 0.5\n"
MATRICES: Table = {  # a matrix for `prefs show m`
    "metadata is no JSON": (parquet(metadata=b"{"), "not a preference matrix"),
    "another version": (
        parquet({"format": "ltr_duel.preferences/9"}),
        "another version of this one (ltr_duel.preferences/9)",
    ),
    "one name too few": (parquet({"names": ["a"]}), "'first' must have a row for each pair"),
    "names in another order": (parquet({"names": ["b", "a"]}), "'first' must have a row for each pair"),
    "a name twice": (parquet({"names": ["a", "a"]}, second=["a"]), "2 rankers needs 2 different names"),
    "a name of two lines": (parquet({"names": ["a\nb", "b"]}, first=["a\nb"]), "one line of text, not 'a\\nb'"),
    "provenance is null": (parquet({"provenance": None}), "provenance must be a dict, not None"),
    "p is text": (parquet(p=["0.5"]), "not a preference matrix"),
    "p has a gap": (parquet(p=pa.array([None], pa.float64())), "must be between 0 and 1, not nan"),
    "p is missing": (parquet(p=None), "not a preference matrix ~p"),
    "p is 2": (parquet(p=[2.0]), "p['a', 'b'] must be between 0 and 1, not 2.0"),
    "a fraction of a comparison": (parquet(comparisons=[2.5]), "comparisons must be whole numbers up to"),
    "2^62 comparisons": (parquet(comparisons=[2**62]), "whole numbers up to 9,007,199,254,740,992"),
    "a negative error": (parquet(standard_error=[-1.0]), "standard_error must be symmetric and must not"),
    "counts without squares": (parquet(total=[1]), "not a preference matrix ~square"),
    "impossible counts": (
        parquet(total=[2**62], square=[0], within=[0], comparisons=[10]),
        "the counts are impossible",
    ),
    "Parquet cut short": (parquet()[:-20], "not a preference matrix"),
    "npy of three axes": (saved(np.zeros((2, 2, 2))), "must be square, not of shape (2, 2, 2)"),
    "npy of texts": (saved([["a", "b"], ["c", "d"]]), "p must be real numbers, not <U1"),
    "gzip cut short": (gzip.compress(THREE.encode() * 99)[:-9], "damaged or cut short"),
    "null bytes": ("0.5 \x00\n", "could not convert string to float: '\\x00'"),
    "400 digits": (f"0.5 {'9' * 400}\n0.5 0.5\n", "p['0', '1'] must be between 0 and 1, not inf"),
    "does not add up": ("0.5 0.6\n0.6 0.5\n", "p['0', '1'] + p['1', '0'] must be 1, not 1.2"),
    "another size": ("9\n0.5 0.5\n0.5 0.5\n", "its rows are not of equal length"),
    "a table without numbers": (",a,b\na,0.5\n", "first column must repeat the names of the first row"),
    "nothing": ("", "must be square, not of shape"),
    "a folder": (Path.mkdir, "this is a directory, but a file with a preference matrix is needed"),
    "a link to itself": (lambda path: path.symlink_to(path.name), "no such file"),
}
OUTPUTS: Table = {  # a place for `prefs estimate --out new.csv`
    "a pipe": (os.mkfifo, "it is a folder, a pipe or a device, not a file"),
    "a folder": (Path.mkdir, "it is a folder, a pipe or a device, not a file"),
    "a circle of links": (lambda path: path.symlink_to(path.name), "Too many levels of symbolic links"),
}
PLUGINS: Table = {  # a file for `list policies --plugin mine.py`
    "exits": ("import sys\nsys.exit(3)\n", "mine.py: SystemExit: 3"),
    "raises two lines": ("raise ValueError('boom\\nagain')\n", "mine.py: ValueError: boom\\nagain"),
    "no syntax": ("x = (\n", "mine.py: SyntaxError: '(' was never closed"),
    "registers nothing": ("x = 1\n", "mine.py: registers no component; end it with register(__name__, ...)"),
    "recursion": ("def f(): f()\nf()\n", "mine.py: RecursionError: "),
    "a pipe": (os.mkfifo, "mine.py: there is no such plug-in file"),
    "a taken name": (
        "from ltr_duel.bandits import POLICIES\nPOLICIES.add(POLICIES['rucb'])\n",
        "mine.py: a policy named 'rucb' already exists; choose a different name",
    ),
}


@functools.cache
def sound() -> Path:
    """Return a store of two runs."""
    folder = Path(tempfile.mkdtemp(prefix="ltr-duel-store-")) / "store"
    run_experiment(make_schedule(read_spec("spec.toml", SPEC), jobs=1), folder)
    return folder


def store(kind: str, write: Callable[[Path], Any]) -> Callable[[Path], None]:
    """Return a function that copies the store to a path, and damages its file of a kind."""

    def damage(path: Path) -> None:
        shutil.copytree(sound(), path)
        write(*(path / kind).iterdir())

    return damage


OTHER = PreferenceMatrix(np.array([[0.5, 0.9], [0.1, 0.5]]))
STUDY = "store/studies/~.json: damaged (~'ltr-duel run' with the experiment's file writes it again"
STORES: Table = {  # a store for `results store`
    "an empty study": (store("studies", lambda path: path.write_text("")), STUDY),
    "a study that is a list": (store("studies", lambda path: path.write_text("[1, 2]")), STUDY),
    "a study without groups": (store("studies", lambda path: path.write_text("{}")), STUDY),
    "other runs": (store("runs", lambda path: path.write_text("x")), "no run is done yet"),
    "another matrix": (store("problems", lambda path: save_preferences(OTHER, path)), "missing or damaged;"),
    "a file": ("text", "contains no results of 'ltr-duel run'"),
    "an empty folder": (Path.mkdir, "contains no results of 'ltr-duel run'"),
}
