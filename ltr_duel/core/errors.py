"""Errors in the user's input. A message is one sentence: the fault, where it is, and which values are valid."""

from __future__ import annotations

import difflib
import operator
import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from typing import Any

_LONG_WORD = re.compile(r"\S{201,}")


class InputError(ValueError):
    """The user's input cannot be used.

    The command line prints the message without a traceback and exits with code 2.

    Examples
    --------
    >>> str(InputError("run.txt:7: a line of a run has 6 words, not 5"))
    'run.txt:7: a line of a run has 6 words, not 5'
    """

    def __init__(self, message: str) -> None:
        super().__init__(in_one_line(message))


def in_one_line(text: str) -> str:
    """Escape control characters in a message, and shorten very long words."""
    short = _LONG_WORD.sub(lambda word: f"{word[0][:60]}...{word[0][-20:]} ({len(word[0]):,} characters)", text)
    return "".join(repr(c)[1:-1] if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") else c for c in short)


def shown(value: Any) -> str:
    """Return an invalid value for a message. A value without a short form is described by its type."""
    if isinstance(value, str):
        return f"'{value}'"
    return str(value) if value is None or isinstance(value, bool | int | float) else f"a {type(value).__name__}"


def unknown_name(kind: str, name: Any, legal: Iterable[str], *, otherwise: str = "", command: str = "") -> InputError:
    """Return the error for an unknown name. It suggests a similar name and lists the valid names.

    otherwise: advice, which is added if no name is similar.
    command: a command that prints the valid names. It replaces the list if a name is similar.
    """
    names = list(legal)
    close = _close_name(name, names) if isinstance(name, str) and len(name) <= 200 else ""
    hint = f"; did you mean '{close}'?" if close else ";"
    advice = f"; {otherwise}" if otherwise and not close else ""
    valid = f"{command} prints all" if command and close else ", ".join(names)
    return InputError(f"no {kind} {shown(name)}{hint} ({valid}){advice}")


def _close_name(name: str, names: Sequence[str]) -> str:
    folded, key = {candidate.casefold(): candidate for candidate in reversed(names)}, name.casefold()
    begun = [candidate for candidate in folded if len(key) > 2 and candidate.startswith(key)]
    close = sorted(begun, key=len) or difflib.get_close_matches(key, folded, n=1)
    return folded[close[0]] if close else ""


def require_one_of(kind: str, name: Any, legal: Collection[str]) -> None:
    """Raise the error of `unknown_name` if the value is not one of the valid names."""
    if not isinstance(name, str) or name not in legal:
        raise unknown_name(kind, name, legal)


def require_between(name: str, value: Any, low: float, high: float | None = None) -> None:
    """Raise `InputError` if ``value`` is not a number from ``low`` to ``high``. NaN is invalid."""
    try:
        legal = bool(value >= low and (high is None or value <= high))
    except (TypeError, ValueError):
        legal = False
    if not legal:
        limits = f"at least {low:g}" if high is None else f"between {low:g} and {high:g}"
        raise InputError(f"{name} must be {limits}, not {shown(value)}")


def require_whole(name: str, value: Any, low: int | None = None, high: int | None = None) -> int:
    """Return a whole number from ``low`` to ``high`` as an ``int``. Valid forms are 1000, 1e3 and np.int64(1000).

    Raises `InputError` for anything else.
    """
    try:
        number = int(value) if isinstance(value, float) and value.is_integer() else operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise InputError(f"{name} must be a whole number, not {shown(value)}")
    if low is not None:
        require_between(name, number, low, high)
    return number


def listed(names: Sequence[str], word: str = "and") -> str:
    """Return names as a part of a sentence, for example ``a, b and c``."""
    return f"{', '.join(names[:-1])} {word} {names[-1]}" if len(names) > 1 else "".join(names)


def several(n: int, what: str) -> str:
    """Return a number with its noun, for example ``2,000 queries``."""
    many = what[:-1] + "ies" if what.endswith("y") and what[-2] not in "aeiou" else what + "s"
    return f"{n:,} {what if n == 1 else many}"
