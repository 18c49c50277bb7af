"""Convert the columns of files to the columns of a log, by DuckDB expressions.

The expression depends on the type of the column. A value that cannot be converted is a fault of its row. The column
``fault`` contains the message on the first fault of a row.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence
from pathlib import Path

from ltr_duel.core import InputError, errors
from ltr_duel.logs.engine import Engine, named, quoted
from ltr_duel.logs.table import EVENT, LEGAL, LOG_COLUMNS, NO_RANKER, NO_RANKERS

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
_AS_JSON = "a list in JSON, such as [1, 3] (lists in another form: --source, see docs/logs.md)"
_SHORT = 60  # maximum number of characters of a value in a message
_RECORDS = {"query_id", "client_id"}
_UBI = " (records of User Behavior Insights are read with --format ubi)"
_NAMED = 12  # maximum number of columns that a message lists
_NUMBERS = ("BIGINT", "UBIGINT", "HUGEINT")
_EITHER = "'owners' are numbers that are names of rankers and also positions of others: write names as text"
_JSON = {  # JSON types that can be converted to each SQL type
    "VARCHAR": ("VARCHAR", "DOUBLE", *_NUMBERS),
    "DOUBLE": ("DOUBLE", "VARCHAR", *_NUMBERS),
    "INTEGER": _NUMBERS,
}


def require_columns(where: str | Path, have: Sequence[str], kind: str, context: Collection[str] = ()) -> None:
    """Raise `InputError` if a file or table lacks needed columns, or a column by which the log is to be divided."""
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
    for name in context:
        if name not in have and name not in ("day", "week", "new"):  # `subgroups` makes these from times and users
            raise InputError(errors.in_one_line(absent(where, name, have)))


def absent(where: str | Path, name: str, have: Sequence[str]) -> str:
    """Return a message on a column that a file or table lacks."""
    near = difflib.get_close_matches(name, have, n=1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    return f"{where} has no column '{name}'{hint} (it has {first_names(have)})"


def first_names(have: Sequence[str]) -> str:
    """Return the first `_NAMED` columns, separated by commas, for a message; "none" if there are no columns."""
    return ", ".join([*have[:_NAMED], *["..."] * (len(have) > _NAMED)]) or "none"


def typed(engine: Engine, raw: str, types: dict[str, str] = LOG) -> str:
    """Return SQL that converts the columns of a query to ``types``, and adds ``fault`` if a conversion can fail."""
    kinds = {row["column_name"]: row["column_type"] for row in engine.rows(f"DESCRIBE {raw}")}
    made = {name: _converted(name, kind, kinds, types) for name, kind in kinds.items() if name != "fault"}
    other = {name: named(f"ltr {name}") for name, value in made.items() if value != named(name)}
    faults = ["WHEN fault IS NOT NULL THEN fault"] if "fault" in kinds else []
    what, legal = (" of an event", LEGAL | {"dwell": "a number of seconds"}) if types is EVENT else ("", LEGAL)
    for name, value in other.items():
        column, kind = named(name), kinds[name]
        text = {"VARCHAR": column, "JSON": _text(column)}.get(kind, f"{column}::VARCHAR")
        must = legal.get(name, "a string or a number")
        if kind == "VARCHAR" and types.get(name, "").endswith("[]"):
            must = _AS_JSON
        shown = f"replace({column}::VARCHAR, '\"', '''')" if kind == "JSON" else text
        shown = f"left({shown}, {_SHORT})" + (" || ''''" if kind == "VARCHAR" else "")
        end = "'" if kind == "VARCHAR" else ""
        sentence = quoted(f"'{name}'{what} must be {must}, not {end}") + f" || {shown}"
        if name == "owners":
            rankers = other.get("rankers", "rankers") if "rankers" in made else ""
            sentence = _owner_sentence(column, kind, rankers, sentence)
            if rankers and kind != "VARCHAR[]":
                values = column if kind.endswith("[]") else f"json_extract({_array(column)}, '$[*]')"
                sentence = f"CASE WHEN {_named_by_number(values, rankers)} THEN {quoted(_EITHER)} ELSE {sentence} END"
        faults.append(f"WHEN {text} <> '' AND {value} IS NULL THEN {sentence}")
    chosen = [f"{other.get(name, named(name))} AS {named(name)}" for name in made]
    if faults:
        chosen.append(f"CASE {' '.join(faults)} END AS fault")
    once = ", ".join(["*", *(f"{made[name]} AS {value}" for name, value in other.items())])
    return f"SELECT {', '.join(chosen)} FROM (SELECT {once} FROM ({raw}))"


def _owner_sentence(column: str, kind: str, rankers: str, sentence: str) -> str:
    """Return the SQL of the message on owners that cannot be read."""
    if kind not in ("JSON", "VARCHAR", "VARCHAR[]"):
        return sentence
    is_list = "true" if kind == "VARCHAR[]" else f"json_valid({column}) AND json_type({column}) = 'ARRAY'"
    names = column if kind == "VARCHAR[]" else f"from_json({column}, '[\"VARCHAR\"]')"
    lacks = quoted(f"'owners' contains names, but {NO_RANKERS}")
    if not rankers:
        return f"CASE WHEN {is_list} THEN {lacks} ELSE {sentence} END"
    strange = f"list_filter({names}, lambda e: e <> '' AND NOT list_contains({rankers}, e))[1]"
    digits = quoted("; a position in rankers must be a number, not text")
    return (
        f"CASE WHEN NOT ({is_list}) THEN {sentence} WHEN {rankers} IS NULL THEN {lacks} WHEN len({strange}) > 0 THEN"
        f" 'owner ''' || {strange} || ''' is not a ranker: ' || array_to_string({rankers}, ' or ') ||"
        f" ', null for no ranker' || CASE WHEN regexp_full_match({strange}, '[0-9]+') THEN {digits} ELSE '' END"
        f" ELSE {sentence} END"
    )


def _converted(name: str, kind: str, kinds: dict[str, str], types: dict[str, str]) -> str:
    """Return the expression that converts a column of type `kind`, given the types of all columns."""
    column, wanted = named(name), types.get(name, kind)
    if kind == wanted:
        return _text(column) if kind == "JSON" else column
    if name == "time":
        return seconds(_text(column) if kind == "JSON" else column, kind)
    if name == "owners" and kind in ("JSON", "VARCHAR", "VARCHAR[]"):
        rankers = _converted("rankers", kinds["rankers"], kinds, types) if "rankers" in kinds else "[]"
        return _owners(column, kind, rankers)
    if name == "owners" and kind.endswith("INT[]") and "rankers" in kinds:
        rankers = _converted("rankers", kinds["rankers"], kinds, types)
        either = _named_by_number(column, rankers)
        return f"CASE WHEN NOT coalesce({either}, false) THEN try_cast({column} AS {wanted}) END"
    if wanted == "BIGINT" and "INT" not in kind:
        number = f"try_cast({column}::VARCHAR AS DOUBLE)"
        return f"CASE WHEN {number} = floor({number}) THEN try_cast({number} AS BIGINT) END"
    if kind == "JSON":
        return _from_json(column, wanted, ["OBJECT"] if name == "page" else [])
    cast = f"try_cast({column} AS {wanted})"
    if kind == "VARCHAR" and wanted.endswith("[]"):  # a list written as a string
        return f"CASE WHEN json_valid({column}) THEN {_from_json(f'{column}::JSON', wanted)} ELSE {cast} END"
    return cast


def _text(value: str) -> str:
    return f"json_extract_string({value}, '$')"


def _from_json(value: str, wanted: str, more: Collection[str] = ()) -> str:
    kind, depth = wanted.rstrip("[]"), wanted.count("[]")
    made = _text(value) if wanted == "VARCHAR" else f"try_cast({value} AS {wanted})"
    legal = [_is(value, *(["ARRAY"] if depth else _JSON[kind]), *more)]
    for k in range(1, depth + 1):
        each = _is("e", *(["ARRAY"] if k < depth else _JSON[kind]))
        if k == depth and kind != "VARCHAR":
            each += f" AND try_cast(e AS {kind}) IS NOT NULL"
        legal.append(f"len(list_filter(json_extract({value}, '${'[*]' * k}'), lambda e: NOT ({each}))) = 0")
    return f"CASE WHEN {' AND '.join(legal)} THEN {made} END"


def _is(value: str, *kinds: str) -> str:
    return f"json_type({value}) IN ({', '.join(map(quoted, kinds))})"


def _owners(column: str, kind: str, rankers: str) -> str:
    """Return the expression that converts owners (names or numbers) to indices of rankers, -1 for no ranker."""
    if kind == "VARCHAR[]":
        made = f"list_transform({column}, lambda e: {_number('e', rankers)})"
    else:
        value = _array(column)
        number = (
            f"CASE json_type(e) WHEN 'NULL' THEN -1 WHEN 'VARCHAR' THEN {_number(_text('e'), rankers)}"
            f" WHEN 'DOUBLE' THEN {NO_RANKER} ELSE coalesce(try_cast(e AS INTEGER), {NO_RANKER}) END"
        )
        entries = f"json_extract({value}, '$[*]')"
        made = f"list_transform({entries}, lambda e: {number})"
        made = f"CASE WHEN NOT coalesce({_named_by_number(entries, rankers)}, false) THEN {made} END"
    return f"CASE WHEN NOT list_contains({made}, {NO_RANKER}) THEN {made}::INTEGER[] END"


def _array(column: str) -> str:
    return f"CASE WHEN json_valid({column}) AND json_type({column}) = 'ARRAY' THEN {column}::JSON END"


def _named_by_number(values: str, rankers: str) -> str:
    """Return the SQL of whether all owners are numbers that may be read as names and as positions of other rankers.

    values: the owners as text; a name in JSON has quotation marks.
    """
    some = f"list_filter({values}::VARCHAR[], lambda e: e NOT IN ('', '-1', 'null'))"
    other = f"coalesce(TRY_CAST(e AS INTEGER) NOT IN (list_position({rankers}, e) - 1), false)"
    both = f"list_has_all({rankers}, {some}) AND len(list_filter({some}, lambda e: {other})) > 0"
    return f"(list_min({rankers}) < ':' AND {both})"  # numbers sort before a colon


def _number(name: str, rankers: str) -> str:
    """Return the expression for the index of a name in ``rankers``, -1 for null or an empty name."""
    index = f"coalesce(nullif(list_position({rankers}, {name}), 0) - 1, {NO_RANKER})"
    return f"CASE WHEN nullif({name}, '') IS NULL THEN -1 ELSE {index} END"


def seconds(name: str, kind: str) -> str:
    """Return the SQL that converts a time to seconds, from a timestamp, a string or a number."""
    if kind.startswith(("TIMESTAMP", "DATE")):
        return f"epoch_us({name}::TIMESTAMPTZ) / 1e6" if "TIME ZONE" in kind else f"epoch_us({name}::TIMESTAMP) / 1e6"
    return f"coalesce(try_cast({name} AS DOUBLE), epoch_us(try_cast({name} AS TIMESTAMPTZ)) / 1e6)"
