"""Read TOML files into frozen dataclasses. Each error says where the fault is and which values are valid.

Use `value`, `axis`, `table` and `tables` to declare the fields of such a dataclass. `value` and `axis` need a *reader*,
which is a function that checks a value of the file and converts it.
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from ltr_duel.core import components, errors
from ltr_duel.core.errors import InputError

Table = TypeVar("Table")
Reader = Callable[[Any], Any]


def read_toml(path: Path, content: str | None = None) -> tuple[str, dict[str, Any]]:
    """Return the text and the tables of a TOML file. Raise `InputError` if it is not TOML.

    content: the text, if the file need not be read.
    """
    try:
        content = path.read_text(encoding="utf-8") if content is None else content
        return content, tomllib.loads(content)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # not TOML, not text, or thousands of digits or brackets
        raise InputError(f"{path}: not TOML: {error}") from None


def _field(read: Callable[[Any, str], Any], default: dict[str, Any], such_as: str = "") -> Any:
    return dataclasses.field(metadata={"read": read, "such_as": such_as}, **default)


def value(read: Reader, such_as: str = "", **default: Any) -> Any:
    """Declare a field that holds one value. ``such_as`` is an example for the error message if the field is missing."""
    return _field(lambda given, where: _single(read, given, where), default, such_as)


def axis(read: Reader, such_as: str = "", **default: Any) -> Any:
    """Declare a field that holds a tuple. In the file, the user writes one value or a list of distinct values."""
    return _field(lambda given, where: one_or_more(read, given, where), default, such_as)


def table(cls: type, **default: Any) -> Any:
    """Declare a field that holds a table of the file."""
    return _field(lambda given, where: read_table(cls, given, where), default)


def tables(cls: type, **default: Any) -> Any:
    """Declare a field that holds several tables, which users write as ``[[name]]``."""

    def read_all(given: Any, where: str) -> tuple[Any, ...]:
        if not isinstance(given, list):
            raise InputError(f"{where}: must be written as [[{where.rpartition(' ')[2]}]]")
        return tuple(read_table(cls, item, f"{where}[{k}]") for k, item in enumerate(given))

    return _field(read_all, default)


def read_table(cls: type[Table], given: Any, where: str) -> Table:
    """Fill a dataclass from a TOML table. Error messages begin with ``where``, the place of the table."""
    if not isinstance(given, dict):
        raise InputError(f"{where}: must be a table, not {errors.shown(given)}")
    declared = dataclasses.fields(cls)  # type: ignore[arg-type]  # only dataclasses are given
    fields = {field.name: field for field in declared if "read" in field.metadata}
    inside = f"{where} " if where.endswith(":") else f"{where}."
    with located(where.rstrip(":")):
        for key in given:
            errors.require_one_of("key", key, fields)
        for name, field in fields.items():
            if field.default is dataclasses.MISSING and name not in given:
                raise missing(f"the key '{name}'", field.metadata["such_as"])
        return cls(**{key: fields[key].metadata["read"](item, inside + key) for key, item in given.items()})


def missing(what: str, such_as: str) -> InputError:
    """Return the error for a missing key or table, with an example."""
    return InputError(f"{what} is missing" + f"; for example: {such_as}" * bool(such_as))


@contextmanager
def located(where: str) -> Iterator[None]:
    """Put the place in the file at the beginning of the message of an `InputError`."""
    try:
        yield
    except InputError as error:
        message = str(error)
        raise InputError(message if message.startswith(where) else f"{where}: {message}") from None


def whole(low: int, high: int | None = None) -> Reader:
    """Return a reader of whole numbers. Users may also write 1e6."""
    return lambda given: errors.require_whole("the value", given, low, high)


def number(low: float, high: float | None = None) -> Reader:
    """Return a reader of numbers."""

    def read(given: Any) -> float:
        if not isinstance(given, (int, float)) or isinstance(given, bool):
            raise InputError(f"the value must be a number, not {errors.shown(given)}")
        errors.require_between("the value", given, low, high)
        return float(given)

    return read


def flag(given: Any) -> bool:
    """Read true or false."""
    if not isinstance(given, bool):
        raise InputError(f"the value must be true or false, not {errors.shown(given)}")
    return given


def text(given: Any) -> str:
    """Read a string that is not empty."""
    if not isinstance(given, str) or not given.strip():
        raise InputError(f"the value must be a string, not {errors.shown(given)}")
    return given


def component(registry: components.Registry[Any]) -> Reader:
    """Return a reader of a component with its parameters, for example ``"rucb:alpha=0.51"``."""
    return lambda given: registry.configure(text(given)).label


def one_of(kind: str, legal: Iterable[str] | Callable[[], Iterable[str]]) -> Reader:
    """Return a reader of one of several names. ``legal`` has the names, or is a function that returns them."""

    def read(given: Any) -> Any:
        errors.require_one_of(kind, given, list(legal() if callable(legal) else legal))
        return given

    return read


def one_or_more(read: Reader, given: Any, where: str) -> tuple[Any, ...]:
    """Read one value or a list of distinct values."""
    if not isinstance(given, list):
        return (_single(read, given, where),)
    if not given:
        raise InputError(f"{where}: the list is empty")
    values = tuple(_single(read, item, f"{where}[{k}]") for k, item in enumerate(given))
    for k, item in enumerate(values):
        if item in values[:k]:
            raise InputError(f"{where}[{k}]: {errors.shown(given[k])} is given twice")
    return values


def _single(read: Reader, given: Any, where: str) -> Any:
    with located(where):
        return read(given)
