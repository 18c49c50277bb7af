"""Read any tables as exposures (shown lists) and events (e.g. clicks), by a TOML mapping; examples: docs/logs.md.

The sections ``[exposures]`` and ``[events]`` map each column of a log to a column of the table or an SQL expression;
``rankers`` may also be a list of names. A section may contain a condition ``where``. It must contain the source of the
rows, ``file`` or (for a connection) ``table``, unless the command line names the source. ``delimiter`` is the separator
of a CSV file.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

from ltr_duel.core import InputError, errors
from ltr_duel.logs.columns import NEEDED, absent, require_columns, typed
from ltr_duel.logs.engine import Engine, named, quoted
from ltr_duel.logs.files import (
    ADDED,
    FileRows,
    Position,
    csv_rows,
    files_of,
    format_of,
    json_rows,
    parquet_rows,
    suffix_of,
)
from ltr_duel.logs.table import EVENT, EXPOSURE

_CSV = ("BOOLEAN", "BIGINT", "DOUBLE", "VARCHAR")  # CSV types; no DATE, because DuckDB reads 03/01/2026 as 3 January
_IDS = {"impression", "user", "query", "item", "kind", "shown", "rankers"}
_KINDS = ("BIGINT", "UBIGINT", "HUGEINT", "DOUBLE", "UUID", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE")
_TEXTS = {f"{kind}{end}": f"VARCHAR{end}" for kind in _KINDS for end in ("", "[]")}  # inferred from JSON; read as text
_ITEM = ("item", "position", "owner")  # columns of exposures with one row per item
_DIFFER = "the rows of its items differ in '{}'"
_SESSION = ": one impression is one list; is its key a session, or a user?"
_WHERE = ("file", "table", "where", "delimiter")
_ABSENT = re.compile(  # DuckDB's messages; the second is for a name that equals a mapped key except for case
    r'Binder Error: (?:Referenced column|Column) "(.*?)" (?:not found in FROM clause!?|referenced that exists .*)'
)
_OWNED = {"owners", "owner", "rankings", "page"}  # columns that give the owner of an item


def sections_of(path: Path) -> dict[str, Any]:
    """Return the sections of a mapping; only exposures may have extra columns, with names unlike those of a log."""
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path}: not a mapping: {error}") from None
    legal = {"exposures": (*EXPOSURE, *_ITEM, *_WHERE), "events": (*EVENT, *_WHERE)}
    for part, section in given.items():
        if part not in legal:
            raise InputError(f"{path}: {errors.unknown_name('section', part, tuple(legal))}")
        if not isinstance(section, dict):
            raise InputError(f"{path}: '{part}' must be a section, [{part}]")
        for key, value in section.items():
            if (part, key) == ("exposures", "clicks"):
                raise InputError(
                    f"{path}: [exposures] maps 'clicks'; map 'impression' and 'position' in [events] instead (for a"
                    f' column of lists, position = "unnest({value})")'
                )
            near = difflib.get_close_matches(key, legal[part], n=1)
            if key not in legal[part] and (part == "events" or near):
                hint = f"; did you mean '{near[0]}'?" if near else ""
                raise InputError(
                    f"{path}: [{part}] maps '{key}', which is not a column of a log{hint} ({', '.join(legal[part])})"
                )
            texts = isinstance(value, list) and all(isinstance(one, str) for one in value) and key == "rankers"
            if not isinstance(value, str) and not texts:
                raise InputError(f"{path}: [{part}] {key} must be an expression in quotes, not {value}")
    for part in ("exposures", "events"):
        mapped = given.get(part, {}).keys() - set(_WHERE)
        for names in NEEDED[part] if mapped or part == "exposures" else ():
            if not mapped.intersection(names):
                name = errors.listed(names, "or")
                raise InputError(f'{path}: [{part}] must map {name}: {names[0]} = "your column"')
    events = given.get("events", {}).keys()
    if events - set(_WHERE) and not ("owner" in events or _OWNED & given["exposures"].keys()):
        raise InputError(
            f"{path}: the ranker of an item must be mapped: 'owner' in [events], or 'owners', 'rankings' or 'page' in"
            " [exposures]"
        )
    return given


def source_of(path: Path, *, table: bool) -> str:
    """Return the source of the exposures in a mapping: the file or, with ``table``, the table of a connection."""
    key = "table" if table else "file"
    source = sections_of(path).get("exposures", {}).get(key)
    if not source:
        raise InputError(f"{path}: give a LOG, or map the source of the exposures: {key} = '...' in [exposures]")
    return str(source)


class Part:
    """Exposures or events: the source of the rows, and the expressions of the columns."""

    def __init__(
        self,
        name: str,
        path: Path | None,
        section: dict[str, Any],
        given: str,
        legal: tuple[str, ...],
        context: tuple[str, ...] = (),
    ) -> None:
        self.name, self.legal, self._path, self.context = name, (*legal, *context), path, context
        mapped = {key: value for key, value in section.items() if key not in _WHERE}
        self.columns = {key: value for key, value in mapped.items() if key in (*self.legal, *_ITEM)}
        self.given = self.columns  # as in the mapping, for messages
        self.strange = [key for key in mapped if key not in self.columns]
        self.where, self.delimiter = section.get("where", ""), section.get("delimiter", "")
        self.table, self.file = section.get("table", given), section.get("file", given)
        self._named = "file" in section

    def match(self, have: Collection[str]) -> None:
        """Quote mapped columns, whose names may be SQL keywords, and add the context columns of the file or table.

        Context columns are the extra columns that `ClickLog` reads. A mapped context column keeps its expression.
        """
        plain = {key: named(value) for key, value in self.given.items() if isinstance(value, str) and value in have}
        self.columns = {one: named(one) for one in self.context if one in have} | self.given | plain

    def is_text(self, column: str) -> bool:
        """Return whether a column of the file, as it stands, is an id or another text of the log."""
        names = [key for key, value in self.given.items() if value == column] if self.given else [column]
        owner = self.name == "events"  # in exposures, it may be a position in the list of rankers
        return column in self.context or any(name in _IDS or (name == "owner" and owner) for name in names)

    def tried(self, make: Callable[[dict[str, str], str], Any]) -> Any:
        """Return the result of `make` for columns and condition; an error names the faulty key of the mapping."""
        try:
            return make(self.columns, self.where)
        except Exception as error:  # each backend has its own exceptions
            sentence = _first_line(error)
        one = {"impression": "'1'"}
        parts = [
            ("", one, ""),
            ("where", one, self.where),
            *((key, {key: value}, "") for key, value in self.columns.items()),
        ]
        for key, columns, where in parts:
            try:
                make(columns, where)
            except Exception as error:  # as above
                if not key:
                    break
                value = self.where if key == "where" else self.given.get(key, key)
                reason = self._without_column(_first_line(error), make)
                raise InputError(f"{self._path}: [{self.name}] {key} = {value!r}: {reason}") from None
        file = f"{self._path}: [{self.name}] file = '{self.file}'" if self._named else self.file
        raise InputError(f"{file}: cannot be read as {self.name}: {sentence}") from None

    def _without_column(self, sentence: str, make: Callable[[dict[str, str], str], Any]) -> str:
        """Return the engine's message, or a message that lists the columns if it reports an absent column."""
        missing = _ABSENT.fullmatch(sentence)
        if not missing:
            return sentence
        found = make({}, "")  # column names for files, a relation for a connection
        where, columns = (self.table, found.columns) if hasattr(found, "columns") else (self.file, found)
        return errors.in_one_line(absent(where, missing[1], [column for column in columns if column not in ADDED]))


def select(columns: dict[str, Any], where: str, source: str) -> str:
    """Return the SQL of a relation from a mapping; it selects all columns of the source if no column is mapped."""
    chosen = []
    for name, value in columns.items():
        if isinstance(value, list):
            value = f"ARRAY[{', '.join(map(quoted, value))}]"  # valid in DuckDB and in Postgres
        chosen.append(f"{value} AS {named(name)}")
    return f"SELECT {', '.join(chosen) or '*'} FROM {source}{f' WHERE {where}' * bool(where)}"


def create_relation(engine: Engine, part: Part) -> Callable[[int], Position]:
    """Create the relation ``exposures`` or ``events``, and return a function that finds the file and row of ``origin``.

    The column ``origin`` has the number of a row, counted over all files of the source. Exposures also have the column
    ``row``; they are a table unless their files are Parquet.
    """
    files: FileRows = part.tried(lambda *_: _file_rows(engine, part))

    def described(columns: dict[str, str], where: str) -> list[str]:
        return [row["column_name"] for row in engine.raw_rows(f"DESCRIBE {select(columns, where, f'({files.sql})')}")]

    if part.columns:
        part.match(part.tried(lambda *_: described({}, "")))
    found = part.tried(described)
    if not part.columns:
        have = [column for column in found if column not in ADDED]
        empty = "read_json(" in files.sql and have == ["json"]  # DuckDB's column name for a file without objects
        require_columns(part.file, [] if empty else have, part.name)
        part.columns = {column: named(column) for column in found if column in part.legal}
    columns = part.columns | {"origin": "ltr_line"}
    by_item = part.name == "exposures" and bool({"item", "owner"} & set(columns))
    if part.name == "exposures" and "read_parquet(" in files.sql and not by_item:
        columns["row"] = "ltr_line"
    raw = select(columns, part.where, f"({files.sql})")
    if part.name == "events":
        engine.create("events", typed(engine, raw, EVENT), "VIEW")
    elif "row" in columns:
        engine.create("exposures", typed(engine, raw), "VIEW")
    else:  # one row of a file may become several exposures
        row, made = ("origin", _listed(part.columns, raw, files.header)) if by_item else ("row_number() OVER ()", raw)
        engine.create("exposures", f"SELECT *, {row} AS row FROM ({typed(engine, made)})")
    find = files.finder(engine)
    if not by_item:
        return find
    return lambda line: Position(find(line).file, f"impression that begins in line {find(line).row}")


def _file_rows(engine: Engine, part: Part) -> FileRows:
    """Return the rows of the files; the types of the columns of CSV files fit all rows.

    Ids and other texts are read as text, because inferred types change them: 1.10 becomes 1.1, and long numbers merge.
    """
    import duckdb

    paths = (part.file,) if "://" in part.file else files_of(part.file)
    if Path(part.file).is_dir():
        format_of(files_of(part.file))
    suffix = suffix_of(Path(paths[0]))
    if suffix not in (".csv", ".tsv"):
        if suffix == ".parquet":
            return parquet_rows(engine, paths)
        rows = json_rows(paths)
        types = _types(engine, rows)
        texts = {name: _TEXTS[type] for name, type in types.items() if part.is_text(name) and type in _TEXTS}
        return json_rows(paths, f", columns = {_struct(types | texts)}") if texts else rows
    options = f"auto_type_candidates = [{', '.join(map(quoted, _CSV))}]"
    options += f", delim = {quoted(part.delimiter)}" * bool(part.delimiter)
    with suppress(duckdb.Error):  # as below
        texts = {name: "VARCHAR" for name in _types(engine, csv_rows(paths, options)) if part.is_text(name)}
        options += f", types = {_struct(texts)}" if texts else ""
    with suppress(duckdb.Error):  # other errors are reported when the columns are read
        try:
            engine.raw_rows(f"SELECT count(COLUMNS(* EXCLUDE (ltr_line))) FROM ({csv_rows(paths, options).sql})")
        except duckdb.ConversionException:  # the first rows suggest a type that does not fit all rows
            options += ", sample_size = -1"  # ten times as slow
    return csv_rows(paths, options)


def _types(engine: Engine, rows: FileRows) -> dict[str, str]:
    """Return the inferred types of the columns of a file."""
    found = engine.raw_rows(f"DESCRIBE {rows.sql}")
    return {row["column_name"]: row["column_type"] for row in found if row["column_name"] not in ADDED}


def _struct(types: dict[str, str]) -> str:
    return f"{{{', '.join(f'{named(name)}: {quoted(kind)}' for name, kind in types.items())}}}"


def _listed(columns: dict[str, Any], raw: str, header: int) -> str:
    """Return the SQL that groups exposures with one row per item into one row per exposure; the first time counts.

    Equal rows of an item are one item. Rows that contradict each other are a fault of the exposure.

    header: the number of lines before the first row.
    """
    place = "try_cast(position::VARCHAR AS DOUBLE)" if "position" in columns else "origin"
    item = "item" if "item" in columns else "position"
    conflict = _conflicts(columns, place, item, header)
    once = (
        f"SELECT *, {place} AS ltr_place, row_number() OVER same_item AS turn, {conflict} AS conflict FROM ({raw})"
        f" WINDOW same_item AS (PARTITION BY impression, {item} ORDER BY origin)"
        f", same_place AS (PARTITION BY impression, {place} ORDER BY origin)"
    )
    chosen = [
        f"list({named(name)} ORDER BY ltr_place, origin) FILTER (turn = 1 AND {item} IS NOT NULL) AS {made}"
        for name, made in (("item", "shown"), ("owner", "owners"))
        if name in columns
    ]
    rest = [name for name in columns if name not in ("impression", "item", "owner", "position")]
    chosen += [f"arg_min({named(name)}, origin) AS {named(name)}" for name in rest]
    hashes = {name: f"(hash({named(name)})) FILTER ({named(name)} IS NOT NULL)" for name in rest}
    faults = [
        f"WHEN min{values} <> max{values} THEN {quoted(_DIFFER.format(name))}"
        for name, values in hashes.items()
        if name != "time"  # items may be logged one by one
    ]
    faults.append("WHEN count(conflict) > 0 THEN arg_min(conflict, origin)")
    chosen.append(f"CASE {' '.join(faults)} END AS fault")
    return f"SELECT impression, {', '.join(chosen)}, min(origin) AS origin FROM ({once}) GROUP BY impression"


def _conflicts(columns: dict[str, Any], place: str, item: str, header: int) -> str:
    """Return the SQL of a sentence on an item's row that contradicts an earlier row; null if there is none."""
    said = []

    def differ(value: str, window: str, sentence: str) -> None:
        first = f"first_value({value}) OVER {window}"
        lines = f"' (lines ' || (first_value(origin) OVER {window} + {header}) || ' and ' || (origin + {header}) || ')'"
        both = ", ".join(f"coalesce({one}::VARCHAR, 'none')" for one in (first, value))
        words = f"printf({quoted(sentence)}, {item}::VARCHAR, {both})"
        said.append(f"WHEN {value} IS DISTINCT FROM {first} THEN {words} || {lines} || {quoted(_SESSION)}")

    if "position" in columns:
        number = f"position::VARCHAR <> '' AND coalesce({place} <> floor({place}), true)"
        said.append(f"WHEN {number} THEN 'the position of an item must be a whole number, not ' || position::VARCHAR")
        if item == "item":
            differ("position", "same_item", "document '%s' is at the positions %s and %s")
            differ("item", "same_place", "document '%s' is at a position that has two documents, %s and %s")
    if "owner" in columns:
        differ("owner", "same_item", "document '%s' belongs to two rankers, %s and %s")
    return f"CASE {' '.join(said)} END" if said else "NULL"


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
