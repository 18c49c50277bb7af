"""JSON that lies in a store. Files may be cut off, edited or of another version: what is read back is checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ltr_duel.core import InputError

Fields = Mapping[str, type | tuple[type, ...]]
NUMBER = (int, float)


def checked_record(given: Any, fields: Fields) -> dict[str, Any]:
    """Return what was given, if it is an object that has these fields, each of its type.

    Raises `InputError` if not: a part of a sentence, for brackets behind the name of the file.
    """
    if not isinstance(given, dict):
        raise InputError("not an object of JSON")
    for name, kind in fields.items():
        if name not in given:
            raise InputError(f"'{name}' is missing")
        if not isinstance(given[name], kind):
            raise InputError(f"'{name}' is not what it should be")
    return given


def parsed_record(content: bytes | str, fields: Fields) -> dict[str, Any]:
    """Parse JSON, and check it as `checked_record` does. Raises what that does."""
    try:
        given = json.loads(content)
    except (ValueError, RecursionError):
        raise InputError("not JSON") from None
    return checked_record(given, fields)


def read_record(path: Path, what: str, fields: Fields) -> dict[str, Any]:
    """Read a file of JSON that is ``what``, with these fields.

    Raises `InputError` if it cannot be read, or is something else; a whole sentence.
    """
    try:
        return parsed_record(path.read_bytes(), fields)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except InputError as error:
        raise InputError(f"{path}: not {what} ({error})") from None
