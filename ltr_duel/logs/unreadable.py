"""Refuse events with a value that cannot be read, because they would silently not count."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ltr_duel.core import InputError, errors
from ltr_duel.logs.columns import EVENTS, typed
from ltr_duel.logs.engine import Engine
from ltr_duel.logs.table import LATEST, LEGAL

_LEGAL = {
    "position": "a whole number, 1 for the top",
    "time": LEGAL["time"],
    "dwell": "a number of seconds",
    "value": "a number",
}
_NUMBERS = {"dwell", "value"}


def refuse_unreadable(engine: Engine, raw: str, given: dict[str, Any], find: Callable[[int], Any]) -> None:
    """Raise `InputError` for the first event with an unreadable value, with its file and row.

    raw: the SQL of the events, with columns as in the file.
    given: the mapped expressions, for the message.
    """
    kinds = {row["column_name"]: row["column_type"] for row in engine.rows(f"DESCRIBE {raw}")}
    _refuse_other_units(engine, kinds, find)
    for first in (_first_place, _first_fault):
        if found := first(engine, raw, kinds):
            name, origin, value = found
            legal = _LEGAL.get(name, "a string or a number")
            said = f"'{name}' of an event must be {legal}, not {value!r}{_hint(name, value, given.get(name, name))}"
            raise InputError(errors.in_one_line(f"{find(origin)}: {said}"))


def _refuse_other_units(engine: Engine, kinds: dict[str, str], find: Callable[[int], Any]) -> None:
    """Raise `InputError` for the first event whose time is in a smaller unit than milliseconds, as for impressions."""
    if "time" in kinds:
        wrong = f"isfinite(time) AND time >= {LATEST * 1000}"
        for row in engine.rows(f"SELECT origin, time FROM events WHERE {wrong} ORDER BY origin LIMIT 1"):
            unit = "in seconds or milliseconds since 1970"
            raise InputError(f"{find(row['origin'])}: 'time' of an event must be {unit}, not {row['time']:.0f}")


def _first_place(engine: Engine, raw: str, kinds: dict[str, str]) -> tuple[str, int, Any] | None:
    """Return the name ``position``, row number and value of the first position that is not an integer."""
    kind = kinds.get("position", "INTEGER")
    if "INT" in kind and "[" not in kind:
        return None
    number = "try_cast(position::VARCHAR AS DOUBLE)"
    wrong = f"position::VARCHAR <> '' AND coalesce({number} <> floor({number}), true)"
    found = engine.rows(f"SELECT origin, position::VARCHAR AS value FROM ({raw}) WHERE {wrong} ORDER BY origin LIMIT 1")
    return ("position", found[0]["origin"], found[0]["value"]) if found else None


def _first_fault(engine: Engine, raw: str, kinds: dict[str, str]) -> tuple[str, int, Any] | None:
    """Return the column name, row number and value of the first value that cannot be converted."""
    if not any(kind in ("VARCHAR", "JSON") and EVENTS.get(name, kind) != kind for name, kind in kinds.items()):
        return None  # numbers and times can be converted
    faults = f"SELECT origin, fault FROM ({typed(engine, raw, EVENTS)})"
    found = engine.rows(f"{faults} WHERE fault NOT LIKE '%:\"\"}}' ORDER BY origin LIMIT 1")
    if not found:
        return None
    ((name, value),) = json.loads(found[0]["fault"]).items()
    return name, found[0]["origin"], value


def _hint(name: str, value: Any, given: str) -> str:
    """Return the end of the message: a mapping that reads the value, if one is known."""
    if name == "position" and "[" in value:
        return f'; for a column of lists map position = "unnest({given})"'
    if name == "time" and isinstance(value, str):
        return f"; for another form map time = \"strptime({given}, '%d.%m.%Y %H:%M:%S')\""
    if name in _NUMBERS and isinstance(value, str) and "," in value:
        return f"; for a decimal comma map {name} = \"replace({given}, ',', '.')\""
    return ""
