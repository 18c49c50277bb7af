"""Convert the columns of files and tables to the columns of a log, by DuckDB expressions.

The expression depends on the type of the column. A value that cannot be converted is a fault of its row. The column
``fault`` contains the first fault of a row as JSON, ``{column: value}``, or a message about the whole row.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence
from pathlib import Path

from ltr_duel.core import InputError, errors
from ltr_duel.logs.attribution import EVENT
from ltr_duel.logs.engine import NO_RANKER, Engine, named, quoted
from ltr_duel.logs.table import LOG_COLUMNS

LOG = {  # SQL type of each column
    name: str(column.kind)
    .replace("string", "VARCHAR")
    .replace("double", "DOUBLE")
    .replace("int32", "INTEGER")
    .replace("list<item: ", "")
    .replace(">", "[]")
    for name, column in LOG_COLUMNS.items()
}
NEEDED: dict[str, tuple[tuple[str, ...], ...]] = {  # a file or table needs at least one column of each group
    "log": tuple((name,) for name, column in LOG_COLUMNS.items() if column.needed),
    "exposures": (("impression",), ("time",), ("query",)),
    "events": (("impression", "user"), ("item", "position")),
}
_RECORDS = {"query_id", "client_id"}
_UBI = " (records of User Behavior Insights are read with --format ubi)"
_NAMED = 12  # maximum number of columns that a message lists
EVENTS = EVENT
_NUMBERS = ("BIGINT", "UBIGINT", "HUGEINT")
_KINDS = {  # JSON types that can be converted to each SQL type
    "VARCHAR": ("VARCHAR", "DOUBLE", *_NUMBERS),
    "DOUBLE": ("DOUBLE", *_NUMBERS),
    "INTEGER": _NUMBERS,
    "BIGINT": _NUMBERS,
}


def require_columns(where: str | Path, have: Sequence[str], kind: str) -> None:
    """Raise `InputError` with a list of the missing columns if a file or table lacks needed columns."""
    missing = [
        f"'{first}'" + "".join(f" (or '{other}')" for other in others)
        for first, *others in NEEDED[kind]
        if not {first, *others} & set(have)
    ]
    if missing:
        columns, them = ("columns", "columns, or map them") if len(missing) > 1 else ("column", "a column, or map it")
        raise InputError(
            errors.in_one_line(
                f"{where} has no {columns} {errors.listed(missing)} (it has {first_names(have)}): rename {them}"
                f" with --source; see docs/logs.md{_UBI * (set(have) >= _RECORDS)}"
            )
        )


def require_context(where: str | Path, have: Sequence[str], context: Collection[str]) -> None:
    """Raise `InputError` if a file or table lacks a column by which the log is to be divided."""
    for name in context:
        if name not in have and name not in ("day", "week", "new"):  # `subgroups` makes these from times and users
            near = difflib.get_close_matches(name, have, n=1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise InputError(errors.in_one_line(f"{where} has no column '{name}'{hint} (it has {first_names(have)})"))


def first_names(have: Sequence[str]) -> str:
    """Return the first `_NAMED` columns, separated by commas, for a message; "none" if there are no columns."""
    return ", ".join([*have[:_NAMED], *["..."] * (len(have) > _NAMED)]) or "none"


def typed(engine: Engine, raw: str, types: dict[str, str] = LOG) -> str:
    """Return SQL that converts the columns of a query to ``types``, and adds ``fault`` if a conversion can fail."""
    kinds = {row["column_name"]: row["column_type"] for row in engine.rows(f"DESCRIBE {raw}")}
    made = {name: _made(name, kind, kinds, types) for name, kind in kinds.items() if name != "fault"}
    other = {name: named(f"ltr {name}") for name, value in made.items() if value != named(name)}
    faults = ["WHEN fault IS NOT NULL THEN fault"] if "fault" in kinds else []
    for name, value in other.items():
        rankers = f", 'rankers', {other.get('rankers', 'rankers')}" if name == "owners" and "rankers" in made else ""
        given = f"json_object({quoted(name)}, {named(name)}{rankers})::VARCHAR"
        faults.append(f"WHEN {named(name)} IS NOT NULL AND {value} IS NULL THEN {given}")
    chosen = [f"{other.get(name, named(name))} AS {named(name)}" for name in made]
    if faults:
        chosen.append(f"CASE {' '.join(faults)} END AS fault")
    once = ", ".join(["*", *(f"{made[name]} AS {value}" for name, value in other.items())])
    return f"SELECT {', '.join(chosen)} FROM (SELECT {once} FROM ({raw}))"


def _made(name: str, kind: str, kinds: dict[str, str], types: dict[str, str]) -> str:
    """Return the expression that converts a column of type `kind`, given the types of all columns."""
    column, wanted = named(name), types.get(name, kind)
    if kind == wanted:
        return _text(column) if kind == "JSON" else column
    if name == "time":
        return seconds(_text(column) if kind == "JSON" else column, kind)
    if name == "owners" and kind in ("JSON", "VARCHAR", "VARCHAR[]"):
        rankers = _made("rankers", kinds["rankers"], kinds, types) if "rankers" in kinds else "[]"
        return _owners(column, kind, rankers)
    if kind == "JSON":
        return _of_json(column, wanted, ["OBJECT"] if name == "page" else [])
    cast = f"try_cast({column} AS {wanted})"
    if kind == "VARCHAR" and wanted.endswith("[]"):  # a list written as a string
        return f"CASE WHEN json_valid({column}) THEN {_of_json(f'{column}::JSON', wanted)} ELSE {cast} END"
    return cast


def _text(value: str) -> str:
    return f"json_extract_string({value}, '$')"


def _of_json(value: str, wanted: str, more: Collection[str] = ()) -> str:
    kind, depth = wanted.rstrip("[]"), wanted.count("[]")
    made = _text(value) if wanted == "VARCHAR" else f"try_cast({value} AS {wanted})"
    legal = [_is(value, *(["ARRAY"] if depth else _KINDS[kind]), *more)]
    for k in range(1, depth + 1):
        each = _is("one", *(["ARRAY"] if k < depth else _KINDS[kind]))
        if k == depth and kind != "VARCHAR":
            each += f" AND try_cast(one AS {kind}) IS NOT NULL"
        entries = f"json_extract({value}, '${'[*]' * k}')"
        legal.append(f"len(list_filter({entries}, lambda one: NOT ({each}))) = 0")
    return f"CASE WHEN {' AND '.join(legal)} THEN {made} END"


def _is(value: str, *kinds: str) -> str:
    return f"json_type({value}) IN ({', '.join(map(quoted, kinds))})"


def _owners(column: str, kind: str, rankers: str) -> str:
    """Return the expression that converts owners (names or numbers) to indices of rankers, -1 for no ranker."""
    if kind == "VARCHAR[]":
        made = f"list_transform({column}, lambda one: {_place('one', rankers)})"
    else:
        value = f"CASE WHEN json_valid({column}) AND json_type({column}) = 'ARRAY' THEN {column}::JSON END"
        by_name = _place(_text("one"), rankers)
        place = (
            f"CASE json_type(one) WHEN 'NULL' THEN -1 WHEN 'VARCHAR' THEN {by_name}"
            f" WHEN 'DOUBLE' THEN {NO_RANKER} ELSE coalesce(try_cast(one AS INTEGER), {NO_RANKER}) END"
        )
        made = f"list_transform(json_extract({value}, '$[*]'), lambda one: {place})"
    return f"CASE WHEN NOT list_contains({made}, {NO_RANKER}) THEN {made}::INTEGER[] END"


def _place(name: str, rankers: str) -> str:
    """Return the expression for the index of a name in ``rankers``, -1 for null or an empty name."""
    place = f"coalesce(nullif(list_position({rankers}, {name}), 0) - 1, {NO_RANKER})"
    return f"CASE WHEN nullif({name}, '') IS NULL THEN -1 ELSE {place} END"


def seconds(name: str, kind: str) -> str:
    """Return the SQL that converts a time to seconds, from a timestamp, a string or a number."""
    if kind.startswith(("TIMESTAMP", "DATE")):
        return f"epoch_us({name}::TIMESTAMPTZ) / 1e6" if "TIME ZONE" in kind else f"epoch_us({name}::TIMESTAMP) / 1e6"
    return f"coalesce(try_cast({name} AS DOUBLE), epoch_us(try_cast({name} AS TIMESTAMPTZ)) / 1e6)"
