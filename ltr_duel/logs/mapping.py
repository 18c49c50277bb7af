"""Any other table as exposures and events: a TOML file that maps their columns.

```
[exposures]
where = "event = 'serp'"          # a condition; optional
impression = "search_id"          # a column, or an expression in the SQL of the engine
time = "timestamp"                # a date and time, or seconds since 1970, or milliseconds
query = "''"
rankers = ["A", "B"]              # a column that holds lists, or the same for all

[events]
where = "event = 'click'"
impression = "search_id"
position = "position"
owner = "ranking_function"
kind = "event"
```

``file`` (a file, folder or glob) or ``table`` (of a connection) says where the rows are, if the command does not.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from ltr_duel.core import InputError, errors
from ltr_duel.logs.attribution import EVENT, EXPOSURE
from ltr_duel.logs.engine import Engine, named, owner_numbers, quoted

_TYPES = {"shown": "VARCHAR[]", "rankers": "VARCHAR[]", "owners": "INTEGER[]", "rankings": "VARCHAR[][]"}
_NUMBERS = {"propensity": "DOUBLE", "position": "BIGINT", "value": "DOUBLE", "dwell": "DOUBLE"}
_WHERE = ("file", "table", "where")


class Mapping:
    """What a mapping says.

    Parameters
    ----------
    path : Path
    context : tuple of str
        Further columns that exposures may have.

    Raises
    ------
    InputError
        If it cannot be read, or names columns that a log does not have.
    """

    def __init__(self, path: Path, context: tuple[str, ...] = ()) -> None:
        self.path = path
        try:
            given = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise InputError(f"{path}: no mapping: {error}") from None
        self.exposures, self.events = given.get("exposures", {}), given.get("events", {})
        for part, legal in (("exposures", (*EXPOSURE, *context)), ("events", tuple(EVENT))):
            for key in given.get(part, {}):
                if key not in (*legal, *_WHERE):
                    raise errors.unknown_name(f"column of [{part}] in {path}", key, (*legal, *_WHERE))
        for key in ("impression", "time", "query"):
            if key not in self.exposures:
                raise InputError(f"{path}: [exposures] must map '{key}'")


def select(part: dict[str, Any], source: str) -> str:
    """Return the SQL of one relation of a mapping, with the columns as they are."""
    columns = []
    for name, value in part.items():
        if name in _WHERE:
            continue
        if isinstance(value, list):
            value = "[" + ", ".join(quoted(str(one)) for one in value) + "]"
        columns.append(f"{value} AS {named(name)}")
    where = f" WHERE {part['where']}" if "where" in part else ""
    return f"SELECT {', '.join(columns)} FROM {source}{where}"


def create_view(engine: Engine, name: str, part: dict[str, Any], source: str) -> None:
    """Make a view of a relation of a mapping, its columns of the types that a log has."""
    raw = select(part, source)
    kinds = {column: str(kind) for column, kind, *_ in engine.duckdb.execute(f"DESCRIBE {raw}").fetchall()}
    columns = ", ".join(f"{_cast(column, kind, kinds)} AS {named(column)}" for column, kind in kinds.items())
    engine.duckdb.execute(f"CREATE VIEW {name} AS SELECT {columns} FROM ({raw})")


def _cast(column: str, kind: str, kinds: dict[str, str]) -> str:
    name = named(column)
    if column == "time":
        return seconds(name, kind)
    if column == "owners" and kind == "VARCHAR[]" and "rankers" in kinds:
        return owner_numbers(name, "rankers")
    return f"try_cast({name} AS {_TYPES.get(column, _NUMBERS.get(column, 'VARCHAR'))})"


def seconds(name: str, kind: str) -> str:
    """Return the SQL of a time in seconds: dates and times, their texts, seconds, or milliseconds (from 1e11 on)."""
    if kind.startswith(("TIMESTAMP", "DATE")):
        return f"epoch_us({name}::TIMESTAMPTZ) / 1e6" if "TIME ZONE" in kind else f"epoch_us({name}::TIMESTAMP) / 1e6"
    number = f"try_cast({name} AS DOUBLE)"
    dated = f"epoch_us(try_cast({name} AS TIMESTAMPTZ)) / 1e6"
    return f"coalesce(CASE WHEN {number} >= 1e11 THEN {number} / 1000 ELSE {number} END, {dated})"
