"""What a plan must know of the outcomes of a pair, from a log or from comparisons on simulated users.

The pair that looks clearest looks clearer than it is, because it was chosen for that. So effects are shrunk: means of
pairs are taken for draws around 0 with a common variance, which is what they vary more than their errors, and an effect
is its expectation given the mean (empirical Bayes: Efron, Morris, JASA 1973; such expectations need no correction for
the choice). Of a single pair, the variance is estimated from its one mean.

By how much clusters multiply the variance is hardly known from a few of them. A plan by the estimate itself is too
short for half of the logs; so the upper end of what the clusters leave open is taken, with a confidence of 80 %
(Browne. On the use of a pilot sample for sample size determination. Statistics in Medicine 1995).
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

_SURE = 0.8  # that a design effect is not larger


class Spread(NamedTuple):
    """What a plan must know of the outcomes of a pair.

    Examples
    --------
    >>> Spread("old", "new", effect=-0.1, square=0.5).design
    1.0
    """

    first: str
    second: str
    effect: float  # mean outcome, shrunk
    square: float  # mean squared outcome
    design: float = 1.0  # variance of the mean, as a multiple of what independent impressions would have; 1 if below
    users: Kinds = ((1.0, 1.0),)  # how often they come; impressions of the pair
    each: float = 1.0  # impressions of the whole log for one of the pair
    half: float = 0.0  # half of the impressions are by users with so many of the pair or more; 0 to go by ``users``
    between: bool = False  # whether outcomes are also in between, such as credit by expectation

    @property
    def largest(self) -> float:
        """The largest effect there can be: of wins, losses and ties the mean square, else the root of that."""
        return self.square**0.5 if self.between else self.square

    @property
    def visits(self) -> float:
        """Impressions of the pair by the user who made an impression, in the mean."""
        return max(sum(size * share for size, share in self.users), self.design)

    @property
    def correlation(self) -> float:
        """Of two outcomes of a user."""
        return max(self.design - 1, 0.0) / (self.visits - 1) if self.visits > 1 else 0.0

    @property
    def how_often(self) -> str:
        """How often users come, in words."""
        if len(self.users) == 1:
            return f"with about {self.visits:,.0f} impressions of the pair each"
        shares = np.cumsum([share for _, share in self.users[::-1]])
        size = self.half or self.users[::-1][int(np.searchsorted(shares, 0.5 - 1e-9))][0]
        return f"half of the pair's impressions are by those who have about {size:,.0f} or more of them"

    @property
    def returning(self) -> bool:
        """Whether clusters have several impressions, so that the tests are those of clusters."""
        return self.visits > 1


def shrunk(mean: FloatVector, error: FloatVector) -> FloatVector:
    """Return the expected effects of pairs, given their means."""
    known = np.isfinite(error)
    if not known.any():
        return np.zeros_like(mean)
    varies = max(0.0, float(np.mean(mean[known] ** 2 - error[known] ** 2)))
    total = varies + np.where(known, error, 1.0) ** 2
    return np.where(known & (total > 0), mean, 0.0) * varies / np.where(total > 0, total, 1.0)


def spreads_in_log(found: LogComparison) -> list[Spread]:
    """Return what a log shows of the outcomes of its pairs, the largest effect first.

    Returned are the pairs that ever had a winner, and that more than one user met.

    Raises `InputError` if there is none, and for a log whose rankers were chosen by earlier outcomes: there neither the
    share of a pair nor its errors are those of an experiment that could be planned.
    """
    if "policies" in found.provenance:
        names = " and ".join(found.provenance["policies"])
        raise InputError(
            f"{names} chose the rankers of this log by earlier outcomes, so it is no sample of an experiment that shows"
            " all pairs alike: plan by another log, or by simulated users"
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
    for k, (i, j) in enumerate(found.pairs):
        if square[k] > 0 and found.means.freedom[k] > 0:
            spreads.append(
                Spread(
                    found.names[i],
                    found.names[j],
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
    """Return the spread of two rankers, in either order; of the first pair if they are not named.

    Raises `InputError` if the two are no pair of these.

    Examples
    --------
    >>> spread_of([Spread("old", "new", 0.1, 0.5)], ("new", "old")).effect
    0.1
    """
    found = [one for one in spreads if set(pair) in ({""}, {one.first, one.second})]
    if not found:
        pairs = ", ".join(f"{one.first} {one.second}" for one in spreads[:10])
        raise InputError(f"{pair[0]} against {pair[1]}: no such pair with outcomes (there are {pairs})")
    return found[0]


def spreads_in_matrix(
    matrix: PreferenceMatrix, visits: float = 1.0, *, heavy: float = 0.5, correlation: float = 0.1
) -> list[Spread]:
    """Return what estimated preferences show of the outcomes of pairs, the largest effect first.

    The experiment is planned to show each pair equally often.

    matrix: From `estimate_preferences` with ``variance_reduction="none"``.
    visits: Impressions of a user in the experiment, in the mean.
    heavy: Share of the impressions that are made by the 5 % of the users who come most, if users return.
    correlation: Of two outcomes of a user, if users return.

    Returned are the pairs that ever had a winner.

    Raises `InputError` if there is none.

    Examples
    --------
    >>> from ltr_duel.data import make_corpus
    >>> from ltr_duel.preferences import estimate_preferences
    >>> from ltr_duel.rankers import feature_rankers
    >>> rankings = feature_rankers(make_corpus(queries=10, documents=8, features=3))
    >>> plain = estimate_preferences(rankings, method="team_draft", comparisons=100, variance_reduction="none")
    >>> len(spreads_in_matrix(plain))
    3
    """
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
        raise InputError("no pair of rankers ever had a winner, or one user met all: there is nothing to plan by")
    return sorted(spreads, key=lambda one: -abs(one.effect))
