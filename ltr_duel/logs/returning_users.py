"""What the tests of all impressions see of users who return, simulated for a plan.

Users come equally often, and the sum of a user's outcomes is normal. Of many users at once only two numbers are drawn:
the sum of their sums, and that of its squares. From these follow mean, error, and nearly the exact test by signs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ltr_duel.core import FloatVector, statistics
from ltr_duel.logs.clustered_sequence import Clustered
from ltr_duel.logs.clusters import cautious_of_moments
from ltr_duel.logs.stopping_times import looks_until

_NORMAL = 1500.0  # users
_DRAWS = 20_000
_CLEAREST = 5.0  # an effect has at most so many standard deviations


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

    def drawn(self, users: int, draws: int, rng: np.random.Generator) -> tuple[FloatVector, FloatVector]:
        """Draw the sum of so many users' sums, and the sum of their squares."""
        mean, beyond = self.visits * self.effect, np.sqrt(users * self.variance) * rng.standard_normal(draws)
        rest = self.variance * rng.chisquare(users - 1, draws) if users > 1 else 0.0
        return users * mean + beyond, rest + beyond**2 / users + 2 * mean * beyond + users * mean**2

    def seen(self, users: int, total: FloatVector, squares: FloatVector) -> Clustered:
        """Return what a look sees of such sums; p by signs is normal, and never below that of equal signs."""
        n = np.full_like(total, users * self.visits)
        means = cautious_of_moments(n, total, n * self.square, n * self.visits, total * self.visits, squares)
        signs = np.maximum(2 * special.ndtr(-np.abs(total) / np.sqrt(squares)), 2.0 ** (1 - min(users, 1000)))
        return Clustered(means, np.maximum(statistics.student_p(*means), signs), n)


def users_needed(users: Returning, power: float, alpha: float, rng: np.random.Generator) -> float:
    """Return the users with whom the fixed test finds the effect, by bisection of simulated experiments."""
    ratio = users.visits * users.effect / users.variance**0.5
    about = float((special.ndtri(1 - alpha / 2) + special.ndtri(power)) / ratio) ** 2
    if about > _NORMAL:  # there the test is that of a normal mean
        return about
    low, high = 1.0, np.ceil(about + 2)

    def found(number: float) -> float:
        total, squares = users.drawn(int(number), _DRAWS, rng)
        return float(((users.seen(int(number), total, squares).p < alpha) & (total > 0)).mean())

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
    total, squares, known, open_ones = np.zeros(draws), np.zeros(draws), 0, np.arange(draws)
    least = -2 * np.log(alpha)  # no boundary is nearer
    for look in looks_until(every / users.visits, most / users.visits):
        more = users.drawn(int(look) - known, len(open_ones), rng)
        total, squares, known = total + more[0], squares + more[1], int(look)
        far = np.flatnonzero(total**2 >= least * squares)
        if known < 2 or not len(far):
            continue
        ahead = users.seen(known, total[far], squares[far]).ahead(1 - alpha, 1, tuned_at)
        hit = np.zeros(len(total), np.bool_)
        hit[far] = ahead != 0
        times[open_ones[hit]] = known * users.visits
        right[open_ones[hit]] = total[hit] > 0
        open_ones, total, squares = open_ones[~hit], total[~hit], squares[~hit]
        if len(open_ones) == 0:
            break
    return times, right
