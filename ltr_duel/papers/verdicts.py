"""From numbers to a verdict. This is the only place where one is made.

A criterion is a range. In each panel the measured interval lies wholly inside it ("yes"), wholly outside ("no"), or
across an end ("open": more repetitions would tell). A panel that could not be measured is open, too. A claim may have a
second, weaker criterion (``partly``): where the answer would be no, but the interval lies wholly within the weaker
range, it is "weaker". So "three times better" is not refuted by "twice better". Then a claim

- `holds`, if all panels say yes;
- `does not hold`, if more than half of the panels say no;
- `holds in part` otherwise, and the ledger names the panels that say yes.

`needs data` is the verdict where the figure was not made, where no panel could be measured, where the claim is about
real data and a panel comes from a surrogate or an excerpt, or where it needs the printed horizon and runs were shorter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ltr_duel.papers.checks import Reading

HOLDS, IN_PART, FAILS, NEEDS_DATA = "holds", "holds in part", "does not hold", "needs data"
VERDICTS = (HOLDS, IN_PART, FAILS, NEEDS_DATA)


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
        """Tell whether the whole interval is inside."""
        return self.at_least <= reading.low and reading.high <= self.at_most

    def excludes(self, reading: Reading) -> bool:
        """Tell whether the whole interval is outside."""
        return reading.high < self.at_least or reading.low > self.at_most

    def margin(self, reading: Reading) -> float:
        """Return how far inside the number lies; negative outside."""
        return min(reading.value - self.at_least, self.at_most - reading.value)


def answer(reading: Reading | None, criterion: Criterion, partly: Criterion | None = None) -> str:
    """Say "yes", "no", "weaker" or "open" for one panel."""
    if reading is None:
        return "open"
    if criterion.contains(reading):
        return "yes"
    if not criterion.excludes(reading):
        return "open"
    return "weaker" if partly is not None and partly.contains(reading) else "no"


def verdict(answers: Sequence[str]) -> str:
    """Combine the answers of all panels."""
    if all(one == "yes" for one in answers):
        return HOLDS
    return FAILS if 2 * answers.count("no") > len(answers) else IN_PART


def hardest(readings: Mapping[str, Reading], criterion: Criterion) -> Reading:
    """Return the reading that is furthest from what is claimed: the number that the ledger shows."""
    return min(readings.values(), key=criterion.margin)
