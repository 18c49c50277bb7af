"""Read files as exposures (shown lists), events (e.g. clicks) or a log, perhaps by a TOML mapping; see docs/logs.md.

The sections ``[exposures]`` and ``[events]`` map each column of a log to a column of the table or an SQL expression;
``rankers`` may also be a list of names. A section may contain a condition ``where``. It must contain the source of the
rows, ``file`` or (for a connection) ``table``, unless the command line names the source. ``delimiter`` is the separator
of a CSV file. Cells of CSV files are text.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from ltr_duel.core import InputError, errors
from ltr_duel.logs.columns import LOG, NEEDED, absent, require_columns, typed
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
from ltr_duel.logs.table import EVENT, EXPOSURE

_IDS = {"impression", "user", "query", "item", "kind", "shown", "rankers"}  # texts, even if they look like numbers
_ITEM = ("item", "position", "owner")  # columns of exposures with one row per item
_DIFFER = "the rows of its items differ in '{}'"
_SESSION = ": one impression is one list; is its key a session, or a user?"
_WHERE = ("file", "table", "where", "delimiter")
_ABSENT = re.compile(  # DuckDB's messages; the second is for a name that equals a mapped key except for case
    r'Binder Error: (?:Referenced column|Column) "(.*?)" (?:not found in FROM clause!?|referenced that exists .*)'
)
_OWNED = {"owners", "owner", "page"}  # columns that give the owner of an item
_NO_OBJECT = """CASE WHEN NOT json_valid(text) THEN 'not valid JSON, or truncated'
  WHEN json_type(text) <> 'OBJECT' THEN 'not a JSON object with the columns as keys' END"""


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
            names = key == "rankers" and isinstance(value, list) and all(isinstance(one, str) for one in value)
            if not isinstance(value, str) and not names:
                raise InputError(f"{path}: [{part}] {key} must be an expression in quotes, not {value}")
    for part in ("exposures", "events"):
        mapped = given.get(part, {}).keys() - set(_WHERE)
        for group in NEEDED[part] if mapped or part == "exposures" else ():
            if not mapped.intersection(group):
                name = errors.listed(group, "or")
                raise InputError(f'{path}: [{part}] must map {name}: {group[0]} = "your column"')
    events = given.get("events", {}).keys()
    if events - set(_WHERE) and not ("owner" in events or _OWNED & given["exposures"].keys()):
        raise InputError(
            f"{path}: the ranker of an item must be mapped: 'owner' in [events], or 'owners' or 'page' in [exposures]"
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
    """Exposures, events or a log: the source of the rows, and the expressions of the columns."""

    def __init__(
        self,
        name: str,
        source: str,
        legal: Collection[str],
        context: tuple[str, ...] = (),
        mapping: tuple[Path, dict[str, Any]] | None = None,
        format: str = "",
    ) -> None:
        self.name, self.legal, self.context, self.format = name, (*legal, *context), context, format
        self.path: Path | None = mapping[0] if mapping else None
        section = mapping[1] if mapping else {}
        mapped = {key: value for key, value in section.items() if key not in _WHERE}
        self.given = {key: value for key, value in mapped.items() if key in (*self.legal, *_ITEM)}
        self.columns = dict(self.given)  # SQL of each column
        self.strange: Sequence[str] = [key for key in mapped if key not in self.columns]  # columns that are not read
        self.where, self.delimiter = section.get("where", ""), section.get("delimiter", "")
        self.table, self.file = section.get("table", source), section.get("file", source)
        self._named = "file" in section

    def match(self, have: Collection[str]) -> None:
        """Quote mapped columns, whose names may be SQL keywords, and add the context columns of the file or table."""
        plain = {key: named(value) for key, value in self.given.items() if isinstance(value, str) and value in have}
        self.columns = {one: named(one) for one in self.context if one in have} | self.given | plain

    def all_of(self, have: Sequence[str]) -> None:
        """Read all legal columns of a source that is not mapped."""
        have = [column for column in have if column not in ADDED]
        require_columns(self.file, have, self.name, self.context if self.name == "log" else ())
        self.columns = {column: named(column) for column in have if column in self.legal}
        self.strange = [column for column in have if column not in self.legal] if self.name == "log" else []

    def tried(self, make: Callable[[dict[str, str], str], Any]) -> Any:
        """Return the result of `make` for columns and condition; an error names the faulty key of the mapping."""
        try:
            return make(self.columns, self.where)
        except InputError as error:
            where = f"{self.path}: [{self.name}] file = '{self.file}': " if self._named else ""
            raise InputError(f"{where}{error}") from None
        except Exception as error:  # each backend has its own exceptions
            sentence = _first_line(error)
        one = {"impression": "'1'"}
        parts = [("", one, ""), ("where", one, self.where)]
        for key, columns, where in [*parts, *((key, {key: value}, "") for key, value in self.columns.items())]:
            try:
                make(columns, where)
            except Exception as error:  # as above
                if not key:
                    break
                value = self.where if key == "where" else self.given.get(key, key)
                reason = self._without_column(_first_line(error), make)
                raise InputError(f"{self.path}: [{self.name}] {key} = {value!r}: {reason}") from None
        file = f"{self.path}: [{self.name}] file = '{self.file}'" if self._named else self.file
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


def read(engine: Engine, part: Part) -> tuple[Relation, Callable[[int], Position]]:
    """Create the relation of a part, with its name; also return a function that finds the file and line of a row.

    ``origin`` is the number of a row in all files of the part. ``line`` is unique: as mapped, one row of a file may
    become several. Relations are tables unless their files are Parquet.
    """
    paths = part.tried(lambda *_: files_of(part.file))
    kind = part.format or format_of(paths)
    by_item, header = part.name == "exposures" and bool({"item", "owner"} & set(part.columns)), 0
    if kind == "jsonl" and not part.columns:
        files, raw = _json_lines(engine, part, paths)
    else:
        files = part.tried(lambda *_: _rows(engine, part, kind, paths))
        raw, header = _mapped(engine, part, files), files.header
    line = "origin" if kind == "parquet" or by_item or not part.given else "row_number() OVER ()"
    if by_item:
        raw = _listed(part.columns, raw, header)
    sql = f"SELECT *, {line} AS line FROM ({typed(engine, raw, EVENT if part.name == 'events' else LOG)})"
    relation = engine.create(part.name, sql, "VIEW" if kind == "parquet" and not by_item else "TABLE")

    def find(origin: int) -> Position:
        at = files.find(engine, origin)
        return Position(at.file, f"impression that begins in line {at.row}") if by_item else at

    return relation, find


def _mapped(engine: Engine, part: Part, files: FileRows) -> str:
    """Return the SQL of the mapped columns of files, or of all legal columns."""

    def described(columns: dict[str, str], where: str) -> list[str]:
        return [row["column_name"] for row in engine.raw_rows(f"DESCRIBE {select(columns, where, f'({files.sql})')}")]

    if part.columns:
        part.match(part.tried(lambda *_: described({}, "")))
        part.tried(described)
    else:
        with engine.guarded():
            part.all_of(described({}, ""))
    return select(part.columns | {"origin": "ltr_line"}, part.where, f"({files.sql})")


def _rows(engine: Engine, part: Part, kind: str, paths: Sequence[Any]) -> FileRows:
    if kind == "csv":
        return csv_rows(paths, part.delimiter)
    with engine.guarded():
        if kind == "parquet":
            return parquet_rows(engine, paths)
        owner = "owner" if part.name == "events" else ""  # in exposures, it may be a position in the list of rankers
        texts = [value for key, value in part.given.items() if key in (*_IDS, owner, *part.context)]
        return json_rows(engine, paths, [value for value in texts if isinstance(value, str)])


def _json_lines(engine: Engine, part: Part, paths: Sequence[Path]) -> tuple[FileRows, str]:
    """Return the lines of JSON files, and the SQL of their legal columns; a line that is no object is a fault."""
    files = create_lines(engine, paths)
    keys = "SELECT line, unnest(json_keys(CASE WHEN json_valid(text) THEN text END)) AS key FROM lines"
    found = engine.query(f"SELECT key FROM ({keys}) GROUP BY key ORDER BY min(line), key")["key"].to_pylist()
    if found:
        part.all_of(found)
    structure = quoted(json.dumps(dict.fromkeys(part.columns or part.legal, "JSON")))
    given = f"unnest(from_json(CASE WHEN json_valid(text) THEN text END, {structure}))"
    return files, f"SELECT line AS origin, {_NO_OBJECT} AS fault, {given} FROM lines"


def create_lines(engine: Engine, paths: Sequence[Path]) -> FileRows:
    """Create the table ``lines`` of text files, with ``line`` and ``text``."""
    files = text_rows(paths)
    sql = f"SELECT ltr_line AS line, text FROM ({files.sql}) WHERE trim(text) <> ''"
    engine.execute(f"CREATE OR REPLACE TABLE lines AS {sql}")
    return files


def _listed(columns: dict[str, Any], raw: str, header: int) -> str:
    """Return the SQL that groups exposures with one row per item into one row per exposure; the first time counts.

    Equal rows of an item are one item. Rows that contradict each other are a fault of the exposure.

    header: the number of lines before the first row.
    """
    place = "try_cast(position::VARCHAR AS DOUBLE)" if "position" in columns else "origin"
    item = "item" if "item" in columns else "position"
    once = (
        f"SELECT *, {place} AS ltr_place, row_number() OVER same_item AS turn,"
        f" {_conflicts(columns, place, item, header)} AS conflict FROM ({raw})"
        f" WINDOW same_item AS (PARTITION BY impression, {item} ORDER BY origin)"
        f", same_place AS (PARTITION BY impression, {place} ORDER BY origin)"
    )
    chosen = [
        f"list({named(name)} ORDER BY ltr_place, origin) FILTER (turn = 1 AND {item} IS NOT NULL) AS {made}"
        for name, made in (("item", "shown"), ("owner", "owners"))
        if name in columns
    ]
    rest = [name for name in columns if name not in ("impression", *_ITEM)]
    chosen += [f"arg_min({named(name)}, origin) AS {named(name)}" for name in rest]
    differ = "WHEN min(hash({0})) FILTER ({0} IS NOT NULL) <> max(hash({0})) FILTER ({0} IS NOT NULL) THEN {1}".format
    faults = [differ(named(name), quoted(_DIFFER.format(name))) for name in rest if name != "time"]  # logged one by one
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
