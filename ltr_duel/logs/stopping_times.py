"""When sequential tests stop, simulated: of observations that are won, lost or tied, and of users who return."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ltr_duel.core import FloatVector, IntVector, statistics
from ltr_duel.logs.clustered_sequence import normal_boundary
from ltr_duel.logs.sequential import Bets

_GROWTH = 1.003  # simulated sequences are looked at each time they are so much longer


def stopping_times(
    effect: float,
    square: float,
    bets: Bets,
    alpha: float,
    every: float,
    draws: int,
    rng: np.random.Generator,
    most: float,
) -> tuple[FloatVector, NDArray[np.bool_]]:
    """Simulate after how many observations sequences stop, infinity for never, and which name the right ranker.

    An outcome is a win, a tie or a loss, with the mean and the mean square that are given; ``alpha`` is the error of
    each side, ``every`` are the observations between two looks.
    """
    chances = np.array([(square + effect) / 2, (square - effect) / 2, 1 - square])
    level = float(-np.log(alpha))
    least = np.arange(1.0, 20 * level)  # some of these wins in a row are enough
    most = max(most, 4.0 * float(bets.lead_needed(least, level).min()) / effect)
    grid = np.unique(np.round(np.geomspace(1, 2 * most, 2000)))
    bound = np.minimum(bets.lead_needed(grid, level), 2 * grid)  # more than there can be where nothing is enough
    times, right = np.full(draws, np.inf), np.zeros(draws, np.bool_)
    n, lead, decided = 0.0, np.zeros(draws), np.zeros(draws)
    open_ones = np.arange(draws)
    for look in _looks(every, most):
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


def clustered_times(
    effect: float,
    variance: float,
    clusters: float,
    alpha: float,
    tuned_at: float,
    every: float,
    draws: int,
    rng: np.random.Generator,
    most: float,
) -> tuple[FloatVector, NDArray[np.bool_]]:
    """Simulate what `stopping_times` does, by the test of all impressions of users who return (see `Clustered`).

    The sum of n impressions is normal, with this variance for each, and brings ``clusters`` degrees of freedom for
    each; ``alpha`` is the error of both sides together.
    """
    times, right = np.full(draws, np.inf), np.zeros(draws, np.bool_)
    total, n, open_ones = np.zeros(draws), 0.0, np.arange(draws)
    for look in _looks(every, most):
        step, n = look - n, float(look)
        total += effect * step + (variance * step) ** 0.5 * rng.standard_normal(len(open_ones))
        if n * clusters < 2:
            continue
        normal = normal_boundary(variance * n, alpha, tuned_at)
        limit = -statistics.student_quantile(float(special.ndtr(-normal)), n * clusters - 1) * (variance * n) ** 0.5
        hit = np.abs(total) >= limit
        times[open_ones[hit]] = n
        right[open_ones[hit]] = total[hit] > 0
        open_ones, total = open_ones[~hit], total[~hit]
        if len(open_ones) == 0:
            break
    return times, right


def _looks(every: float, most: float) -> IntVector:
    looks = _GROWTH ** np.arange(np.ceil(np.log(most) / np.log(_GROWTH)) + 1)
    step = max(every, 1.0)
    return np.unique(np.ceil(step * np.ceil(looks / step)).astype(np.int64))
