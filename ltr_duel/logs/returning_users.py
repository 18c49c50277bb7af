"""What the tests of all impressions see of users who return, simulated for a plan.

Users come equally often, and the sum of a user's outcomes is normal. Of many users at once only their sum is drawn, and
that of their squares. From these follow mean, error, and nearly the exact test by signs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ltr_duel.core import FloatVector, statistics
from ltr_duel.logs.clustered_sequence import Clustered
from ltr_duel.logs.clusters import cautious_of_moments
from ltr_duel.logs.stopping_times import looks_until

_NORMAL = 1500.0  # users
_DRAWS = 20_000
_FEW = 64  # users that are drawn one by one
_CLEAREST = 5.0  # an effect has at most so many standard deviations


class Drawn(NamedTuple):
    """Sums of users; one entry a simulated experiment."""

    total: FloatVector
    squares: FloatVector
    against: FloatVector  # users with a sum below 0

    def of(self, chosen: NDArray[Any]) -> Drawn:
        """Return those of some experiments."""
        return Drawn(*(part[chosen] for part in self))


class Returning(NamedTuple):
    """Users who return."""

    effect: float  # mean outcome
    square: float  # mean squared outcome
    visits: float  # impressions of a user
    design: float  # variance of the mean, as a multiple of what independent impressions would have

    @property
    def variance(self) -> float:
        """Of a user's sum."""
        single = max(self.square - self.effect**2, self.effect**2 / _CLEAREST**2)
        return self.visits * single * self.design

    def drawn(self, users: int, draws: int, rng: np.random.Generator) -> Drawn:
        """Draw the sums of so many users."""
        mean, deviation = self.visits * self.effect, self.variance**0.5
        if users <= _FEW:
            each = mean + deviation * rng.standard_normal((users, draws))
            return Drawn(each.sum(axis=0), (each**2).sum(axis=0), (each < 0).sum(axis=0))
        beyond = deviation * users**0.5 * rng.standard_normal(draws)
        rest = self.variance * rng.chisquare(users - 1, draws)
        squares = rest + beyond**2 / users + 2 * mean * beyond + users * mean**2
        return Drawn(users * mean + beyond, squares, np.ones(draws))  # hardly ever are so many alike

    def seen(self, users: int, sums: Drawn) -> Clustered:
        """Return what a look sees; p by signs is exact where users agree, else normal."""
        n = np.full_like(sums.total, users * self.visits)
        moments = n, sums.total, n * self.square, n * self.visits, sums.total * self.visits, sums.squares
        means, exact = cautious_of_moments(*moments), 2.0 ** (1 - min(users, 1000))
        signs = 2 * special.ndtr(-np.abs(sums.total) / np.sqrt(sums.squares))
        signs = np.where(sums.against % users == 0, exact, np.maximum(signs, exact))
        return Clustered(means, np.maximum(statistics.student_p(*means), signs), n)


def users_needed(users: Returning, power: float, alpha: float, rng: np.random.Generator) -> float:
    """Return the users with whom the fixed test finds the effect, by bisection of simulated experiments."""
    ratio = users.visits * users.effect / users.variance**0.5
    about = float((special.ndtri(1 - alpha / 2) + special.ndtri(power)) / ratio) ** 2
    if about > _NORMAL:  # there the test is that of a normal mean
        return about
    low, high = 1.0, np.ceil(about + 2)

    def found(number: float) -> float:
        sums = users.drawn(int(number), _DRAWS, rng)
        return float(((users.seen(int(number), sums).p < alpha) & (sums.total > 0)).mean())

    while found(high) < power:
        low, high = high, np.ceil(1.2 * high)
    while high - low > 1:
        middle = float(np.round((low + high) / 2))
        low, high = (low, middle) if found(middle) >= power else (middle, high)
    return float(high)


def clustered_times(
    users: Returning,
    alpha: float,
    tuned_at: float,
    every: float,
    draws: int,
    rng: np.random.Generator,
    most: float,
) -> tuple[FloatVector, NDArray[np.bool_]]:
    """Simulate what `stopping_times` does, by the test of all impressions of users who return (see `Clustered`).

    Times are impressions of the pair, as are ``every`` and ``most``; ``alpha`` is the error of both sides together.
    """
    times, right = np.full(draws, np.inf), np.zeros(draws, np.bool_)
    sums, known, open_ones = Drawn(*np.zeros((3, draws))), 0, np.arange(draws)
    least = -2 * np.log(alpha)  # no boundary is nearer
    for look in looks_until(every / users.visits, most / users.visits):
        more = users.drawn(int(look) - known, len(open_ones), rng)
        sums, known = Drawn(*(a + b for a, b in zip(sums, more, strict=True))), int(look)
        far = np.flatnonzero((sums.total**2 >= least * sums.squares) | (sums.against % known == 0))
        if known < 2 or not len(far):
            continue
        hit = far[users.seen(known, sums.of(far)).ahead(1 - alpha, 1, tuned_at) != 0]
        times[open_ones[hit]] = known * users.visits
        right[open_ones[hit]] = sums.total[hit] > 0
        rest = np.delete(np.arange(len(open_ones)), hit)
        open_ones, sums = open_ones[rest], sums.of(rest)
        if len(open_ones) == 0:
            break
    return times, right
