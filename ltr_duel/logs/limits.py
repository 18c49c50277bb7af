"""Intervals and tests of a whole table: together they are wrong with one error, at one look or at all looks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ltr_duel.core import FloatVector, IntVector
from ltr_duel.logs.compare import LogComparison, tested_ends
from ltr_duel.logs.stopping import _seen


class Limits(NamedTuple):
    """Means with intervals; each field has one entry a pair."""

    mean: FloatVector
    low: FloatVector
    high: FloatVector
    p: FloatVector  # of each pair alone

    def turned(self, signs: IntVector) -> Limits:
        """Return the same with the two rankers exchanged where the sign is -1."""
        low, high = np.sort([signs * self.low, signs * self.high], axis=0)
        return Limits(signs * self.mean, low, high, self.p)


def limits(found: LogComparison, confidence: float, tests: float = 1.0, *, any_time: bool = False) -> Limits:
    """Return intervals of which all hold with this confidence, where ``tests`` of them share the error (Bonferroni).

    Parameters
    ----------
    found : LogComparison
    confidence : float
    tests : float
    any_time : bool
        Whether they hold at all looks together, instead of at one look. Those of an adaptive log always do.
    """
    if any_time or found.adaptive:
        seen, mean, _ = _seen(found)
        now = seen.sequence(confidence, tests)
        return Limits(mean, now.low, now.high, np.minimum(np.exp(-now.log_e), 1.0))
    low, high = tested_ends(found.cautious, found.p, 1 - (1 - confidence) / tests)
    return Limits(found.means.mean, low, high, found.p)


def places_in(primary: LogComparison, other: LogComparison) -> tuple[IntVector, IntVector]:
    """Return where the pairs of one comparison are in another one, -1 for nowhere, and -1 for those turned round."""
    known = {tuple(other.names[k] for k in pair): n for n, pair in enumerate(other.pairs)}
    found = []
    for pair in primary.pairs:
        first, second = (primary.names[k] for k in pair)
        turned = known.get((second, first), -1)
        found.append((known[first, second], 1) if (first, second) in known else (turned, -1))
    places, signs = np.array(found, np.int64).reshape(-1, 2).T
    return places, signs


def ahead(mean: FloatVector) -> IntVector:
    """Return 1 where the first ranker of a pair is ahead or level, else -1."""
    return np.where(mean >= 0, 1, -1)
