"""Files that are not feature text: their recognition, and the commands that read them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ltr_duel.core import InputError, texts

_READ = "load_dataset and the commands that load a corpus read it as a table"
_OTHERS = {
    b"ARROW1": ("an Arrow file", _READ),
    b"PAR1": ("a Parquet file", _READ),
    b"SQLite format 3": ("a database", "a live experiment is read by 'ltr-duel live check' and 'live export'"),
    b'{"': ("JSON", "a click log is read by 'ltr-duel logs check' and 'logs compare'"),
}
_TABLES = {  # keyed by the columns that identify a table
    ("impression", "query"): "a click log: 'ltr-duel logs check' and 'logs compare' read it",
    ("first", "second", "p"): "a preference matrix: 'ltr-duel prefs show' and 'simulate' read it",
    ("policy", "repetition"): "results of a simulation, a table that pandas.read_parquet reads",
    ("query", "document"): "a table of scores: give it as --rankers scores:FILE, in addition to a corpus",
}


def parquet_words(path: Path) -> str:
    """Describe a Parquet file by its columns, and name the command that reads it, if there is one."""
    from pyarrow import ArrowException, parquet

    try:
        return table_words(parquet.read_schema(path).names)
    except (OSError, ArrowException):
        return "damaged"


def table_words(columns: Sequence[str]) -> str:
    """Describe a table by its columns, and name the command that reads it, if there is one."""
    known = (words for needed, words in _TABLES.items() if set(needed) <= set(columns))
    return next(known, f"a table of {', '.join(map(str, columns[:8]))}{', ...' * (len(columns) > 8)}")


def refuse_web_page(path: Path, head: bytes) -> None:
    """Raise `InputError` for an HTML page, which a failed download often stores under the name of the file."""
    if head.removeprefix(texts.BYTE_ORDER_MARK).lstrip().lower().startswith((b"<!doctype", b"<html", b"<?xml")):
        raise InputError(f"{path}: this is a web page, not data; the download failed, repeat it")


def refuse_other_formats(path: Path, head: bytes) -> None:
    """Raise `InputError` if a file does not begin like feature text; the message says what to do with the file."""
    if not head:
        raise InputError(f"{path}: the file is empty; a feature file has lines such as '0 qid:1 1:0.5 2:3'")
    for magic, (what, advice) in _OTHERS.items():
        if head.startswith(magic):
            raise InputError(f"{path}: this is {what}, not feature text; {advice}")
    refuse_web_page(path, head)
