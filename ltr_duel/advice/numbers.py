"""Numbers with their intervals as text."""

from __future__ import annotations

import math

from ltr_duel.advice.answer import Reached
from ltr_duel.advice.bounds import Estimate
from ltr_duel.core import errors

METHOD_WORDS = {"a/b": "a plain A/B test"}


def named(candidate: str) -> str:
    """Return the name of a candidate in a sentence: 'mdb with sosm'."""
    return METHOD_WORDS.get(candidate, " with ".join(candidate.split("/")))


def percent(found: Estimate) -> str:
    """Format a probability: '97% (93 to 99)'."""
    return f"{percent_of(found.value)}% ({percent_of(found.low)} to {percent_of(found.high)})"


def ndcg(found: Estimate) -> str:
    """Format a difference of NDCG: '0.0123 (0.0119 to 0.0127)'."""
    return f"{plain(found.value)} ({plain(found.low)} to {plain(found.high)})"


def plain(value: float) -> str:
    """Format a number between -1 and 1: '0.0123', '-0.0004'."""
    if not math.isfinite(value):
        return "?"
    text = f"{value:.4f}"
    return "0" if float(text) == 0 else text


def impressions(found: Reached) -> str:
    """Format the impressions at which a condition is reached: '23,000 (18,000 to 40,000)'."""
    if found.value is None:
        return "not by then" if found.low is None else f"not by then ({found.low:,} at the earliest)"
    end = "or later" if found.high is None else f"to {found.high:,}"
    return f"{found.value:,} ({found.low:,} {end})"


def listed(names: tuple[str, ...] | list[str], most: int = 6) -> str:
    """Format a list of names."""
    quoted = [f"'{name}'" for name in names[:most]]
    if len(names) > most:
        return f"{', '.join(quoted)} and {len(names) - most} more"
    return errors.listed(quoted)


def percent_of(value: float) -> str:
    """Format a share without the percent sign: '97.4', '100'."""
    share = 100 * value
    return f"{share:.1f}" if 0.05 <= share < 99.95 else f"{share:.0f}"
