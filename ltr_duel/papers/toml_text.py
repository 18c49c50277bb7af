"""Write a table as TOML. The standard library only reads it; a spec needs plain values, lists and tables, no dates."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def toml_text(table: Mapping[str, Any]) -> str:
    """Return the text: plain keys first, then each list of tables as ``[[name]]``; deeper tables are written inline."""
    lists = {key: one for key, one in table.items() if _is_list_of_tables(one)}
    lines = _assignments({key: one for key, one in table.items() if key not in lists})
    for key, parts in lists.items():
        for part in parts:
            lines += ["", f"[[{_key(key)}]]", *_assignments(part)]
    return "\n".join(lines) + "\n"


def _is_list_of_tables(given: Any) -> bool:
    return isinstance(given, list) and bool(given) and all(isinstance(one, dict) for one in given)


def _assignments(table: Mapping[str, Any]) -> list[str]:
    return [f"{_key(key)} = {_value(one)}" for key, one in table.items()]


def _key(key: str) -> str:
    bare = key.isascii() and key.replace("_", "a").replace("-", "a").isalnum()
    return key if bare else json.dumps(key, ensure_ascii=False)


def _value(given: Any) -> str:
    if isinstance(given, dict):
        return "{ " + ", ".join(_assignments(given)) + " }" if given else "{}"
    if isinstance(given, (list, tuple)):
        return "[" + ", ".join(_value(one) for one in given) + "]"
    if isinstance(given, float):
        return repr(given)  # TOML too writes nan and inf
    return json.dumps(given, ensure_ascii=False).replace("\x7f", "\\u007f")
