"""Errors of the user's input: what was wrong, where, and what would be right, in one sentence."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """Something the user gave cannot be used. The message is one complete sentence for a human.

    The command line prints it without a traceback and exits with code 2.

    Examples
    --------
    >>> str(InputError("run.txt:7: a line of a run has 6 words, not 5"))
    'run.txt:7: a line of a run has 6 words, not 5'
    """


def unknown_name(kind: str, name: str, legal: Iterable[str]) -> InputError:
    """Build the error for a name that does not exist.

    Parameters
    ----------
    kind : str
        What was looked up, for example ``"click model"``.
    name : str
        What the user wrote.
    legal : iterable of str
        All names that exist.

    Returns
    -------
    InputError
        ``no <kind> '<name>'; did you mean '...'? (all legal names)``.

    Examples
    --------
    >>> print(unknown_name("click model", "navigationl", ["navigational", "perfect"]))
    no click model 'navigationl'; did you mean 'navigational'? (navigational, perfect)
    """
    names = list(legal)
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"; did you mean '{close[0]}'?" if close else ";"
    return InputError(f"no {kind} '{name}'{hint} ({', '.join(names)})")


def require_between(name: str, value: float, low: float, high: float | None = None) -> None:
    """Refuse a number outside ``[low, high]``.

    Raises
    ------
    InputError
        If ``value`` is NaN or out of range; the sentence names the value and the legal range.
    """
    if value >= low and (high is None or value <= high):
        return
    legal = f"at least {low:g}" if high is None else f"between {low:g} and {high:g}"
    raise InputError(f"{name} must be {legal}, not {value}")
