"""Guardrails: outcomes that must not get worse, whatever the primary outcome says."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats

from ltr_duel.core import errors
from ltr_duel.logs.compare import LogComparison


class Guardrail(NamedTuple):
    """What a second outcome says of a pair; the means are those of the ranker that the primary outcome puts ahead."""

    outcome: str
    ahead: str  # by the primary outcome
    behind: str
    mean: float  # of this outcome
    low: float  # one-sided limit
    margin: float

    @property
    def holds(self) -> bool:
        """Whether the ranker that is ahead is surely no worse than the margin."""
        return self.low > -self.margin


def guardrails(
    primary: LogComparison, other: LogComparison, outcome: str, *, margin: float, confidence: float = 0.95
) -> list[Guardrail]:
    """Test of each pair that the ranker ahead by the primary outcome is not inferior by another one.

    The test is one-sided: its limit has all of the error on the side of harm, and is that of Student's distribution
    with the error of intervals of ``other``, which no data make 0. It is a test of each pair by itself, at one look.

    Parameters
    ----------
    primary, other : LogComparison
        Of the same log.
    outcome : str
        Name of the other outcome.
    margin : float
        Mean outcome by which it may be worse; above 0.
    confidence : float

    Returns
    -------
    list of Guardrail
        For the pairs that both comparisons have, in the order of ``primary``.

    Raises
    ------
    InputError
        For a margin or a confidence out of range.

    Examples
    --------
    See `compare_log`, which makes what it takes.

    >>> callable(guardrails)
    True
    """
    errors.require_between("the margin of a guardrail", margin, 1e-9, 1)
    errors.require_between("the confidence", confidence, 1e-9, 1 - 1e-9)
    places = {frozenset(other.names[k] for k in pair): n for n, pair in enumerate(other.pairs)}
    found = []
    for n, pair in enumerate(primary.pairs):
        names = [primary.names[k] for k in pair]
        ahead, behind = names if primary.means.mean[n] >= 0 else names[::-1]
        place = places.get(frozenset(names))
        if place is None:
            continue
        sign = 1 if other.names[other.pairs[place][0]] == ahead else -1
        middle, error, freedom = (float(part[place]) for part in other.cautious)
        reach = stats.t.ppf(confidence, freedom) * error if freedom > 0 else np.inf
        mean, low = sign * float(other.means.mean[place]), sign * middle - reach
        found.append(Guardrail(outcome, ahead, behind, mean, float(max(min(low, mean), -1.0)), margin))
    return found


def guardrail_lines(found: list[Guardrail]) -> list[str]:
    """Say whether guardrails hold.

    Parameters
    ----------
    found : list of Guardrail

    Returns
    -------
    list of str

    Examples
    --------
    >>> guardrail_lines([Guardrail("click", "new", "old", 0.01, -0.005, 0.01)])
    ['guardrail click holds: new against old +0.0100, at least -0.0050 (margin 0.01)']
    """
    return [
        f"guardrail {one.outcome} {'holds' if one.holds else 'is not shown to hold'}: {one.ahead} against {one.behind}"
        f" {one.mean:+.4f}, at least {one.low:+.4f} (margin {one.margin:g})"
        for one in found
    ]
