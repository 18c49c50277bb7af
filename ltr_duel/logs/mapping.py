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
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ltr_duel.core import InputError, errors, listed
from ltr_duel.logs.attribution import EVENT, EXPOSURE
from ltr_duel.logs.engine import Engine, named, owner_numbers, quoted
from ltr_duel.logs.files import files_of, format_of

_TYPES = {"shown": "VARCHAR[]", "rankers": "VARCHAR[]", "owners": "INTEGER[]", "rankings": "VARCHAR[][]"}
_NUMBERS = {"propensity": "DOUBLE", "position": "BIGINT", "value": "DOUBLE", "dwell": "DOUBLE"}
_WHERE = ("file", "table", "where")
_NEEDED: dict[str, tuple[tuple[str, ...], ...]] = {  # of each line one
    "exposures": (("impression",), ("time",), ("query",)),
    "events": (("impression", "user"), ("position", "item", "owner")),
}
_OWNED = {"owners", "rankings", "page"}  # exposures with one of them say whose an item is


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
        for part in given:
            errors.require_one_of(f"section of {path}", part, ("exposures", "events"))
        self.exposures, self.events = given.get("exposures", {}), given.get("events", {})
        for part, legal in (("exposures", (*EXPOSURE, *context)), ("events", tuple(EVENT))):
            section = given.get(part, {})
            if not isinstance(section, dict):
                raise InputError(f"{path}: '{part}' must be a section, [{part}]")
            for key, value in section.items():
                if key not in (*legal, *_WHERE):
                    raise errors.unknown_name(f"column of [{part}] in {path}", key, (*legal, *_WHERE))
                texts = isinstance(value, list) and all(isinstance(one, str) for one in value) and key == "rankers"
                if not isinstance(value, str) and not texts:
                    raise InputError(f"{path}: [{part}] {key} must be an expression, in quotes; not {value}")
        for part, needed in _NEEDED.items():
            mapped = given.get(part, {}).keys() - set(_WHERE)
            for names in needed if mapped or part == "exposures" else ():
                if not mapped.intersection(names):
                    name = listed(names, "or")
                    raise InputError(f'{path}: [{part}] must map {name}: {names[0]} = "a column of yours"')
        if self.events.keys() - set(_WHERE) and not ("owner" in self.events or _OWNED & self.exposures.keys()):
            raise InputError(
                f"{path}: whose an item is must be mapped: 'owner' in [events], or 'owners', 'rankings' or 'page' in"
                " [exposures]"
            )


class Part:
    """One of the two relations: where its rows are, and how its columns are made.

    Parameters
    ----------
    name : {"exposures", "events"}
    mapping : Mapping or None
    given : str
        Where the rows are, if the mapping does not say.
    legal : tuple of str
        The columns that it may have.
    """

    def __init__(self, name: str, mapping: Mapping | None, given: str, legal: tuple[str, ...]) -> None:
        section = getattr(mapping, name) if mapping else {}
        self.name, self.legal, self._path = name, legal, mapping.path if mapping else None
        self.columns = {key: value for key, value in section.items() if key not in _WHERE}
        self.where = section.get("where", "")
        self.table, self.file = section.get("table", given), section.get("file", given)
        self._named = "file" in section

    @property
    def read(self) -> str:
        """The SQL of DuckDB for the rows, with their file as ``ltr_file``; a folder has files of one format."""
        path = Path(self.file)
        names = quoted(self.file)
        if path.is_dir():
            files = files_of(path)
            format_of(files)
            path, names = files[0], f"[{', '.join(quoted(str(file)) for file in files)}]"
        suffix = next((one for one in reversed(path.suffixes) if one != ".gz"), "")
        kinds = {".parquet": "read_parquet", ".csv": "read_csv", ".tsv": "read_csv"}
        return f"{kinds.get(suffix, 'read_json')}({names}, filename = 'ltr_file')"

    def tried(self, make: Callable[[dict[str, str], str], Any]) -> Any:
        """Return what is made of the columns and the condition; an error names the key of the mapping that is to blame.

        Raises
        ------
        InputError
        """
        try:
            return make(self.columns, self.where)
        except Exception as error:  # each backend has its own kinds
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
                value = self.where if key == "where" else self.columns[key]
                raise InputError(f"{self._path}: [{self.name}] {key} = {value!r}: {_first_line(error)}") from None
        file = f"{self._path}: [{self.name}] file = '{self.file}'" if self._named else self.file
        raise InputError(f"{file}: cannot be read as {self.name}: {sentence}") from None


def select(columns: dict[str, Any], where: str, source: str) -> str:
    """Return the SQL of one relation of a mapping, with the columns as they are; without columns all that there are."""
    chosen = []
    for name, value in columns.items():
        if isinstance(value, list):
            value = f"ARRAY[{', '.join(map(quoted, value))}]"  # in DuckDB and in Postgres
        chosen.append(f"{value} AS {named(name)}")
    return f"SELECT {', '.join(chosen) or '*'} FROM {source}{f' WHERE {where}' * bool(where)}"


def create_view(engine: Engine, part: Part) -> None:
    """Make a view of a relation of a mapping, its columns of the types that a log has.

    Raises
    ------
    InputError
        If that cannot be done.
    """

    def kinds_of(columns: dict[str, Any], where: str) -> dict[str, str]:
        found = engine.rows(f"DESCRIBE {select(columns, where, part.read)}")
        return {row["column_name"]: str(row["column_type"]) for row in found}

    kinds = part.tried(kinds_of)
    if not part.columns:
        kinds = {column: kind for column, kind in kinds.items() if column in part.legal}
        part.columns = {column: named(column) for column in kinds}
    columns = ", ".join(f"{_cast(column, kind, kinds)} AS {named(column)}" for column, kind in kinds.items())
    engine.duckdb.execute(
        f"CREATE VIEW {part.name} AS SELECT {columns} FROM ({select(part.columns, part.where, part.read)})"
    )


def find_row(engine: Engine, part: Part, impression: str | None, earlier: int) -> tuple[str, int, dict[str, Any]]:
    """Return the file, the number in it and the columns as given of a row, before which so many of its impression are.

    Rows of CSV count from the line that names the columns.
    """
    rows = f"(SELECT *, row_number() OVER () AS ltr_row FROM {part.read})"
    raw = select(part.columns | {"ltr_file": "ltr_file", "ltr_row": "ltr_row"}, part.where, rows)
    time = "ltr_row"
    if "time" in part.columns:
        kind = engine.duckdb.execute(f"SELECT typeof(time) FROM ({raw}) LIMIT 1").fetchone()
        time = f"{seconds('time', kind[0])}, ltr_row" if kind else time
    same = f"SELECT * FROM ({raw}) WHERE nullif(impression::VARCHAR, '') IS NOT DISTINCT FROM ? ORDER BY {time}"
    (found,) = engine.rows(f"{same} LIMIT 1 OFFSET {earlier}", impression)
    file, row = found.pop("ltr_file"), found.pop("ltr_row")
    (first,) = engine.rows(f"SELECT min(ltr_row) AS row FROM {rows} WHERE ltr_file = ?", file)
    return file, row - first["row"] + (2 if "read_csv" in part.read else 1), found


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]


def _cast(column: str, kind: str, kinds: dict[str, str]) -> str:
    name = named(column)
    if column == "time":
        return seconds(name, kind)
    if column == "owners" and kind == "VARCHAR[]" and "rankers" in kinds:
        return owner_numbers(name, "rankers")
    return f"try_cast({name} AS {_TYPES.get(column, _NUMBERS.get(column, 'VARCHAR'))})"


def seconds(name: str, kind: str) -> str:
    """Return the SQL of a time in seconds: dates and times, their texts, or numbers as they are."""
    if kind.startswith(("TIMESTAMP", "DATE")):
        return f"epoch_us({name}::TIMESTAMPTZ) / 1e6" if "TIME ZONE" in kind else f"epoch_us({name}::TIMESTAMP) / 1e6"
    return f"coalesce(try_cast({name} AS DOUBLE), epoch_us(try_cast({name} AS TIMESTAMPTZ)) / 1e6)"
