"""From numbers to a verdict. This is the only place where one is made.

A criterion is a range. In each panel the measured interval lies wholly inside it ("yes"), wholly outside ("no"), or
across an end ("open"). A claim may have a second, weaker criterion (``partly``): where the answer would be no, but the
interval lies wholly within the weaker range, it is "weaker". So "three times better" is not refuted by "twice better".
Then a claim

- `holds`, if the answer is yes in all panels;
- `only a weaker form holds`, if all answers are yes or weaker: some panel contradicts the claim as printed;
- `does not hold`, if all answers are no;
- is `mixed`, if some answers are no or weaker, and others are not; the ledger names these panels;
- is `undecided` otherwise: no panel lies outside, but an interval crosses an end.

Four words give the reason why there is no judgement: `not made`, the figure was not made; `incomplete`, a panel that
the claim is about is not there or could not be measured; `needs data`, it is about a corpus, and a panel comes from a
surrogate, an excerpt or another corpus; `needs the printed scale`, runs were shorter than printed. What was measured is
shown all the same.
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
    """A range, ends included."""

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
        """Return whether the whole interval is inside."""
        return self.at_least <= reading.low and reading.high <= self.at_most

    def excludes(self, reading: Reading) -> bool:
        """Return whether the whole interval is outside."""
        return reading.high < self.at_least or reading.low > self.at_most

    def margin(self, reading: Reading) -> float:
        """Return how far inside the number lies; negative outside."""
        return min(reading.value - self.at_least, self.at_most - reading.value)


def answer(reading: Reading, criterion: Criterion, partly: Criterion | None = None) -> str:
    """Return "yes", "no", "weaker" or "open" for one panel."""
    if criterion.contains(reading):
        return "yes"
    if not criterion.excludes(reading):
        return "open"
    return "weaker" if partly is not None and partly.contains(reading) else "no"


def verdict(answers: Collection[str]) -> str:
    """Combine the answers of all panels."""
    found = set(answers)
    if "no" in found:
        return FAILS if found == {"no"} else MIXED
    if "open" in found:
        return MIXED if "weaker" in found else UNDECIDED
    return WEAKLY if "weaker" in found else HOLDS


def hardest(readings: Mapping[str, Reading], criterion: Criterion, partly: Criterion | None = None) -> Reading:
    """Return the reading that is furthest from what is claimed: the number that the ledger shows.

    By the answer first, so that it is a panel that the verdict follows from; then by the value, then by its interval.
    """

    def place(reading: Reading) -> tuple[int, float, float]:
        ends = (Reading(end, end, end) for end in (reading.low, reading.high))
        rank = _WORST_FIRST.index(answer(reading, criterion, partly))
        return rank, criterion.margin(reading), min(map(criterion.margin, ends))

    return min(readings.values(), key=place)
