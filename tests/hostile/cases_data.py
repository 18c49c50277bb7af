"""Hostile corpora, archives and reading options."""

from __future__ import annotations

import gzip
import io
import json
import shlex
import tarfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ltr_duel.data import Dataset, feature_files, load_dataset
from tests.hostile.case import Case, Content

GOOD = "1 qid:1 1:0.5 2:3\n0 qid:1 2:1\n2 qid:2 1:4 2:2\n"
NULLS = GOOD.replace("0.5", "NULL")
FACTS = {
    "format": 5, "omitted": "", "name": "forged", "grades": 3, "sha256": "0", "lower_is_better": False,
    "feature_names": ["1", "2"], "options": {},
}  # fmt: skip
HUGE = b"\x93NUMPY\x01\x00v\x00" + (
    b"{'descr': '<f4', 'fortran_order': True, 'shape': (1000000, 1000000), }".ljust(117) + b"\n"
)
NBSP = "\u00a0"


def read(name: str, content: Content, says: str, options: str = "") -> Case:
    """A feature file that cannot be read."""
    return Case(f"data: {name}", ("data", "info", "a.txt", *shlex.split(options)), files={"a.txt": content}, says=says)


def typed(command: str, says: str, files: dict[str, Content] | None = None) -> Case:
    given = {"a.txt": GOOD, "null.txt": NULLS, "zero.txt": GOOD.replace("1:", "0:"), **(files or {})}
    return Case(f"data: {command}", tuple(shlex.split(command)), files=given, says=says)


def called(name: str, call: Callable[[], Any], says: str, files: dict[str, Content] | None = None) -> Case:
    return Case(f"data, called: {name}", call=call, files={"a.txt": GOOD} | (files or {}), says=says)


def fetched(name: str, archive: Content, says: str, options: str = "") -> Case:
    words = (
        "data",
        "fetch",
        "imat2009",
        "--accept-terms",
        "--archive",
        "given",
        "--folder",
        "c",
        *shlex.split(options),
    )
    return Case(f"fetch: {name}", words, files={"given": archive}, says=says)


def zipped(*members: tuple[str, str]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about duplicate names
        for name, text in members:
            archive.writestr(name, text)
    return data.getvalue()


def tarred(*members: tuple[str, bytes]) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for name, kind in members:
            about = tarfile.TarInfo(name)
            about.type, about.linkname = kind, "/etc/passwd"
            archive.addfile(about)
    return data.getvalue()


def stored(**changes: Any) -> Callable[[Path], None]:
    """Return a function that writes a folder like a corpus of the cache, with forged facts."""

    def write(path: Path) -> None:
        path.mkdir()
        (path / "corpus.json").write_text(json.dumps(FACTS | changes))

    return write


def dataset(**changes: Any) -> Dataset:
    given: dict[str, Any] = {
        "features": np.zeros((2, 1), np.float32),
        "relevance": np.zeros(2, np.int16),
        "query_ptr": np.array([0, 2]),
        "query_ids": np.array(["1"]),
        "doc_ids": None,
        "name": "forged",
        "grades": 2,
        "sha256": "0",
        "feature_names": ("1",),
    }
    return Dataset(**given | changes)


FILES = [
    read("empty", "", "the file is empty"),
    read("only a mark", b"\xef\xbb\xbf", "the file is empty"),
    read("only comments", "# nothing\n\n", "the file has no document"),
    read("no feature", "0 qid:1\n1 qid:1\n", "no line has a feature"),
    read("zip", zipped(("a", "b")), "a zip archive, not text"),
    read("web page", "<!DOCTYPE html><html>", "a web page, not data"),
    read("web page with a mark", b"\xef\xbb\xbf<html>", "a web page, not data"),
    read("cut gzip", gzip.compress(GOOD.encode() * 50)[:-9], "damaged or cut short"),
    read("gzip header only", b"\x1f\x8b", "damaged or cut short"),
    read("NUL", "0 qid:1 1:1\n0 qid:1 1:\0\n", "a NUL byte"),
    read("cut line", GOOD + "1 qid:3 1:4", "the last line has no line end"),
    read("no label", "qid:1 1:1\n", "a.txt:1:1: the line starts with 'qid:1'"),
    read("no query", "1 1:1\n", "'1:1' is not a query such as qid:17"),
    read("negative id", "1 qid:1 -1:1\n", "negative feature id in '-1:1'"),
    read(
        "huge id", "1 qid:1 99999999999999999999:1\n", "is too large; valid ids are 1..10000; --features N allows more"
    ),
    read("id above the declared", GOOD, "valid ids are 1..1;", "--features 1"),
    read("id 0", "1 qid:1 0:1\n", "--first-id 0 reads ids that start at 0"),
    read("twice", "1 qid:1 1:1 1:1\n", "--repeated last uses the last value"),
    read("infinite", "1 qid:1 1:inf\n", "is not a finite number"),
    read("400 letters", f"1 qid:1 1:{'x' * 400}\n", r"feature value 'x+\.\.\.'"),
    read("escape codes", "1 qid:1 1:\x1b[31m\n", r"feature value '\?\[31m'"),
    read("NULL", NULLS, r"feature 1 is NULL; choose a replacement with --fill"),
    read("half a label", GOOD.replace("1 qid", "0.5 qid", 1), "label 0.5 is not a whole number; .*--labels round"),
    read("unlabelled", "-1 qid:1 1:1\n", "--unlabelled zero reads it as grade 0"),
    read("grade 1001", "1001 qid:1 1:1\n", r"grade \(0\.\.1000\)"),
    read("query again", GOOD + "0 qid:1 1:1 2:2\n", "the lines of a query must be adjacent"),
    read("no-break space after the query", f"1 qid:1{NBSP}1:1\n", r"a no-break space \(U\+00A0\) .* not a separator"),
    read("no-break space after a value", f"1 qid:1 1:1{NBSP}2:1\n", r"a no-break space \(U\+00A0\) .* not a separator"),
    read("no-break space in Latin-1", b"1 qid:1\xa01:1\n", r"a no-break space \(U\+00A0\) .* not a separator"),
    read("zero width space", "1 qid:1 1:1\u200b 2:1\n", r"a zero width space \(U\+200B\)"),
    read("form feed", "1 qid:1\f1:1\n", r"a\.txt:1:"),
    read("carriage return inside", "1 qid:1 1:1\r2:2\n", "a carriage return inside the line"),
    read("a fill that does not exist", NULLS, "no fill 'mean'", "--fill mean"),
    read("a fill of infinity", NULLS, "the fill must be a finite number", "--fill inf"),
    read("an empty fill", NULLS, "no fill ''", "--fill ''"),
    read("the wrong fill of ranks", NULLS, "fill it with 'last', not with 'min'", "--fill min --dialect letor-agg"),
    read("labels", GOOD, "did you mean 'round'", "--labels rounded"),
    read("unlabelled option", GOOD, "no way to treat unlabelled documents 'x'", "--unlabelled x"),
    read("repeated option", GOOD, "no way to read repeated features 'first'", "--repeated first"),
    read("first id 7", GOOD, "the id of the first feature must be 0 or 1, not 7", "--first-id 7"),
    read("first id x", GOOD, "'x' is not a whole number", "--first-id x"),
    read("no features", GOOD, "features must be between 1 and 1e.06, not 0", "--features 0"),
    read("features 1e30", GOOD, "features must be between 1 and 1e.06", "--features 1e30"),
    read("features 1.5", GOOD, "'1.5' is not a whole number", "--features 1.5"),
    read("dialect", GOOD, "did you mean 'yahoo'", "--dialect yaho"),
    read("split of a file", GOOD, "a split or a fold requires a folder", "--split train"),
    read("no such split", GOOD, "no split 'x'", "--split x"),
    read("fold of a file", GOOD, "a split or a fold requires a folder", "--fold 1"),
    read("dangling link", lambda path: path.symlink_to("nowhere"), "no such file or folder"),
    read("link to itself", lambda path: path.symlink_to(path.name), "Too many levels of symbolic links"),
    read("empty folder", Path.mkdir, "no feature file in this folder"),
]
COMMANDS = [
    typed("data info nowhere", "nowhere: there is no such file or folder"),
    typed(f"data info {'x' * 300}", "File name too long"),
    typed("data info /dev/null", "/dev/null: this is neither a file nor a folder"),
    typed("data fetch mq2008", "run this again with --accept-terms"),
    typed("data fetch mq2008 --accept-terms --archive nowhere --folder c", "nowhere: there is no such file"),
    typed("data fetch imat2009 --accept-terms --archive a.txt --folder a.txt", "a.txt: this is a file, but a folder"),
    typed("data fetch imat2009 --accept-terms --archive a.txt --folder c --labels x", "no way to read labels 'x'"),
    typed("prefs estimate null.txt --out o.parquet", "feature 1 is NULL; .*--fill"),
    typed("prefs estimate null.txt --out o.parquet --fill x", "no fill 'x'"),
    typed("prefs estimate zero.txt --out o.parquet", "--first-id 0"),
    typed("rankers evaluate null.txt", "feature 1 is NULL; .*--fill"),
    typed("sensitivity null.txt --fold 1", "a split or a fold requires a folder"),
    typed("simulate --live null.txt --policy rucb --out o", "feature 1 is NULL; .*--fill"),
    typed("simulate m.csv --policy rucb --fill 0 --out o", "require --live"),
    typed("demo --data null.txt --out o", "feature 1 is NULL; .*--fill"),
    typed("demo --fill 0 --out o", "require --data"),
    typed("rankers evaluate qrels:a.txt --rankers run:r --labels round", "judgements are not feature files"),
    typed("data info d", "is in two|appears again, .*--split train", {"d/train.txt": GOOD, "d/test.txt": GOOD}),
    typed("data info d --fold 2", "there is no fold 2", {"d/train.txt": GOOD}),
    typed("data info d --split vali", "no 'vali' part in this folder", {"d/train.txt": GOOD}),
    typed("data info c --fill 3", "this corpus was read with no options, not with fill 3.0", {"c": stored()}),
    typed("data info c7", "made by another version .format 1.", {"c7": stored(format=1)}),
    typed("data info c5", "a file is missing or damaged", {"c5": stored(), "c5/features.npy": HUGE}),
    typed("data info c6", "a file is missing or damaged", {"c6": stored(), "c6/features.npy": b""}),
    typed("data info c3", "cannot be read; remove this folder and read the text again", {"c3/corpus.json": "[]"}),
    typed("data info c4", "cannot be read; remove this folder and read the text again", {"c4/corpus.json": "null"}),
]
ARCHIVES = [
    fetched("nothing in it", zipped(), "the archive is empty|damaged"),
    fetched("empty", b"", "neither zip, tar nor rar"),
    fetched("another thing", b"\x89PNG", "neither zip, tar nor rar"),
    fetched("web page", b"<html>", "web page"),
    fetched(
        "no features", zipped(("docs/readme.md", "x")), "given: no feature files found; is this the archive of Yandex"
    ),
    fetched("name of 300 characters", zipped(("x" * 300, GOOD)), "cannot be written: File name too long"),
    fetched("link", tarred(("a.txt", tarfile.SYMTYPE)), "is a link to an absolute path"),
    fetched("device", tarred(("a.txt", tarfile.CHRTYPE)), "is a special file"),
    fetched("gzip of no text", gzip.compress(b"\x89PNG" * 999), "neither zip, tar nor rar"),
]
CALLS = [
    called("options", lambda: load_dataset("a.txt", repeated="x"), "no way to read repeated features 'x'"),
    called("first id", lambda: load_dataset("a.txt", first_id=-1), "must be 0 or 1, not -1"),
    called("nothing there", lambda: load_dataset("b.txt"), "b.txt: there is no such file or folder"),
    called("long name", lambda: load_dataset("x" * 300), "File name too long"),
    called("a device", lambda: feature_files(Path("/dev/zero")), "neither a file nor a folder"),
    called("no grades left", lambda: load_dataset("a.txt", grades=2), r"grades 0\.\.2 do not fit in 0\.\.1"),
    called("jobs", lambda: load_dataset("a.txt", jobs=0), "."),
    called("names", lambda: load_dataset("a.txt", feature_names=["x"]), "1 names for 2 features"),
    called("no documents", lambda: dataset(features=np.zeros((0, 1), np.float32)), "the corpus has no query"),
    called("rows", lambda: dataset(relevance=np.zeros(3, np.int16)), "one entry for each document"),
    called("first rows", lambda: dataset(query_ptr=np.array([1, 2])), "must increase from 0"),
    called("negative grades", lambda: dataset(relevance=np.array([-1, 0], np.int16)), r"grades -1\.\.0 do not fit"),
]
CASES = [*FILES, *COMMANDS, *ARCHIVES, *CALLS]
