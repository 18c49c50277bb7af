"""Read the files of a log. A mapping says which columns of the files are the columns of a log.

A mapping is a TOML file with the sections ``[exposures]`` and ``[events]``. Exposures are the lists that users saw, and
events are users' actions, such as clicks. Each line of a section maps a column of a log to a column of the file, or to
an SQL expression. The key ``where`` has an SQL condition, and only rows that meet this condition are read.
docs/log_formats.md has examples.
"""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ltr_duel.core import InputError, errors
from ltr_duel.logs.columns import LOG, require_columns, typed
from ltr_duel.logs.engine import Engine, Relation, named, quoted
from ltr_duel.logs.files import (
    ADDED,
    FileRows,
    Position,
    csv_rows,
    files_of,
    format_of,
    json_rows,
    parquet_rows,
    text_rows,
)
from ltr_duel.logs.table import EVENT, EXPOSURE, LOG_COLUMNS

_IDS = {"impression", "user", "query", "item", "kind", "shown", "rankers"}  # columns that stay text
_ITEM = ("item", "position", "owner")  # columns of exposures with one row per item
_COLUMNS = {"log": tuple(LOG_COLUMNS), "exposures": (*EXPOSURE, *_ITEM), "events": tuple(EVENT)}
_SETTINGS = ("file", "table", "where")
_SESSION = ": one impression is one list; is its key a session, or a user?"
_LONGEST = 300  # maximum number of characters of an engine's message
NO_OBJECT = """CASE WHEN NOT json_valid(text) THEN 'not valid JSON, or truncated'
  WHEN json_type(text) <> 'OBJECT' THEN 'not a JSON object with the columns as keys' END"""


def sections_of(path: Path) -> dict[str, Any]:
    """Read the sections of a mapping, and check the names of the columns in them."""
    try:
        sections = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path}: not a mapping: {error}") from None
    for part, section in sections.items():
        if part not in ("exposures", "events"):
            raise InputError(f"{path}: {errors.unknown_name('section', part, ('exposures', 'events'))}")
        legal = (*_COLUMNS[part], *_SETTINGS)
        for key, value in section.items():
            if (part, key) == ("exposures", "clicks"):
                how = "map 'impression' and 'position' in [events] instead (for a column of lists, position ="
                raise InputError(f"{path}: [exposures] maps 'clicks'; {how} \"unnest({value})\")")
            # the section [exposures] may also map columns that a log does not have
            if key not in legal and (part == "events" or difflib.get_close_matches(key, legal)):
                raise InputError(f"{path}: [{part}]: {errors.unknown_name('column of a log', key, legal)}")
            names = key == "rankers" and isinstance(value, list) and all(isinstance(name, str) for name in value)
            if not isinstance(value, str) and not names:
                raise InputError(f"{path}: [{part}] {key} must be an expression in quotes, not {value}")
    return sections


def source_of(path: Path, *, table: bool) -> str:
    """Return the name of the exposures' file in a mapping. With ``table``, return the name of a table instead."""
    key = "table" if table else "file"
    source = sections_of(path).get("exposures", {}).get(key)
    if not source:
        raise InputError(f"{path}: give a LOG, or map the source of the exposures: {key} = '...' in [exposures]")
    return str(source)


class Part:
    """A part of a log (exposures, events, or both in one table), with its file and its mapping."""

    def __init__(
        self, name: str, source: str, context: Collection[str] = (), mapping: Path | None = None, format: str = ""
    ) -> None:
        section = sections_of(mapping).get(name, {}) if mapping else {}
        self.name, self.context, self.mapping, self.format = name, context, mapping, format
        self.file, self.table = section.get("file", source), section.get("table", source)
        self.where = section.get("where", "")
        self.mapped = {key: value for key, value in section.items() if key in (*_COLUMNS[name], *context)}
        self.strange: Sequence[str] = [key for key in section if key not in (*self.mapped, *_SETTINGS)]  # not read

    def columns_in(self, have: Sequence[str]) -> dict[str, Any]:
        """Return an SQL expression for each column of the log, given the columns of the file."""
        have = [column for column in have if column not in ADDED]
        if self.mapped:  # columns may have names that are SQL keywords
            plain = {
                key: named(value) for key, value in self.mapped.items() if isinstance(value, str) and value in have
            }
            columns = {column: named(column) for column in self.context if column in have} | self.mapped | plain
            require_columns("the section", list(columns), self.name)
            return columns
        require_columns(self.file, have, self.name, self.context if self.name == "log" else ())
        legal = [column for column in _COLUMNS[self.name] if self.name != "exposures" or column not in _ITEM]
        self.strange = (
            [column for column in have if column not in (*legal, *self.context)] if self.name == "log" else []
        )
        return {column: named(column) for column in have if column in (*legal, *self.context)}

    @contextmanager
    def located(self) -> Iterator[None]:
        """Add the names of the mapping and of the file to the message if the ``with`` block raises an error."""
        try:
            yield
        except Exception as error:  # each backend has its own exceptions
            at = "" if self.mapping is None else f"{self.mapping}: [{self.name}]: "
            lines = [line.strip() for line in str(error).splitlines()]  # the error shows a part of the query
            text = " ".join(line for line in lines if line.strip("^"))[:_LONGEST]
            reason = "" if isinstance(error, InputError) else f"{self.file} cannot be read as {self.name}: "
            raise InputError(errors.in_one_line(f"{at}{reason}{text}")) from None


def select(columns: dict[str, Any], where: str, source: str) -> str:
    """Return the SQL that selects the mapped columns of a source."""
    chosen = []
    for name, value in columns.items():
        names = f"ARRAY[{', '.join(map(quoted, value))}]" if isinstance(value, list) else value  # Postgres has ARRAY
        chosen.append(f"{names} AS {named(name)}")
    return f"SELECT {', '.join(chosen) or '*'} FROM {source}{f' WHERE {where}' * bool(where)}"


def read(engine: Engine, part: Part) -> tuple[Relation, Callable[[int], Position]]:
    """Read a part of a log as a relation. Also return a function that finds the file and line of a row.

    The column ``origin`` has the number of the row in the files. A mapping may turn one row of a file into several
    rows, and the column ``line`` numbers these rows.
    """
    with part.located():
        paths = files_of(part.file)
        kind = part.format or format_of(paths)
    by_item = part.name == "exposures" and bool({"item", "owner"} & set(part.mapped))
    if kind == "jsonl" and not part.mapped:
        files, sql = _json_lines(engine, part, paths)
    else:
        with part.located():
            files = _rows(engine, part, kind, paths)
            have = [row["column_name"] for row in engine.raw_rows(f"DESCRIBE {files.sql}")]
            columns = part.columns_in(have)
            sql = select(columns | {"origin": "ltr_line"}, part.where, f"({files.sql})")
            engine.raw_rows(f"DESCRIBE {sql}")
        sql = _by_impression(columns, sql, files.header) if by_item else sql
    line = "origin" if kind == "parquet" or by_item or not part.mapped else "row_number() OVER ()"
    sql = f"SELECT *, {line} AS line FROM ({typed(engine, sql, EVENT if part.name == 'events' else LOG)})"
    relation = engine.create(part.name, sql, "VIEW" if kind == "parquet" and not by_item else "TABLE")

    def find(origin: int) -> Position:
        at = files.find(engine, origin)
        return Position(at.file, f"impression that begins in line {at.row}") if by_item else at

    return relation, find


def _rows(engine: Engine, part: Part, kind: str, paths: Sequence[Path]) -> FileRows:
    if kind == "csv":
        return csv_rows(paths)
    if kind == "parquet":
        return parquet_rows(engine, paths)
    owner = "owner" if part.name == "events" else ""  # in exposures, it may be a position in the list of rankers
    texts = [value for key, value in part.mapped.items() if key in (*_IDS, owner, *part.context)]
    return json_rows(engine, paths, [value for value in texts if isinstance(value, str)])


def _json_lines(engine: Engine, part: Part, paths: Sequence[Path]) -> tuple[FileRows, str]:
    files = create_lines(engine, paths)
    keys = "SELECT line, unnest(json_keys(CASE WHEN json_valid(text) THEN text END)) AS key FROM lines"
    have = engine.query(f"SELECT key FROM ({keys}) GROUP BY key ORDER BY min(line), key")["key"].to_pylist()
    columns = part.columns_in(have) if have else _COLUMNS[part.name]
    structure = quoted(json.dumps(dict.fromkeys(columns, "JSON")))
    values = f"unnest(from_json(CASE WHEN json_valid(text) THEN text END, {structure}))"
    return files, f"SELECT line AS origin, {NO_OBJECT} AS fault, {values} FROM lines"


def create_lines(engine: Engine, paths: Sequence[Path]) -> FileRows:
    """Create the table ``lines``, with a row for each line of the files: ``line`` (the number) and ``text``."""
    files = text_rows(paths)
    engine.create(
        "lines", f"SELECT ltr_line AS line, text FROM ({files.sql}) WHERE trim(text) <> ''", "OR REPLACE TABLE"
    )
    return files


def _by_impression(columns: dict[str, Any], rows: str, header: int) -> str:
    # one row for each impression, with the time of the first row; repeated rows of an item count once, and rows that
    # contradict each other are a fault; header: number of lines of a file before its first row
    place = "try_cast(position::VARCHAR AS DOUBLE)" if "position" in columns else "origin"
    item = "item" if "item" in columns else "position"
    once = (
        f"SELECT *, {place} AS ltr_place, row_number() OVER same_item AS turn,"
        f" {_conflicts(columns, place, item, header)} AS conflict FROM ({rows})"
        f" WINDOW same_item AS (PARTITION BY impression, {item} ORDER BY origin)"
        f", same_place AS (PARTITION BY impression, {place} ORDER BY origin)"
    )
    chosen = [
        f"list({name} ORDER BY ltr_place, origin) FILTER (turn = 1 AND {item} IS NOT NULL) AS {column}"
        for name, column in (("item", "shown"), ("owner", "owners"))
        if name in columns
    ]
    rest = [name for name in columns if name not in ("impression", *_ITEM)]
    chosen += [f"arg_min({named(name)}, origin) AS {named(name)}" for name in rest]
    faults = [
        f"WHEN count(DISTINCT {named(name)}) > 1 THEN {quoted(f'the rows of its items differ in {name!r}')}"
        for name in rest
        if name != "time"  # each item may have its own time
    ]
    faults.append("WHEN count(conflict) > 0 THEN arg_min(conflict, origin)")
    chosen.append(f"CASE {' '.join(faults)} END AS fault")
    return f"SELECT impression, {', '.join(chosen)}, min(origin) AS origin FROM ({once}) GROUP BY impression"


def _conflicts(columns: dict[str, Any], place: str, item: str, header: int) -> str:
    cases = []

    def differ(value: str, window: str, sentence: str) -> None:
        first = f"first_value({value}) OVER {window}"
        lines = f"' (lines ' || (first_value(origin) OVER {window} + {header}) || ' and ' || (origin + {header}) || ')'"
        both = ", ".join(f"coalesce({each}::VARCHAR, 'none')" for each in (first, value))
        words = f"printf({quoted(sentence)}, {item}::VARCHAR, {both})"
        cases.append(f"WHEN {value} IS DISTINCT FROM {first} THEN {words} || {lines} || {quoted(_SESSION)}")

    if "position" in columns:
        number = f"position::VARCHAR <> '' AND coalesce({place} <> floor({place}), true)"
        cases.append(f"WHEN {number} THEN 'the position of an item must be a whole number, not ' || position::VARCHAR")
        if item == "item":
            differ("position", "same_item", "document '%s' is at the positions %s and %s")
            differ("item", "same_place", "document '%s' is at a position that has two documents, %s and %s")
    if "owner" in columns:
        differ("owner", "same_item", "document '%s' belongs to two rankers, %s and %s")
    return f"CASE {' '.join(cases)} END" if cases else "NULL"
