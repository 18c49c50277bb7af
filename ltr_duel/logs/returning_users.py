"""Simulations for plans: stopping times of sequential tests, and data of tests with returning users.

Users are of a few kinds, which differ in their number of impressions. For sequential tests, users arrive one after the
other. For fixed tests, a log has a fixed number of impressions: users of all kinds but the first are sampled, and users
of the first kind, who have the fewest impressions, fill the log. A user's mean outcome has a Beta distribution on
[-1, 1]. For many users of a kind, only two numbers are sampled: the sum of the users' sums, which is normal, and the
sum of the squares of the users' sums. The two numbers determine the mean, its error and, approximately, the sign test.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ltr_duel.core import FloatMatrix, FloatVector, IntVector, statistics
from ltr_duel.logs.bets import Bets
from ltr_duel.logs.clusters import cautious_of_kinds
from ltr_duel.logs.sequential import Clustered
from ltr_duel.logs.spread import Spread

_NORMAL = 1500.0  # effective number of users above which the normal approximation is used
_DRAWS, _ROUGH = 20_000, 2000
_FEW = 64  # maximum number of users who are sampled one by one
_GROWTH = 1.003  # factor between the lengths of simulated sequences at successive looks
_GROWTH_OF_USERS = 1.01
_CLEAREST = 5.0  # maximum effect in standard deviations


class Looking(NamedTuple):
    """The looks at simulated experiments, in impressions of the pair or of the log."""

    every: float  # number between two looks; 0: a look after each impression
    most: float  # an experiment that has not stopped after this number counts as one that never stops
    draws: int  # number of experiments


class Drawn(NamedTuple):
    """Users of simulated experiments and their sums; the first three fields have shape (kinds, experiments)."""

    number: FloatMatrix
    total: FloatMatrix
    squares: FloatMatrix
    against: FloatVector  # number of users with a sum below 0

    @classmethod
    def none(cls, kinds: int, draws: int) -> Drawn:
        """Return experiments without users."""
        zeros = np.zeros((kinds, draws))
        return cls(zeros, zeros, zeros, np.zeros(draws))

    def of(self, chosen: NDArray[Any]) -> Drawn:
        """Return the users of some of the experiments."""
        return Drawn(*(part[..., chosen] for part in self))


class Returning(NamedTuple):
    """Returning users; entries of the vectors are kinds of users."""

    effect: float  # mean outcome
    square: float  # mean squared outcome
    size: FloatVector  # impressions per user
    share: FloatVector  # share of the impressions
    variance: FloatVector  # variance of a user's sum

    @classmethod
    def of(cls, spread: Spread, effect: float, square: float) -> Returning:
        """Return the users of a pair, given its spread, effect and mean square."""
        size, share = np.array(spread.users).T
        size = size * spread.visits / (size @ share)
        single = max(square - effect**2, effect**2 / _CLEAREST**2)
        together = 1 + (size - 1) * spread.correlation
        return cls(effect, square, size, share, single * size * together)

    @property
    def visits(self) -> float:
        """Mean number of impressions of a user."""
        return float(1 / (self.share / self.size).sum())

    def filling(self, n: float, draws: int, rng: np.random.Generator) -> FloatMatrix:
        """Sample the numbers of users of each kind, in logs with n impressions."""
        size = self.size[1:, None]
        others = rng.poisson(n * self.share[1:, None] / size, (len(size), draws))
        first = np.maximum(np.round((n - (size * others).sum(axis=0)) / self.size[0]), 0)
        return np.vstack([first, others])

    def coming(self, users: int, draws: int, rng: np.random.Generator) -> FloatMatrix:
        """Sample the kinds of `users` users."""
        return rng.multinomial(users, self.share / self.size * self.visits, draws).T.astype(np.float64)

    def with_sums(self, known: Drawn, new: FloatMatrix, rng: np.random.Generator) -> Drawn:
        """Sample the sums of new users, and add them to the known sums."""
        number = known.number + new
        sums = [self._sums(kind, number[kind], some, rng) for kind, some in enumerate(new)]
        total, squares, against = map(np.array, zip(*sums, strict=True))
        return Drawn(number, known.total + total, known.squares + squares, known.against + against.sum(axis=0))

    def _sums(
        self, kind: int, number: FloatVector, new: FloatVector, rng: np.random.Generator
    ) -> tuple[FloatVector, FloatVector, FloatVector]:
        """Sample the sum of the new users' sums, the sum of their squares, and the number of sums below 0."""
        size, variance = self.size[kind], self.variance[kind]
        mean = size * self.effect
        if number.max() > _FEW:
            beyond = np.sqrt(variance * new) * rng.standard_normal(new.shape)
            rest = variance * 2 * rng.standard_gamma(np.maximum(new - 1, 0) / 2)
            squares = rest + beyond**2 / np.maximum(new, 1) + 2 * mean * beyond + new * mean**2
            return new * mean + beyond, squares, np.minimum(new, 1.0)  # many users rarely agree in sign
        won = min((1 + self.effect) / 2, 1 - 1e-6)
        alike = max(won * (1 - won) * 4 * size**2 / variance - 1, 0.01)
        each = size * (2 * rng.beta(won * alike, (1 - won) * alike, (int(new.max()), len(new))) - 1)
        each *= np.arange(len(each))[:, None] < new
        return each.sum(axis=0), (each**2).sum(axis=0), (each < 0).sum(axis=0)

    def seen(self, sums: Drawn) -> Clustered:
        """Return the data of a look; the sign test is exact if all users' sums have the same sign, else approximate."""
        size, total, number = self.size[:, None], sums.total.sum(axis=0), sums.number.sum(axis=0)
        n = (size * sums.number).sum(axis=0)
        means = cautious_of_kinds(size, *sums[:3], n * self.square)
        exact = 2.0 ** (1 - np.minimum(number, 1000))
        signs = 2 * special.ndtr(-np.abs(total) / np.sqrt(sums.squares.sum(axis=0)))
        signs = np.where(sums.against % number == 0, exact, np.maximum(signs, exact))
        return Clustered(means, np.maximum(statistics.student_p(*means), signs), n)


def impressions_needed(users: Returning, power: float, alpha: float, rng: np.random.Generator) -> float:
    """Return the number of impressions of the pair that the fixed test needs, by bisection over simulations."""
    each = users.variance / users.size
    about = float(special.ndtri(1 - alpha / 2) + special.ndtri(power)) ** 2 * (users.share @ each) / users.effect**2
    if about * (users.share @ each) ** 2 / (users.share * users.size @ each**2) > _NORMAL:
        return float(about)  # by the normal approximation
    unit = users.size[0]

    def found(number: float, draws: int = _DRAWS) -> float:
        new = users.filling(number * unit, draws, rng)
        sums = users.with_sums(Drawn.none(len(new), draws), new, rng)
        return float(((users.seen(sums).p < alpha) & (sums.total.sum(axis=0) > 0)).mean())

    high = np.ceil(
        3 * about / unit + 2
    )  # search from above, because a small log without a heavy user may have more power than a larger log
    while found(high, _ROUGH) < power:
        high = np.ceil(1.2 * high)
    while (low := np.floor(high / 1.2)) > 1 and found(low, _ROUGH) >= power:
        high = low
    low, high = np.floor(low / 1.03), np.ceil(high * 1.03)
    while high - low > max(1.0, high / 150):
        middle = float(np.round((low + high) / 2))
        low, high = (low, middle) if found(middle) >= power else (middle, high)
    return float(high * unit)


def clustered_times(
    users: Returning, alpha: float, tuned_at: float, looking: Looking, rng: np.random.Generator
) -> tuple[FloatVector, NDArray[np.bool_]]:
    """Simulate stopping times of the test of `Clustered`, in impressions of the pair; ``alpha`` is two-sided."""
    every, most, draws = looking
    times, right = np.full(draws, np.inf), np.zeros(draws, np.bool_)
    sums, open_ones, known = Drawn.none(len(users.size), draws), np.arange(draws), 0
    least = -2 * np.log(alpha)  # lower bound of the squares of all boundaries
    for look in looks_until(every / users.visits, most / users.visits, _GROWTH_OF_USERS):
        sums = users.with_sums(sums, users.coming(int(look) - known, len(open_ones), rng), rng)
        known = int(look)
        total = sums.total.sum(axis=0)
        far = np.flatnonzero((total**2 >= least * sums.squares.sum(axis=0)) | (sums.against % known == 0))
        if known < 2 or not len(far):
            continue
        hit = far[users.seen(sums.of(far)).ahead(1 - alpha, 1, tuned_at) != 0]
        looks = np.floor(known * users.visits / every + 1e-9) if every > 0 else 0.0  # at the mean impressions per user
        times[open_ones[hit]] = max(looks, 1.0) * every if every > 0 else users.size @ sums.number[:, hit]
        right[open_ones[hit]] = total[hit] > 0
        rest = np.delete(np.arange(len(open_ones)), hit)
        open_ones, sums = open_ones[rest], sums.of(rest)
        if len(open_ones) == 0:
            break
    return times, right


def stopping_times(
    effect: float,
    square: float,
    bets: Bets,
    alpha: float,
    looking: Looking,
    rng: np.random.Generator,
    share: float = 1.0,
) -> tuple[FloatVector, NDArray[np.bool_]]:
    """Simulate the number of impressions until each sequence stops (infinity: never), and whether the winner is right.

    An impression compares the pair with probability ``share``; ``alpha`` is the error of each side.
    """
    every, most, draws = looking
    won, lost = share * (square + effect) / 2, share * (square - effect) / 2
    chances = np.array([won, lost, max(0.0, 1 - won - lost)])  # without ties, rounding may give a negative chance
    level = float(-np.log(alpha))
    least = np.arange(1.0, 20 * level)  # a run of wins of one of these lengths is enough to stop
    most = max(most, 4.0 * float(bets.lead_needed(least, level).min()) / effect / share)
    grid = np.unique(np.round(np.geomspace(1, 2 * most, 2000)))
    bound = np.minimum(bets.lead_needed(grid, level), 2 * grid)  # unreachable if no lead is enough
    times, right = np.full(draws, np.inf), np.zeros(draws, np.bool_)
    n, lead, decided = 0.0, np.zeros(draws), np.zeros(draws)
    open_ones = np.arange(draws)
    for look in looks_until(every, most):
        new = rng.multinomial(look - int(n), chances, len(open_ones))
        lead += new[:, 0] - new[:, 1]
        decided += new[:, 0] + new[:, 1]
        n = float(look)
        hit = (decided > 0) & (np.abs(lead) >= np.interp(decided, grid, bound))
        times[open_ones[hit]] = n
        right[open_ones[hit]] = lead[hit] > 0
        open_ones, lead, decided = open_ones[~hit], lead[~hit], decided[~hit]
        if len(open_ones) == 0:
            break
    return times, right


def looks_until(every: float, most: float, growth: float = _GROWTH) -> IntVector:
    """Return the times of looks until the end: multiples of `every` that grow by about the factor `growth`."""
    looks = growth ** np.arange(np.ceil(np.log(most) / np.log(growth)) + 1)
    step = max(every, 1.0)
    return np.unique(np.ceil(step * np.ceil(looks / step)).astype(np.int64))
