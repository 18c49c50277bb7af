"""Dialects of feature files: a table of the differences between corpora, and the recognition of a file's dialect."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ltr_duel.core import InputError, errors, files, texts
from ltr_duel.data.feature_names import RANK_LISTS
from ltr_duel.data.text.chunks import read_chunks
from ltr_duel.data.text.scan import IN_COMMENT, IN_SIDECAR, IN_TOKEN


class Dialect(NamedTuple):
    """The format of one family of files."""

    name: str
    about: str
    query: int = IN_TOKEN  # where the query stands
    features: int | None = None  # number of columns, if it is the same in all files of the dialect
    lower_is_better: bool = False  # values are ranks


DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect("svmlight", "any line with qid:, dense or sparse, ids in any order"),
        Dialect("letor", "LETOR 3.0 and 4.0: dense, '#docid = ...' in the comment, NULL in some versions"),
        Dialect("letor-agg", "LETOR rank lists: a value is a rank, NULL: not retrieved", lower_is_better=True),
        Dialect("mslr", "MSLR-WEB10K and 30K: dense, 136 features", features=136),
        Dialect("yahoo", "Yahoo LTRC: sparse, ids up to 700", features=700),
        Dialect("imat2009", "Yandex IMAT2009: sparse, the query in the comment", IN_COMMENT, features=245),
        Dialect("istella", "Istella: 220 features", features=220),
        Dialect("lightgbm", "no query on the line, sizes of the queries in a file .query or .group", IN_SIDECAR),
    )
}

_IMAT2009 = re.compile(rb"\s*-?\d(?:\.\d+)?(?:\s+(\d{1,3}):[^\s#]+)+\s*#\s*(\d+)\s*")  # label, last id, query
_RANK = re.compile(rb"\d+:(NULL|\d+(\.0*)?)")


def dialect_named(name: str) -> Dialect:
    """Return a dialect by its name; an unknown name raises `InputError` with the valid names."""
    errors.require_one_of("dialect", name, DIALECTS)
    return DIALECTS[name]


def recognise_dialect(file: Path) -> Dialect:
    """Return a file's dialect, recognised from its first lines."""
    for text in read_chunks(file, lambda: 2**16):
        lines = text.tobytes().splitlines()
        if documents := [line for line in lines if line.strip() and not line.lstrip().startswith(b"#")]:
            return _of_lines(documents, file)
    return DIALECTS["svmlight"]  # only comments, or a line that is too long; the reader reports it


def _of_lines(lines: list[bytes], file: Path) -> Dialect:
    body, _, comment = lines[0].partition(b"#")
    words = body.split()[1:]
    if not any(word.startswith(b"qid:") for word in words):
        if sidecar_of(file):
            return DIALECTS["lightgbm"]
        return DIALECTS["imat2009" if _is_imat2009(lines) else "svmlight"]
    values = words[1:]
    if comment.lstrip().startswith(b"docid"):
        ranks = len(values) in RANK_LISTS and all(map(_RANK.fullmatch, values))
        return DIALECTS["letor-agg" if ranks else "letor"]
    mslr = len(values) == DIALECTS["mslr"].features and values[-1].startswith(b"136:")
    return DIALECTS["mslr" if mslr else "svmlight"]


def _is_imat2009(lines: list[bytes]) -> bool:
    """Return whether every line has the form of IMAT2009, and a query has several documents.

    Otherwise, the comments may be the ids of the documents.
    """
    found = [match for line in lines if (match := _IMAT2009.fullmatch(line))]
    queries = [match[2] for match in found]
    most = DIALECTS["imat2009"].features
    return len(found) == len(lines) > len(set(queries)) and all(int(match[1]) <= (most or 0) for match in found)


def sidecar_of(file: Path) -> Path | None:
    """Return the file with the sizes of the queries: ``x.query`` or ``x.group`` beside ``x``, ``x.txt`` or ``x.gz``."""
    plain = file.name.removesuffix(".gz").removesuffix(".bz2").removesuffix(".xz")
    for name in (f"{stem}.{kind}" for kind in ("query", "group") for stem in (plain, plain.removesuffix(".txt"))):
        sidecar = file.parent / name
        with suppress(OSError):  # the name with the suffix may be too long
            if sidecar.is_file():
                return sidecar
    return None


def read_sidecar(file: Path) -> list[int]:
    """Return the sizes of the queries of a feature file."""
    sidecar = sidecar_of(file)
    if sidecar is None:
        raise InputError(
            f"{file}: lines have no query, and there is no file {file.name}.query or .group with their sizes"
        )
    sizes = []
    with files.reading(sidecar, "a file with sizes of queries") as raw:
        for number, line in enumerate(texts.unpacked(sidecar, raw), start=1):
            word = line.strip()
            if word:
                if not word.isdigit() or int(word) < 1:
                    shown = texts.decoded(word[:40])
                    raise InputError(f"{sidecar}:{number}: '{shown}' is not the size of a query (1, 2, ...)")
                sizes.append(int(word))
    return sizes
