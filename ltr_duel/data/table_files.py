"""Read a table of documents from a file: Parquet, Arrow, or text in columns with a header."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

from ltr_duel.core import InputError, files, texts
from ltr_duel.data.dataset import Dataset
from ltr_duel.data.tables import column_of_role, from_frame, table_words
from ltr_duel.data.text.options import ReadOptions

_TEXT_ONLY = ("dialect", "features", "first_id")  # options


def is_table(path: Path) -> bool:
    """Return whether a file is a table: Parquet, Arrow, or text in columns with a header, but not feature text."""
    try:
        with files.reading(path, "a corpus") as raw:
            if raw.peek(6)[:6].startswith((b"PAR1", b"ARROW1")):
                return True
            first = texts.unpacked(path, raw).peek(2**12).split(b"\n")[0]
    except (InputError, OSError):
        return False  # the reader of text reports it
    is_text = b"qid:" in first or first.lstrip()[:1].isdigit() or first.startswith((b"#", b"<"))
    has_header = b"," in first and first[:1].isalpha() and not set(b":#{") & set(first)
    return not is_text and (bool(re.search(r"\.[ct]sv(\.gz|\.bz2|\.xz)?$", path.name.lower())) or has_header)


def read_table(path: Path, options: ReadOptions, name: str) -> Dataset:
    """Read a table as a corpus; the columns are recognised by their names, and queries need not be adjacent."""
    if given := [option for option in _TEXT_ONLY if option in options.chosen]:
        raise InputError(f"{path}: this is a table; {given[0]} applies to feature text only")
    frame = _arrow_table(path)
    query, label, document = (
        column_of_role(str(path), role, frame.column_names) for role in ("query", "label", "document")
    )
    try:
        return from_frame(
            frame, query=query, label=label, document=document, options=options, name=name, group=True
        )  # fmt: skip
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def parquet_words(path: Path) -> str:
    """Describe a Parquet file by its columns, and name the command that reads it, if there is one."""
    from pyarrow import ArrowException, parquet

    try:
        return table_words(parquet.read_schema(path).names)
    except (OSError, ArrowException):
        return "damaged"


def _arrow_table(path: Path) -> Any:
    """Read a file as an Arrow table; columns of ids stay text."""
    import pyarrow as pa
    from pyarrow import csv, ipc, parquet

    with path.open("rb") as raw:
        head = raw.peek(6)[:6]
    try:
        if head.startswith(b"PAR1"):
            return parquet.read_table(path)
        if head.startswith(b"ARROW1"):
            return ipc.open_file(pa.memory_map(str(path))).read_all()
        with files.reading(path, "a table") as raw:
            data: bytes = texts.unpacked(path, raw).read()
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            data = "".join(map(texts.decoded, data.splitlines(keepends=True))).encode()
        first = data.split(b"\n", 1)[0] + b"\n"
        parse = csv.ParseOptions(delimiter=max("\t,;", key=first.decode().count))
        names = csv.read_csv(io.BytesIO(first), parse_options=parse).column_names
        ids = {column_of_role(str(path), role, names) for role in ("query", "document")} - {None}
        types = dict.fromkeys(ids, pa.string())

        def read() -> Any:
            convert = csv.ConvertOptions(column_types=types, strings_can_be_null=False)
            return csv.read_csv(io.BytesIO(data), None, parse, convert)

        table = read()
        if re.search(rb"0[xX]", data):  # Arrow reads 0x10 as a whole number, but not as a double
            types |= {field.name: pa.float64() for field in table.schema if pa.types.is_integer(field.type)}
            table = read()
    except pa.ArrowException as error:
        raise InputError(f"{path}: the table cannot be read ({str(error).splitlines()[0]})") from None
    return table
