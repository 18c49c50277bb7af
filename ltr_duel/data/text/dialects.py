"""The dialects (formats) of feature files, and how the dialect of a file is recognised."""

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
    """The format of the files of some corpora."""

    name: str
    form: str  # a description
    query: int = IN_TOKEN  # where the query of a line stands
    features: int | None = None  # number of columns, if it is the same in all files of the dialect
    lower_is_better: bool = False  # whether values are ranks


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
_RANK = re.compile(rb"\d+:(NULL|\d+(\.0*)?)")


def dialect_named(name: str) -> Dialect:
    """Return the dialect with a name."""
    errors.require_one_of("dialect", name, DIALECTS)
    return DIALECTS[name]


def recognise_dialect(file: Path) -> Dialect:
    """Return the dialect of a file, as recognised from its first document."""
    for text in read_chunks(file, lambda: 2**16):
        for line in text.tobytes().splitlines():
            body, _, comment = line.partition(b"#")
            if words := body.split()[1:]:
                return DIALECTS[_dialect_of(words, comment, file)]
    return DIALECTS["svmlight"]  # the file has only comments, or a line is too long: the reader reports it


def _dialect_of(words: list[bytes], comment: bytes, file: Path) -> str:
    query, *values = words
    if not query.startswith(b"qid:"):
        return "lightgbm" if sidecar_of(file) else "svmlight"
    if comment.lstrip().startswith(b"docid"):
        return "letor-agg" if len(values) in RANK_LISTS and all(map(_RANK.fullmatch, values)) else "letor"
    return "mslr" if len(values) == 136 and values[-1].startswith(b"136:") else "svmlight"


def sidecar_of(file: Path) -> Path | None:
    """Return the file with the sizes of queries: ``x.query`` or ``x.group``, beside ``x``, ``x.txt`` or ``x.gz``."""
    plain = re.sub(r"\.(gz|bz2|xz)$", "", file.name)
    for name in (f"{stem}.{kind}" for kind in ("query", "group") for stem in (plain, plain.removesuffix(".txt"))):
        sidecar = file.parent / name
        with suppress(OSError):  # the name with the suffix may be too long
            if sidecar.is_file():
                return sidecar
    return None


def read_sidecar(file: Path) -> list[int]:
    """Read the number of documents of each query from the file ``.query`` or ``.group`` beside a feature file."""
    sidecar = sidecar_of(file)
    if sidecar is None:
        raise InputError(f"{file}: lines have no query, and there is no {file.name}.query or .group with their sizes")
    with files.reading(sidecar, "a file with sizes of queries") as raw:
        lines = [line.strip() for line in texts.unpacked(sidecar, raw)]
    for number, word in enumerate(lines, start=1):
        if word and not (word.isdigit() and int(word) > 0):
            size = texts.decoded(word[:40])
            raise InputError(f"{sidecar}:{number}: '{size}' is not the size of a query (1, 2, ...)")
    return [int(word) for word in lines if word]
