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
from ltr_duel.logs.attribution import EVENT, EXPOSURE
from ltr_duel.logs.columns import EVENTS, NEEDED, first_names, require_columns, typed
from ltr_duel.logs.engine import Engine, named, quoted
from ltr_duel.logs.files import Found, files_of, format_of
from ltr_duel.logs.own import parquet_rows
from ltr_duel.logs.unreadable import refuse_unreadable

_FILE = "filename = 'ltr_file'"
_CSV = ("BOOLEAN", "BIGINT", "DOUBLE", "VARCHAR")  # CSV types; no DATE, because DuckDB reads 03/01/2026 as 3 January
_ITEM = ("item", "position", "owner")  # columns of exposures with one row per item
_DIFFER = "\"the rows of its items differ in '{}'\""  # a fault as JSON
_SESSION = ": one impression is one list; is its key a session, or a user?"
_WHERE = ("file", "table", "where", "delimiter")
_ADDED = ("ltr_line", "ltr_file")  # columns that the package adds to the columns of a file
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


def place_of(path: Path, *, table: bool) -> str:
    """Return the source of the exposures in a mapping: the file or, with ``table``, the table of a connection."""
    key = "table" if table else "file"
    place = sections_of(path).get("exposures", {}).get(key)
    if not place:
        raise InputError(f"{path}: give a LOG, or map the source of the exposures: {key} = '...' in [exposures]")
    return str(place)


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
        absent = _ABSENT.fullmatch(sentence)
        if not absent:
            return sentence
        found = make({}, "")  # column names for files, a table for a connection
        place, columns = (self.table, found.columns) if hasattr(found, "columns") else (self.file, found)
        have = [column for column in columns if column not in _ADDED]
        near = difflib.get_close_matches(absent[1], have, n=1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        return errors.in_one_line(f"{place} has no column '{absent[1]}'{hint} (it has {first_names(have)})")


def select(columns: dict[str, Any], where: str, source: str) -> str:
    """Return the SQL of a relation from a mapping; it selects all columns of the source if no column is mapped."""
    chosen = []
    for name, value in columns.items():
        if isinstance(value, list):
            value = f"ARRAY[{', '.join(map(quoted, value))}]"  # valid in DuckDB and in Postgres
        chosen.append(f"{value} AS {named(name)}")
    return f"SELECT {', '.join(chosen) or '*'} FROM {source}{f' WHERE {where}' * bool(where)}"


def create_relation(engine: Engine, part: Part) -> Callable[[int], Found]:
    """Create the relation ``exposures`` or ``events``; return a function that finds a row.

    The argument of the function is a value of the column ``origin``: the number of a row, counted over all files of the
    source. The result is the file that contains the row, and the row's number in this file. Exposures also have the
    column ``row``; they are a table unless their files are Parquet.
    """
    read, names = _reader_of(part.file)
    csv = read == "read_csv"
    options = _csv_options(engine, names, part.delimiter) if csv else _FILE
    rows = f"SELECT *, row_number() OVER () AS ltr_line FROM {read}({names}, {options})"

    def described(columns: dict[str, str], where: str) -> list[str]:
        return [row["column_name"] for row in engine.raw_rows(f"DESCRIBE {select(columns, where, f'({rows})')}")]

    if part.columns:
        part.match(part.tried(lambda *_: described({}, "")))
    found = part.tried(described)
    if not part.columns:
        have = [column for column in found if column not in _ADDED]
        empty = read == "read_json" and have == ["json"]  # DuckDB's column name for a file without objects
        require_columns(part.file, [] if empty else have, part.name)
        part.columns = {column: named(column) for column in found if column in part.legal}
    by_item = part.name == "exposures" and bool({"item", "owner"} & set(part.columns))
    raw = select(part.columns | {"origin": "ltr_line"}, part.where, f"({rows})")
    if part.name == "events":
        engine.execute(f"CREATE VIEW events AS {typed(engine, raw, EVENTS)}")
    elif by_item:
        create_exposures(engine, typed(engine, _listed(part.columns, raw, int(csv))))
    elif read == "read_parquet":
        files = tuple(row["file_name"] for row in engine.rows(f"SELECT file_name FROM parquet_file_metadata({names})"))
        source = f"({parquet_rows(engine, files)[0]})"
        made = select(part.columns | {"origin": "ltr_line", "row": "ltr_line"}, part.where, source)
        engine.execute(f"CREATE VIEW exposures AS {typed(engine, made)}")
    else:
        create_exposures(engine, typed(engine, raw))

    def find(line: int) -> Found:
        first = f"SELECT ltr_file, min(ltr_line) AS first FROM ({rows}) GROUP BY ltr_file"
        (found,) = engine.rows(f"SELECT * FROM ({first}) WHERE first <= ? ORDER BY first DESC LIMIT 1", line)
        row = line - found["first"] + (2 if csv else 1)
        return Found(found["ltr_file"], f"impression that begins in line {row}" if by_item else row)

    if part.name == "events":
        refuse_unreadable(engine, raw, part.given, find)
    return find


def create_exposures(engine: Engine, sql: str) -> None:
    """Create the table ``exposures`` from a query, with numbered rows."""
    engine.execute(f"CREATE TABLE exposures AS SELECT *, row_number() OVER () AS row FROM ({sql})")


def _csv_options(engine: Engine, names: str, delimiter: str) -> str:
    """Return the options of read_csv; the types of the columns fit all rows."""
    import duckdb

    options = f"{_FILE}, auto_type_candidates = [{', '.join(map(quoted, _CSV))}]"
    options += f", delim = {quoted(delimiter)}" * bool(delimiter)
    with suppress(duckdb.Error):  # other errors are reported when the columns are read
        try:
            engine.raw_rows(f"SELECT count(COLUMNS(*)) FROM read_csv({names}, {options})")
        except duckdb.ConversionException:  # the first rows suggest a type that does not fit all rows
            return f"{options}, sample_size = -1"  # ten times as slow
    return options


def _reader_of(given: str) -> tuple[str, str]:
    """Return the DuckDB function that reads these files, and the SQL of their names."""
    path, names = Path(given), quoted(given)
    if path.is_dir():
        files = files_of(path)
        format_of(files)
        path, names = files[0], f"[{', '.join(quoted(str(file)) for file in files)}]"
    suffix = next((one for one in reversed(path.suffixes) if one != ".gz"), "")
    kinds = {".parquet": "read_parquet", ".csv": "read_csv", ".tsv": "read_csv"}
    return kinds.get(suffix, "read_json"), names


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
    faults.append("WHEN count(conflict) > 0 THEN to_json(arg_min(conflict, origin))::VARCHAR")
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
