"""Read JSON files of a store and check their content, because they may be cut off, edited or from another version."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ltr_duel.core import InputError

Fields = Mapping[str, type | tuple[type, ...]]
NUMBER = (int, float)


def checked_record(given: Any, fields: Fields) -> dict[str, Any]:
    """Return a value if it is a dictionary that contains these fields, with values of the given types.

    Raises `InputError` otherwise; the caller prints its message in brackets after the name of the file.
    """
    if not isinstance(given, dict):
        raise InputError("not a JSON object")
    for name, kind in fields.items():
        if name not in given:
            raise InputError(f"'{name}' is missing")
        if not isinstance(given[name], kind):
            raise InputError(f"'{name}' has the wrong type")
    return given


def parsed_record(content: bytes | str, fields: Fields) -> dict[str, Any]:
    """Parse JSON and check it by `checked_record`. Raises `InputError` in the same way."""
    try:
        given = json.loads(content)
    except (ValueError, RecursionError):
        raise InputError("not JSON") from None
    return checked_record(given, fields)


def require_ordinary(path: Path) -> None:
    """Raise `InputError`, whose message is a part of a sentence, for a pipe or device, as reading it may never end."""
    if not path.is_file() and not path.is_dir() and path.exists():
        raise InputError("not an ordinary file")


def read_record(path: Path, what: str, fields: Fields, sha256: str = "") -> dict[str, Any]:
    """Read a JSON file with these fields; error messages call the file ``what``.

    sha256: the checksum of the file, if it has one.

    Raises `InputError`, with a complete message, if the file cannot be read or has other content.
    """
    try:
        require_ordinary(path)
        content = path.read_bytes()
        if sha256 and hashlib.sha256(content).hexdigest() != sha256:
            raise InputError("its checksum does not match")
        return parsed_record(content, fields)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except InputError as error:
        raise InputError(f"{path}: not {what} ({error})") from None
