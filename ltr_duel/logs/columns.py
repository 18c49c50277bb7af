"""Convert the columns of a file to the types of a log's columns, by SQL expressions for DuckDB.

If a row has a value that cannot be converted, its column ``fault`` contains a message on this value.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from ltr_duel.core import InputError, errors
from ltr_duel.logs.engine import Engine, named, quoted
from ltr_duel.logs.table import EVENT, LEGAL, LOG_COLUMNS, NO_RANKER, NO_RANKERS

_SQL = {
    "string": "VARCHAR",
    "double": "DOUBLE",
    "list<item: string>": "VARCHAR[]",
    "list<item: int32>": "INTEGER[]",
}
LOG = {name: _SQL[str(column.kind)] for name, column in LOG_COLUMNS.items()}
NEEDED: dict[str, tuple[tuple[str, ...], ...]] = {  # a file or table needs at least one column of each group
    "log": tuple((name,) for name, column in LOG_COLUMNS.items() if column.needed),
    "exposures": (("impression",), ("time",), ("query",)),
    "events": (("impression", "user"), ("item", "position")),
}
_AS_JSON = "a list in JSON, such as [1, 3] (lists in another form: --source, see docs/log_formats.md)"
_SHORT = 60  # maximum number of characters of a value in a message
_RECORDS = {"query_id", "client_id"}
_UBI = " (records of User Behavior Insights are read with --format ubi)"
_ENTRIES = "['VARCHAR', 'DOUBLE', 'BIGINT', 'UBIGINT', 'HUGEINT']"  # JSON types of the entries of lists
_NAMED = 12  # maximum number of columns that a message lists
_EITHER = "'owners' are numbers that are names of rankers and also positions of others: write names as text"
_NULLABLE = ("impression", "user", "item", "position", "owner", "value", "dwell")  # in these columns NaN is null


def require_columns(where: str | Path, have: Sequence[str], kind: str, context: Collection[str] = ()) -> None:
    """Raise `InputError` if a file or table lacks a needed column or a column of ``context``."""
    missing = [" or ".join(f"'{name}'" for name in group) for group in NEEDED[kind] if not set(group) & set(have)]
    names = ", ".join([*have[:_NAMED], *["..."] * (len(have) > _NAMED)]) or "none"
    if missing:
        columns, them = ("columns", "columns, or map them") if len(missing) > 1 else ("column", "a column, or map it")
        lacks = f"{where} has no {columns} {errors.listed(missing)} (it has {names}): rename {them} with --source"
        raise InputError(errors.in_one_line(f"{lacks}; see docs/log_formats.md{_UBI * (set(have) >= _RECORDS)}"))
    for name in {*context} - {"day", "week", *have}:  # `subgroups` computes days and weeks from times
        raise InputError(errors.in_one_line(f"{where}: {errors.unknown_name('column', name, have[:_NAMED])}"))


def typed(engine: Engine, raw: str, types: dict[str, str] = LOG) -> str:
    """Return SQL that converts the columns of a query to ``types``. If a conversion can fail, ``fault`` is added."""
    kinds = {row["column_name"]: row["column_type"] for row in engine.rows(f"DESCRIBE {raw}")}
    floats = [named(name) for name, kind in kinds.items() if kind in ("DOUBLE", "FLOAT") and name in _NULLABLE]
    if floats:  # data frames store missing values as NaN; DuckDB may skip isnan() for Parquet, so compare text
        nulls = ", ".join(f"CASE WHEN {name}::VARCHAR <> 'nan' THEN {name} END AS {name}" for name in floats)
        raw = f"SELECT * REPLACE ({nulls}) FROM ({raw})"
    converted = {name: _converted(name, kinds, types) for name in kinds if name != "fault"}
    other = {name: named(f"ltr {name}") for name, value in converted.items() if value != named(name)}
    faults = ["WHEN fault IS NOT NULL THEN fault"] if "fault" in kinds else []
    for name, value in other.items():
        text = _text(named(name), kinds[name])
        faults.append(f"WHEN {text} <> '' AND {value} IS NULL THEN {_sentence(name, kinds, types)}")
    if "owners" in other and "rankers" in kinds and kinds["owners"] != "VARCHAR[]":
        faults.append(f"WHEN {_ambiguous(other['owners'], _rankers(kinds, types))} THEN {quoted(_EITHER)}")
    if "rankers" in other:  # the names in owners are looked up in rankers
        raw = f"SELECT *, {converted['rankers']} AS {other['rankers']} FROM ({raw})"
    chosen = [f"{other.get(name, named(name))} AS {named(name)}" for name in converted]
    if faults:
        chosen.append(f"CASE {' '.join(faults)} END AS fault")
    once = ", ".join(["*", *(f"{converted[name]} AS {value}" for name, value in other.items() if name != "rankers")])
    return f"SELECT {', '.join(chosen)} FROM (SELECT {once} FROM ({raw}))"


def _converted(name: str, kinds: dict[str, str], types: dict[str, str]) -> str:
    column, kind = named(name), kinds[name]
    wanted = types.get(name, kind)
    if name == "owners" and ("rankers" in kinds or kind in ("JSON", "VARCHAR", "VARCHAR[]")):
        return _owners(column, kind, _rankers(kinds, types))
    if kind == wanted:
        return _text(column, kind) if kind == "JSON" else column
    if name == "time" and kind in ("JSON", "VARCHAR"):
        return seconds(_text(column, kind))
    if name == "time" and kind.startswith(("TIMESTAMP", "DATE")):
        return f"epoch_us({column}::{'TIMESTAMPTZ' if 'ZONE' in kind else 'TIMESTAMP'}) / 1e6"
    if wanted == "BIGINT" and "INT" not in kind:  # a whole number may be written as 2.0
        number = f"try_cast({_text(column, kind)} AS DOUBLE)"
        return f"CASE WHEN {number} = floor({number}) THEN try_cast({number} AS BIGINT) END"
    if kind not in ("JSON", "VARCHAR") or (kind == "VARCHAR" and not wanted.endswith("]")):
        return f"try_cast({column} AS {wanted})"
    value = f"CASE WHEN json_valid({column}) THEN {column}::JSON END"
    if not wanted.endswith("]"):
        single = f"json_type({column}) NOT IN ('ARRAY', 'BOOLEAN'{', ' + repr('OBJECT') if name != 'page' else ''})"
        return f"CASE WHEN {single} THEN try_cast({_text(column, kind)} AS {wanted}) END"
    cast = f"try_cast({value} AS {wanted})"
    if wanted == "INTEGER[]":  # a cast rounds 1.5, and makes true a 1
        legal = f"to_json({cast}) = json({value})"
    else:
        legal = f"json_type({value}) = 'ARRAY' AND list_has_all({_ENTRIES}, json_type({value}, '$[*]'))"
    read = f"CASE WHEN {legal} THEN {cast} END"
    return (
        read
        if kind == "JSON"
        else f"CASE WHEN json_valid({column}) THEN {read} ELSE try_cast({column} AS {wanted}) END"
    )


def _text(column: str, kind: str) -> str:
    """Return SQL for a value as text. The null of JSON becomes the null of SQL."""
    return {"JSON": f"json_extract_string({column}, '$')", "VARCHAR": column}.get(kind, f"{column}::VARCHAR")


def _rankers(kinds: dict[str, str], types: dict[str, str]) -> str:
    if "rankers" not in kinds:
        return "NULL::VARCHAR[]"
    return "rankers" if _converted("rankers", kinds, types) == named("rankers") else '"ltr rankers"'


def _owners(column: str, kind: str, rankers: str) -> str:
    """Return SQL that converts owners to positions in the list of rankers, with -1 for a document without owner."""
    if kind == "INTEGER[]":  # as in a log that this package wrote
        return column
    if kind not in ("JSON", "VARCHAR", "VARCHAR[]"):
        return f"try_cast({column} AS INTEGER[])"
    name = "e" if kind == "VARCHAR[]" else "json_extract_string(e, '$')"
    index = f"coalesce(nullif(list_position({rankers}, {name}), 0) - 1, {NO_RANKER})"
    if kind != "VARCHAR[]":
        number = "CASE WHEN json_type(e) <> 'DOUBLE' THEN try_cast(e AS INTEGER) END"
        index = f"CASE WHEN json_type(e) = 'VARCHAR' THEN {index} ELSE coalesce({number}, {NO_RANKER}) END"
    entries = _entries(column, kind)
    positions = f"list_transform({entries}, lambda e: CASE WHEN coalesce({name}, '') = '' THEN -1 ELSE {index} END)"
    return f"CASE WHEN NOT list_contains({positions}, {NO_RANKER}) THEN {positions}::INTEGER[] END"


def _entries(column: str, kind: str) -> str:
    """Return SQL for the entries of a list. Texts in JSON keep their quotation marks."""
    if kind not in ("JSON", "VARCHAR"):
        return column
    array = f"CASE WHEN json_valid({column}) AND json_type({column}) = 'ARRAY' THEN {column}::JSON END"
    return f"json_extract({array}, '$[*]')"


def _ambiguous(owners: str, rankers: str) -> str:
    """Return SQL for whether numbers in ``owners`` may be positions or names of rankers."""
    given = f"list_filter({owners}, lambda e: e >= 0)"
    names, other = f"list_has_all({rankers}, {given}::VARCHAR[])", f"coalesce({rankers}[e + 1] <> e::VARCHAR, true)"
    return f"owners::VARCHAR NOT LIKE '%\"%' AND {names} AND len(list_filter({given}, lambda e: {other})) > 0"


def _sentence(name: str, kinds: dict[str, str], types: dict[str, str]) -> str:
    """Return SQL for the message on a value that cannot be converted."""
    column, kind = named(name), kinds[name]
    of_event = " of an event" * (types is EVENT)
    must = _AS_JSON if kind == "VARCHAR" and types.get(name, "").endswith("]") else LEGAL.get(name, LEGAL["query"])
    shown = f"left(replace({column}::VARCHAR, '\"', ''''), {_SHORT})"
    end = "'" if kind == "VARCHAR" else ""
    sentence = quoted(f"'{name}'{of_event} must be {must}, not {end}") + f" || {shown} || {quoted(end)}"
    if name != "owners":
        return sentence
    lacks = quoted(f"'owners' contains names, but {NO_RANKERS}")
    rankers = _rankers(kinds, types)
    if kind not in ("JSON", "VARCHAR", "VARCHAR[]"):
        return sentence
    names = column if kind == "VARCHAR[]" else f"list_transform({_entries(column, kind)}, lambda e: e ->> '$')"
    strange = f"list_filter({names}, lambda e: e <> '' AND NOT list_contains({rankers}, e))[1]"
    digits = quoted("; a position in rankers must be a number, not text")
    return (
        f"CASE WHEN {names} IS NULL THEN {sentence} WHEN {rankers} IS NULL THEN {lacks}"
        f" WHEN len({strange}) > 0 THEN"
        f" 'owner ''' || {strange} || ''' is not a ranker: ' || array_to_string({rankers}, ' or ') ||"
        f" ', null for no ranker' || CASE WHEN regexp_full_match({strange}, '[0-9]+') THEN {digits} ELSE '' END"
        f" ELSE {sentence} END"
    )


def seconds(text: str) -> str:
    """Return SQL that converts a number of seconds or a date, given as text, to seconds."""
    return f"coalesce(try_cast({text} AS DOUBLE), epoch_us(try_cast({text} AS TIMESTAMPTZ)) / 1e6)"
