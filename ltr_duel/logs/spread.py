"""Statistics of a pair's outcomes for planning, from a log or from comparisons on simulated users.

The clearest effect is overestimated, because its pair was selected. Effects are therefore shrunk (empirical Bayes:
Efron, Morris, JASA 1973). The true means of pairs are modelled as draws around 0 with a common variance. For each pair,
the squared error is subtracted from the squared observed mean; the average over the pairs, or 0 if it is negative, is
the estimate of the variance. The estimate of an effect is its expectation given the observed mean; these expectations
need no correction for selection. For a single pair, the variance is estimated from this pair's mean.

The design effect is the factor by which clusters multiply the variance. With few clusters, its estimate is poor, and a
plan based on the estimate would be too short for half of the logs. Therefore, an upper bound with confidence 80 % is
used (Browne. On the use of a pilot sample for sample size determination. Statistics in Medicine 1995).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from ltr_duel.core import FloatVector, InputError, errors
from ltr_duel.logs.clusters import Kinds, kinds_by_share
from ltr_duel.logs.comparison import LogComparison
from ltr_duel.logs.stopping import outcomes_go_together
from ltr_duel.preferences import PreferenceMatrix

_SURE = 0.8  # confidence of the upper bound of the design effect


class Spread(NamedTuple):
    """Statistics of a pair's outcomes for planning.

    Examples
    --------
    >>> Spread("old", "new", effect=-0.1, square=0.5).design
    1.0
    """

    first: str
    second: str
    effect: float  # mean outcome, shrunk
    square: float  # mean squared outcome
    design: float = 1.0  # variance of the mean relative to independent impressions, at least 1
    users: Kinds = ((1.0, 1.0),)  # kinds of users: impressions of the pair per user, and share of these impressions
    each: float = 1.0  # impressions of the whole log per impression of the pair
    half: float = 0.0  # users with at least this many impressions have half of all impressions; 0: see `how_often`
    between: bool = False  # whether some outcomes are fractional, such as credit by expectation

    @property
    def largest(self) -> float:
        """The largest possible effect: the mean square for wins, losses and ties, or its root for other outcomes."""
        return self.square**0.5 if self.between else self.square

    @property
    def visits(self) -> float:
        """Mean number of impressions of the pair by the user of a random impression."""
        return max(sum(size * share for size, share in self.users), self.design)

    @property
    def correlation(self) -> float:
        """Correlation of two outcomes of a user."""
        return max(self.design - 1, 0.0) / (self.visits - 1) if self.visits > 1 else 0.0

    @property
    def how_often(self) -> str:
        """A phrase on how often users return."""
        if len(self.users) == 1:
            return f"with about {self.visits:,.0f} impressions of the pair each"
        shares = np.cumsum([share for _, share in self.users[::-1]])
        size = self.half or self.users[::-1][int(np.searchsorted(shares, 0.5 - 1e-9))][0]
        return f"half of the pair's impressions are by users who have about {size:,.0f} or more"

    @property
    def returning(self) -> bool:
        """Whether clusters have several impressions, so that the clustered tests apply."""
        return self.visits > 1


def shrunk(mean: FloatVector, error: FloatVector) -> FloatVector:
    """Return the expected effects of pairs, given their means and errors."""
    known = np.isfinite(error)
    if not known.any():
        return np.zeros_like(mean)
    varies = max(0.0, float(np.mean(mean[known] ** 2 - error[known] ** 2)))
    total = varies + np.where(known, error, 1.0) ** 2
    return np.where(known & (total > 0), mean, 0.0) * varies / np.where(total > 0, total, 1.0)


def spreads_in_log(found: LogComparison) -> list[Spread]:
    """Return the spreads of a log's pairs, the largest effect first.

    A log whose rankers were chosen by earlier outcomes is refused, because it does not represent a fixed plan.
    """
    if "policies" in found.provenance:
        names = " and ".join(found.provenance["policies"])
        raise InputError(
            f"{names} chose the rankers of this log by earlier outcomes, so it does not represent an experiment that"
            " shows all pairs equally often: plan with another log, or with simulated users"
        )
    together = outcomes_go_together(found)
    n = found.counts.astype(np.float64)
    effects = shrunk(found.cautious.mean, found.cautious.error)
    with np.errstate(invalid="ignore", divide="ignore"):
        square = np.where(n > 1, found.naive.error**2 * (n - 1), 0.0) + found.means.mean**2
        visits = np.array([sum(size * share for size, share in users) for users in found.kinds])
        known = found.means.error**2 * n / (found.naive.error**2 * (n - 1))
        freedom = found.means.freedom
        upper = np.where(np.isnan(known), np.inf, known) * freedom / special.chdtri(freedom, _SURE)
        design = np.clip(upper, 1.0, np.inf if found.cluster == "both" else visits)
    spreads = []
    for k, pair in enumerate(found.named_pairs):
        if square[k] > 0 and found.means.freedom[k] > 0:
            spreads.append(
                Spread(
                    *pair,
                    float(effects[k]),
                    float(min(square[k], 1.0)),
                    float(design[k]) if together else 1.0,
                    found.kinds[k] if together else ((1.0, 1.0),),
                    found.impressions / float(n[k]),
                    found.half[k] if together else 0.0,
                    bool(found.sequences.others[k]),
                )
            )
    return _largest_first(spreads)


def spread_of(spreads: Sequence[Spread], pair: tuple[str, str]) -> Spread:
    """Return the spread of two rankers, in either order; the first spread if the names are empty."""
    found = [one for one in spreads if set(pair) in ({""}, {one.first, one.second})]
    if not found:
        pairs = ", ".join(f"{one.first} {one.second}" for one in spreads[:10])
        raise InputError(f"{pair[0]} against {pair[1]}: no such pair with outcomes (there are {pairs})")
    return found[0]


def spreads_in_matrix(
    matrix: PreferenceMatrix, visits: float = 1.0, *, heavy: float = 0.5, correlation: float = 0.1
) -> list[Spread]:
    """Return the spreads of preferences estimated without variance reduction, the largest effect first."""
    first, second = np.triu_indices(len(matrix), 1)
    n, error = matrix.comparisons[first, second], 2 * matrix.standard_error[first, second]
    mean = 2 * matrix.p[first, second] - 1
    effects, pairs = shrunk(mean, error), float(len(first))
    errors.require_between("the correlation of a user's outcomes", correlation, 0, 1)
    users = kinds_by_share(visits, heavy, len(first)) if visits > 1 else ((1.0, 1.0),)
    design = 1 + correlation * (sum(size * share for size, share in users) - 1)
    spreads = [
        Spread(
            matrix.names[first[k]],
            matrix.names[second[k]],
            float(effects[k]),
            float(min(error[k] ** 2 * (n[k] - 1) + mean[k] ** 2, 1.0)),
            design,
            users,
            pairs,
            between=matrix.tally is not None and matrix.wins is None,
        )
        for k in np.flatnonzero((n >= 2) & (error > 0) & np.isfinite(error))
    ]
    return _largest_first(spreads)


def _largest_first(spreads: list[Spread]) -> list[Spread]:
    if not spreads:
        raise InputError("no pair ever had a winner, or one user had all impressions: a plan needs other data")
    return sorted(spreads, key=lambda one: -abs(one.effect))
