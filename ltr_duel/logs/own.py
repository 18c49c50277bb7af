"""The one-table format: create the relation ``log`` of an engine from text or Parquet files of impressions."""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from ltr_duel.core import InputError
from ltr_duel.logs.columns import require_columns, require_context, typed
from ltr_duel.logs.engine import Engine, named, quoted
from ltr_duel.logs.files import Files, open_text
from ltr_duel.logs.table import LOG_COLUMNS

_NO_OBJECT = """CASE WHEN fault IS NOT NULL THEN fault WHEN NOT json_valid(text) THEN '"not valid JSON, or truncated"'
    WHEN json_type(text) <> 'OBJECT' THEN '"not a JSON object with the columns as keys"' END"""
_LONGEST = 1 << 24  # maximum number of characters in a line
_ROWS = 1 << 14
_SCHEMA = pa.schema({"line": pa.int64(), "text": pa.string(), "fault": pa.string()})


def create_log(engine: Engine, paths: tuple[Path, ...], kind: str, context: tuple[str, ...]) -> tuple[Files, list[str]]:
    """Create the relation ``log`` from files; return the files with their numbers of lines, and the omitted columns."""
    columns = (*LOG_COLUMNS, *context)
    if kind == "parquet":
        rows, before = parquet_rows(engine, paths)
        kinds = [row["column_name"] for row in engine.rows(f"DESCRIBE {rows}") if row["column_name"] != "ltr_line"]
        require_columns(paths[0], kinds, "log")
        require_context(paths[0], kinds, context)
        chosen = [
            named(name) if name in LOG_COLUMNS else f"{named(name)}::VARCHAR AS {named(name)}" for name in columns
        ]
        own = [one for name, one in zip(columns, chosen, strict=True) if name in kinds]
        raw = f"SELECT {', '.join(own)}, ltr_line AS line FROM ({rows})"
        engine.execute(f"CREATE VIEW log AS {typed(engine, raw)}")
        return Files(paths, before), [name for name in kinds if name not in columns]
    before = load_lines(engine, paths, kind)
    structure = quoted(json.dumps(dict.fromkeys(columns, "JSON" if kind == "jsonl" else "VARCHAR")))
    given = f"unnest(from_json(CASE WHEN json_valid(text) THEN text END, {structure}))"
    raw = f"SELECT line, {_NO_OBJECT} AS fault, {given} FROM lines"
    engine.execute(f"CREATE TABLE log AS {typed(engine, raw)}")
    keys = "SELECT line, unnest(json_keys(CASE WHEN json_valid(text) THEN text END)) AS key FROM lines"
    met = engine.rows(f"SELECT key FROM ({keys}) GROUP BY key ORDER BY min(line), key")
    engine.drop("lines")
    if met and kind == "jsonl":  # for CSV, the header line was checked before
        require_columns(paths[0], [row["key"] for row in met], "log")
    if met and context:
        have = [row["key"] for row in met]
        if kind == "csv":  # a column may be empty
            with open_text(paths[0]) as file:
                have = next(csv.reader(file))
        require_context(paths[0], have, context)
    return Files(paths, before), [row["key"] for row in met if row["key"] not in columns]


def parquet_rows(engine: Engine, paths: tuple[Path | str, ...]) -> tuple[str, tuple[int, ...]]:
    """Return the SQL of the rows of Parquet files with ``ltr_line``, and the number of lines before each file."""
    names = f"[{', '.join(quoted(str(one)) for one in paths)}]"
    sizes = {
        row["file_name"]: row["num_rows"]
        for row in engine.rows(f"SELECT file_name, num_rows FROM parquet_file_metadata({names})")
    }
    before = (0, *accumulate(sizes[str(one)] for one in paths[:-1]))
    earlier = f"{list(before)}[file_index::BIGINT + 1]" if len(paths) > 1 else "0"
    union = ", union_by_name = true" * (len(paths) > 1)
    line = f"(file_row_number + 1 + {earlier})::BIGINT AS ltr_line"
    read = f"read_parquet({names}, file_row_number = true{union})"
    return f"SELECT * EXCLUDE (file_row_number), {line} FROM {read}", before


def load_lines(engine: Engine, paths: tuple[Path, ...], kind: str) -> tuple[int, ...]:
    """Create a table ``lines`` (line, text, fault as JSON), and return the number of lines before each file."""
    before, last = [], 0
    engine.insert("lines", _SCHEMA.empty_table(), new=True)
    for path in paths:
        before.append(last)
        rows = _rows_of_csv(path) if kind == "csv" else _rows_of(path)
        while some := list(islice(rows, _ROWS)):
            numbers, texts, faults = zip(*some, strict=True)
            lines = [before[-1] + number for number in numbers]
            engine.insert("lines", pa.table([lines, texts, faults], schema=_SCHEMA))
            last = lines[-1]
    return tuple(before)


def _whole(path: Path, lines: Iterable[Any]) -> Iterator[Any]:
    """Yield the lines; raise `InputError` if the file is truncated or not UTF-8 text."""
    try:
        yield from lines
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise InputError(f"{path}: the compressed file is truncated or damaged") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8 text") from None


def _rows_of(path: Path) -> Iterator[tuple[int, str | None, str | None]]:
    with open_text(path) as file:
        for number, line in enumerate(_whole(path, iter(lambda: file.readline(_LONGEST), "")), 1):
            if len(line) >= _LONGEST:
                raise InputError(f"{path}:{number}: a line of more than {_LONGEST:,} characters")
            if line.strip():
                yield number, line.rstrip("\r\n"), None


def _with_long_fields(reader: Iterator[list[str]]) -> Iterator[list[str]]:
    """Yield the rows of a CSV reader; the limit of a field, which is one for the whole process, is raised meanwhile."""
    row: list[str] | None = []
    while row is not None:
        usual = csv.field_size_limit(_LONGEST)
        try:
            row = next(reader, None)
        finally:
            csv.field_size_limit(usual)
        if row is not None:
            yield row


def _rows_of_csv(path: Path) -> Iterator[tuple[int, str | None, str | None]]:
    with open_text(path) as file:
        reader = csv.reader(file, strict=True)
        rows = _whole(path, _with_long_fields(reader))
        try:
            head: list[str] = next(rows, [])
            if not head or len(set(head)) < len(head):
                raise InputError(f"{path}:1: the first line of a CSV log must contain each column name once")
            require_columns(path, head, "log")
            for cells in rows:
                if len(cells) == len(head):
                    given = {name: cell for name, cell in zip(head, cells, strict=True) if cell}
                    yield reader.line_num, json.dumps(given), None
                else:
                    fault = f"{len(cells)} cells, but the first line has {len(head)} columns"
                    yield reader.line_num, None, json.dumps(fault)
        except csv.Error as error:
            raise InputError(f"{path}:{reader.line_num}: not a complete CSV row ({error})") from None
