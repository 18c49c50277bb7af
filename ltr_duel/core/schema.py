"""Read TOML files and convert their tables to frozen dataclasses; each error names the key path and the valid values.

A dataclass declares each of its fields by `value`, `axis` (one value or a list), `table` or `tables`.
"""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from ltr_duel.core import components, errors
from ltr_duel.core.errors import InputError

Table = TypeVar("Table")
Reader = Callable[[Any], Any]

_LONGEST = 4096  # maximum length of a string, in characters: the length of the longest path
_LONG_KEY = re.compile(r"(?<![\w-])(?:[\w-]++\s*+\.\s*+){50}")  # tomllib takes minutes for thousands of parts


def read_toml(path: Path, content: str | None = None) -> tuple[str, dict[str, Any]]:
    """Return text and tables of a TOML file, or of ``content`` if given. Raises `InputError` if it is not TOML."""
    try:
        content = path.read_text(encoding="utf-8") if content is None else content
        if _LONG_KEY.search(content):
            raise InputError(f"{path}: a key of more than 50 parts is invalid")
        return content, tomllib.loads(content)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except RecursionError:
        raise InputError(f"{path}: its brackets are nested too deeply") from None
    except InputError:
        raise
    except ValueError as error:  # not TOML, not text, or a number of thousands of digits
        raise InputError(f"{path}: not TOML: {error}") from None


def _field(read: Callable[[Any, str], Any], default: dict[str, Any], such_as: str = "") -> Any:
    return dataclasses.field(metadata={"read": read, "such_as": such_as}, **default)


def value(read: Reader, such_as: str = "", **default: Any) -> Any:
    """Declare a field of one value; ``such_as`` is an example in TOML, for a field without a default."""
    return _field(lambda given, where: _one(read, given, where), default, such_as)


def axis(read: Reader, such_as: str = "", *, empty: bool = False, **default: Any) -> Any:
    """Declare a tuple field, given as one value or a list; an empty list is valid only if ``empty`` is true."""
    return _field(
        lambda given, where: () if empty and given == [] else one_or_more(read, given, where), default, such_as
    )


def table(cls: type, **default: Any) -> Any:
    """Declare a field that is a table."""
    return _field(lambda given, where: read_table(cls, given, where), default)


def tables(cls: type, **default: Any) -> Any:
    """Declare a field that is an array of tables, written ``[[name]]``."""

    def read(given: Any, where: str) -> tuple[Any, ...]:
        if not isinstance(given, list):
            raise InputError(f"{where}: must be written as [[{where.rpartition(' ')[2]}]]")
        return tuple(read_table(cls, one, f"{where}[{k}]") for k, one in enumerate(given))

    return _field(read, default)


def read_table(cls: type[Table], given: Any, where: str) -> Table:
    """Build a dataclass from a TOML table; messages of `InputError` begin with ``where``."""
    if not isinstance(given, dict):
        raise InputError(f"{where}: must be a table, not {_shown(given)}")
    declared = dataclasses.fields(cls)  # type: ignore[arg-type]  # only dataclasses are given
    fields = {field.name: field for field in declared if "read" in field.metadata}
    place, inside = where.rstrip(":"), f"{where} " if where.endswith(":") else f"{where}."
    with located(place):
        for key in given:
            errors.require_one_of("key", key, fields)
        for name, field in fields.items():
            if field.default is dataclasses.MISSING and name not in given:
                raise missing(f"the key '{name}'", field.metadata["such_as"])
        return cls(**{key: fields[key].metadata["read"](one, inside + key) for key, one in given.items()})


def missing(what: str, such_as: str) -> InputError:
    """Return the error for a missing key or table, with an example."""
    return InputError(f"{what} is missing" + f"; for example: {such_as}" * bool(such_as))


@contextmanager
def located(where: str) -> Iterator[None]:
    """Put the key path before the message of an `InputError`, unless the message already begins with the path."""
    try:
        yield
    except InputError as error:
        message = str(error)
        raise InputError(message if message.startswith(where) else f"{where}: {message}") from None


def whole(low: int, high: int | None = None) -> Reader:
    """Return a reader of whole numbers, which may be written as 1e6."""
    return lambda given: int(_number(given, low, high, whole=True))


def number(low: float, high: float | None = None) -> Reader:
    """Return a reader of numbers."""
    return lambda given: float(_number(given, low, high, whole=False))


def flag(given: Any) -> bool:
    """Read true or false."""
    if not isinstance(given, bool):
        raise InputError(f"must be true or false, not {_shown(given)}")
    return given


def text(given: Any) -> str:
    """Read a string that is not empty."""
    if not isinstance(given, str) or not given.strip():
        raise InputError(f"must be a string, not {_shown(given)}")
    if len(given) > _LONGEST:
        raise InputError(f"must be a string of at most {_LONGEST:,} characters, not of {len(given):,}")
    return given


def component(registry: components.Registry[Any]) -> Reader:
    """Return a reader of component names with parameters, ``"rucb:alpha=0.51"``; the reader returns a checked label."""

    def read(given: Any) -> str:
        if not isinstance(given, str) or not given.strip():
            raise errors.unknown_name(registry.kind, given, registry.names())
        return registry.configure(text(given)).label

    return read


def one_of(kind: str, legal: Iterable[str] | Callable[[], Iterable[str]]) -> Reader:
    """Return a reader of one of several names; ``legal`` may be a function, which is called when a name is read."""

    def read(given: Any) -> str:
        if isinstance(given, str) and given.strip():
            text(given)  # checks the length
        name = _shown(given) if isinstance(given, bool) else given
        errors.require_one_of(kind, name, list(legal() if callable(legal) else legal))
        return str(name)

    return read


def one_or_more(read: Reader, given: Any, where: str) -> tuple[Any, ...]:
    """Read one value or a list of distinct values."""
    if not isinstance(given, list):
        return (_one(read, given, where),)
    if not given:
        raise InputError(f"{where}: the list is empty")
    every = tuple(_one(read, one, f"{where}[{k}]") for k, one in enumerate(given))
    for k, one in enumerate(every):
        if one in every[:k]:
            raise InputError(f"{where}[{k}]: {_shown(given[k])} is given twice")
    return every


def _one(read: Reader, given: Any, where: str) -> Any:
    with located(where):
        return read(given)


def _number(given: Any, low: float, high: float | None, *, whole: bool) -> float:
    if not isinstance(given, (int, float)) or isinstance(given, bool) or (whole and given % 1 != 0):
        raise InputError(f"must be {'a whole number' if whole else 'a number'}, not {_shown(given)}")
    errors.require_between("the value", given, low, high)
    return given


def _shown(given: Any) -> str:
    return repr(given) if isinstance(given, str) else str(given).lower() if isinstance(given, bool) else str(given)
