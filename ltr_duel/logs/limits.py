"""Simultaneous intervals for all pairs of a table, and guardrails: further outcomes that must not get worse."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ltr_duel.core import FloatVector, IntVector, errors
from ltr_duel.logs.comparison import LogComparison, tested_ends
from ltr_duel.logs.stopping import look_data


class Limits(NamedTuple):
    """Means with intervals; each field has one entry per pair."""

    mean: FloatVector
    low: FloatVector
    high: FloatVector
    p: FloatVector  # p-value of each pair, without correction for the number of pairs

    def turned(self, signs: IntVector) -> Limits:
        """Return the limits with the two rankers exchanged in each pair whose sign is -1."""
        low, high = np.sort([signs * self.low, signs * self.high], axis=0)
        return Limits(signs * self.mean, low, high, self.p)


def limits(found: LogComparison, confidence: float, tests: float = 1.0, *, any_time: bool = False) -> Limits:
    """Return the intervals of all pairs, with the error divided among ``tests`` tests (Bonferroni).

    With ``any_time``, and for adaptive logs, the intervals are valid at any time.
    """
    if any_time or found.adaptive:
        seen, mean, _ = look_data(found)
        now = seen.sequence(confidence, tests)
        return Limits(mean, now.low, now.high, np.minimum(np.exp(-now.log_e), 1.0))
    low, high = tested_ends(found.cautious, found.p, 1 - (1 - confidence) / tests)
    return Limits(found.means.mean, low, high, found.p)


def places_in(primary: LogComparison, other: LogComparison) -> tuple[IntVector, IntVector]:
    """Return each pair's index in another comparison (-1 if absent), and -1 if its rankers are exchanged, else 1."""
    known = {pair: n for n, pair in enumerate(other.named_pairs)}
    pairs = primary.named_pairs
    found = [(known[pair], 1) if pair in known else (known.get(pair[::-1], -1), -1) for pair in pairs]
    places, signs = np.array(found, np.int64).reshape(-1, 2).T
    return places, signs


def ahead(mean: FloatVector) -> IntVector:
    """Return for each mean 1 if the first ranker of the pair is ahead or equal, else -1."""
    return np.where(mean >= 0, 1, -1)


class Guardrail(NamedTuple):
    """Test of a further outcome on a pair; positive means favour the ranker that leads by the primary outcome."""

    outcome: str
    ahead: str  # the ranker that leads by the primary outcome
    behind: str
    mean: float  # mean of the further outcome
    low: float  # one-sided lower limit
    margin: float

    @property
    def holds(self) -> bool:
        """Whether the data show that the leading ranker, if it is worse at all, is worse by less than the margin."""
        return self.low > -self.margin


def guardrails(
    primary: LogComparison,
    other: LogComparison,
    outcome: str,
    *,
    margin: float,
    confidence: float = 0.95,
    any_time: bool = False,
) -> list[Guardrail]:
    """Test for each pair that the ranker that leads by the primary outcome is not worse by ``margin`` or more.

    The limits are one-sided. A decision requires the primary outcome and each guardrail, so each test may use the whole
    error (intersection-union; Berger, Technometrics 1982).
    """
    errors.require_between("the margin of a guardrail", margin, 1e-9, 1)
    errors.require_between("the confidence of a guardrail", confidence, 0.5 + 1e-9, 1 - 1e-9)
    places, signs = places_in(primary, other)
    leads = ahead(limits(primary, confidence, any_time=any_time).mean)
    found = limits(other, 1 - 2 * (1 - confidence), any_time=any_time)  # twice the error, because limits are one-sided
    shared = np.flatnonzero(places >= 0)
    found = Limits(*(part[places[shared]] for part in found)).turned((leads * signs)[shared])
    guards = []
    for n, mean, low in zip(shared, found.mean, found.low, strict=True):
        first, second = primary.named_pairs[n][:: leads[n]]
        guards.append(Guardrail(outcome, first, second, float(mean), float(min(low, mean)), margin))
    return guards


def guardrail_lines(found: list[Guardrail]) -> list[str]:
    """Return the guardrails as lines of text."""
    return [
        f"guardrail {one.outcome}{' holds:' if one.holds else ': the log does not show that it holds;'} the mean of"
        f" {one.ahead} against {one.behind} is {one.mean:+z.4f}, and at least {one.low:+z.4f} with confidence"
        f" (margin {one.margin:g})"
        for one in found
    ]
