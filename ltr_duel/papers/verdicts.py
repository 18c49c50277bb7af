"""Derive verdicts from numbers. No other module makes verdicts.

A claim is measured on panels, which are parts of its figures. A criterion is a range. The answer of a panel is "yes" if
the measured interval is entirely inside the range, "no" if it is entirely outside, and "open" if it includes an end. A
claim may have a second, weaker criterion (``partly``): if the interval is entirely outside the first range, but
entirely inside the weaker range, the answer is "weaker" instead of "no". With such a criterion, a measured factor of
two does not refute a claimed factor of three. A claim

- `holds`, if the answer is yes in all panels;
- `only a weaker form holds`, if all answers are yes or weaker, and at least one is weaker;
- `does not hold`, if all answers are no;
- is `mixed`, if some but not all answers are no, or if some are weaker and some open; the ledger lists the answers;
- is `undecided`, if some answers are open and all others are yes.

Four other verdicts state why a claim is not judged: `not made`, if a figure was not reproduced; `incomplete`, if a
panel of the claim does not exist or could not be measured; `needs data`, if the claim is about a corpus, and a panel
uses a surrogate, an excerpt or another corpus; `needs the printed scale`, if runs were shorter than printed. In these
cases, the ledger shows all numbers that could be measured.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import NamedTuple

from ltr_duel.papers.claim_measures import Reading

HOLDS, WEAKLY, MIXED = "holds", "only a weaker form holds", "mixed"
UNDECIDED, FAILS = "undecided", "does not hold"
INCOMPLETE, NEEDS_DATA, NEEDS_SCALE = "incomplete", "needs data", "needs the printed scale"
NOT_MADE = "not made"
JUDGED = (HOLDS, WEAKLY, MIXED, UNDECIDED, FAILS)
_WORST_FIRST = ("no", "weaker", "open", "yes")
VERDICTS = (*JUDGED, INCOMPLETE, NEEDS_DATA, NEEDS_SCALE, NOT_MADE)


class Criterion(NamedTuple):
    """A range that includes both ends."""

    at_least: float = -math.inf
    at_most: float = math.inf

    def __str__(self) -> str:
        low, high = f"{self.at_least:g}", f"{self.at_most:g}"
        if self.at_least == self.at_most:
            return f"exactly {low}"
        if math.isinf(self.at_least):
            return f"at most {high}"
        return f"at least {low}" if math.isinf(self.at_most) else f"{low} to {high}"

    def contains(self, reading: Reading) -> bool:
        """Return whether the whole interval is inside the range."""
        return self.at_least <= reading.low and reading.high <= self.at_most

    def excludes(self, reading: Reading) -> bool:
        """Return whether the whole interval is outside the range."""
        return reading.high < self.at_least or reading.low > self.at_most

    def margin(self, reading: Reading) -> float:
        """Return the distance of the number from the nearest end; negative if the number is outside."""
        return min(reading.value - self.at_least, self.at_most - reading.value)


def answer(reading: Reading, criterion: Criterion, partly: Criterion | None = None) -> str:
    """Return the answer of one panel: "yes", "no", "weaker" or "open"."""
    if criterion.contains(reading):
        return "yes"
    if not criterion.excludes(reading):
        return "open"
    return "weaker" if partly is not None and partly.contains(reading) else "no"


def verdict(answers: Collection[str]) -> str:
    """Combine the answers of all panels into a verdict."""
    found = set(answers)
    if "no" in found:
        return FAILS if found == {"no"} else MIXED
    if "open" in found:
        return MIXED if "weaker" in found else UNDECIDED
    return WEAKLY if "weaker" in found else HOLDS


def hardest(readings: Mapping[str, Reading], criterion: Criterion, partly: Criterion | None = None) -> Reading:
    """Return the reading that is furthest from the claim; the ledger shows this number.

    Readings are compared by the answer first, so that this reading has the worst answer of all panels, then by the
    value, and then by the interval.
    """

    def place(reading: Reading) -> tuple[int, float, float]:
        ends = (Reading(end, end, end) for end in (reading.low, reading.high))
        rank = _WORST_FIRST.index(answer(reading, criterion, partly))
        return rank, criterion.margin(reading), min(map(criterion.margin, ends))

    return min(readings.values(), key=place)
