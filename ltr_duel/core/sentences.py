"""Parts of sentences."""

from __future__ import annotations

from collections.abc import Sequence


def listed(names: Sequence[str], word: str = "and") -> str:
    """Return names as a sentence lists them: ``a, b and c``."""
    return f"{', '.join(names[:-1])} {word} {names[-1]}" if len(names) > 1 else "".join(names)


def several(n: int, what: str) -> str:
    """Return a number of things in words: ``1 query``, ``2,000 queries``."""
    many = what[:-1] + "ies" if what.endswith("y") and what[-2] not in "aeiou" else what + "s"
    return f"{n:,} {what if n == 1 else many}"
