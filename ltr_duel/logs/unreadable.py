"""Refuse events with a value that cannot be read, because they would silently not count."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ltr_duel.core import InputError, errors
from ltr_duel.logs.columns import EVENTS, typed
from ltr_duel.logs.engine import Engine
from ltr_duel.logs.table import LEGAL

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
    for name, origin, value in (_first_place(engine, raw), _first_fault(engine, raw)):
        if name:
            legal = _LEGAL.get(name, "a string or a number")
            said = f"'{name}' of an event must be {legal}, not {value!r}{_hint(name, value, given.get(name, name))}"
            raise InputError(errors.in_one_line(f"{find(origin)}: {said}"))


def _first_place(engine: Engine, raw: str) -> tuple[str, int, str]:
    """Return the name ``position``, row number and value of the first position that is not an integer."""
    kinds = {row["column_name"]: row["column_type"] for row in engine.rows(f"DESCRIBE {raw}")}
    kind = kinds.get("position", "INTEGER")
    if "INT" in kind and "[" not in kind:
        return "", 0, ""
    number = "try_cast(position::VARCHAR AS DOUBLE)"
    wrong = f"position::VARCHAR <> '' AND coalesce({number} <> floor({number}), true)"
    found = engine.rows(f"SELECT origin, position::VARCHAR AS value FROM ({raw}) WHERE {wrong} ORDER BY origin LIMIT 1")
    return ("position", found[0]["origin"], found[0]["value"]) if found else ("", 0, "")


def _first_fault(engine: Engine, raw: str) -> tuple[str, int, Any]:
    """Return the column name, row number and value of the first value that cannot be converted."""
    events = typed(engine, raw, EVENTS)
    if not engine.rows(f"SELECT 1 FROM (DESCRIBE {events}) WHERE column_name = 'fault'"):
        return "", 0, ""
    found = engine.rows(f"SELECT origin, fault FROM ({events}) WHERE fault NOT LIKE '%:\"\"}}' ORDER BY origin LIMIT 1")
    if not found:
        return "", 0, ""
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
