"""Errors in the user's input, described in one sentence: the fault, its location, and the valid values."""

from __future__ import annotations

import difflib
import operator
import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from typing import Any

_LONG_WORD = re.compile(r"\S{201,}")
_ABBREVIATIONS = {  # of the literature, without case and punctuation
    "dts": "double_thompson", "rmed": "rmed1", "btm": "beat_the_mean", "if": "interleaved_filter",
    "ss": "self_sparring", "mss": "multi_self_sparring", "ws": "winner_stays", "bi": "balanced", "td": "team_draft",
    "tdi": "team_draft", "tdm": "team_draft", "pi": "probabilistic", "pm": "probabilistic", "oi": "optimized",
    "om": "optimized_multileave", "ppm": "pairwise_preference", "dc": "document_constraints",
}  # fmt: skip


class InputError(ValueError):
    """The user's input cannot be used. The message is one complete sentence for a human, in one line.

    The command line prints the message without a traceback and exits with code 2.

    Examples
    --------
    >>> str(InputError("run.txt:7: a line of a run has 6 words, not 5"))
    'run.txt:7: a line of a run has 6 words, not 5'
    """

    def __init__(self, message: str) -> None:
        super().__init__(in_one_line(message))


def in_one_line(text: str) -> str:
    """Escape control characters, and shorten words of hundreds of characters, in a message that contains user input."""
    short = _LONG_WORD.sub(lambda word: f"{word[0][:60]}...{word[0][-20:]} ({len(word[0]):,} characters)", text)
    return "".join(repr(c)[1:-1] if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") else c for c in short)


def shown(value: Any) -> str:
    """Return an invalid value as a message shows it: the value, or its type if the value has no short form."""
    if isinstance(value, str):
        return f"'{value}'"
    return str(value) if value is None or isinstance(value, bool | int | float) else f"a {type(value).__name__}"


def unknown_name(kind: str, name: Any, legal: Iterable[str], *, otherwise: str = "") -> InputError:
    """Build the error ``no <kind> '<name>'; did you mean '...'? (names)``, with ``otherwise`` if no name is close."""
    names = list(legal)
    close = _close_name(name, names) if isinstance(name, str) and len(name) <= 200 else ""
    hint = f"; did you mean '{close}'?" if close else ";"
    advice = f"; {otherwise}" if otherwise and not close else ""
    return InputError(f"no {kind} {shown(name)}{hint} ({', '.join(names)}){advice}")


def _close_name(name: str, names: Sequence[str]) -> str:
    """Return the same name but for case and punctuation, a name abbreviated or begun, a close name, or ""."""
    usual = {_letters(candidate): candidate for candidate in reversed(names)}
    letters = _letters(name)
    begun = sorted(key for key in usual if letters and key.startswith(letters))
    if letters not in usual and _ABBREVIATIONS.get(letters) in names:
        return _ABBREVIATIONS[letters]
    if begun and begun[-1].startswith(begun[0]):
        return usual[begun[0]]
    close = difflib.get_close_matches(name, names, n=1)
    return next(iter(close or [usual[key] for key in difflib.get_close_matches(letters, usual, n=1)]), "")


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name.casefold())


def require_one_of(kind: str, name: Any, legal: Collection[str]) -> None:
    """Raise `unknown_name` unless the value is one of the valid names."""
    if not isinstance(name, str) or name not in legal:
        raise unknown_name(kind, name, legal)


def require_between(name: str, value: Any, low: float, high: float | None = None) -> None:
    """Raise `InputError`, with the valid range, unless ``value`` is a number in ``[low, high]``; NaN is invalid."""
    try:
        legal = bool(value >= low and (high is None or value <= high))
    except (TypeError, ValueError):
        legal = False
    if not legal:
        limits = f"at least {low:g}" if high is None else f"between {low:g} and {high:g}"
        raise InputError(f"{name} must be {limits}, not {shown(value)}")


def require_whole(name: str, value: Any, low: int | None = None, high: int | None = None) -> int:
    """Return a whole number in ``[low, high]``, such as 1000, 1e3 or np.int64(1000), as an ``int``.

    Raises `InputError` for anything else; the message names the value and the valid range.
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


def other_rankers(first: str, its: Sequence[str], second: str, others: Sequence[str]) -> InputError:
    """Build the error for two things with other rankers, which names the rankers of one side only."""
    sides = (
        (first, [name for name in its if name not in others]),
        (second, [name for name in others if name not in its]),
    )
    only = "; ".join(f"only {side} has {listed(names[:8])}" for side, names in sides if names) or "in a different order"
    advice = "features that are constant within each query are rankers only with --keep-constant"
    return InputError(f"{first} has other rankers than {second}: {only}; {advice} (in Python drop_constant=False)")


def listed(names: Sequence[str], word: str = "and") -> str:
    """Return names in the form of a sentence: ``a, b and c``."""
    return f"{', '.join(names[:-1])} {word} {names[-1]}" if len(names) > 1 else "".join(names)


def several(n: int, what: str) -> str:
    """Return a number with its noun: ``1 query``, ``2,000 queries``."""
    many = what[:-1] + "ies" if what.endswith("y") and what[-2] not in "aeiou" else what + "s"
    return f"{n:,} {what if n == 1 else many}"
