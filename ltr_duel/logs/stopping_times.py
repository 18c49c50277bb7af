"""When sequential tests of observations that are won, lost or tied stop, simulated."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import FloatVector, IntVector
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
    share: float = 1.0,
) -> tuple[FloatVector, NDArray[np.bool_]]:
    """Simulate after how many impressions sequences stop, infinity for never, and which name the right ranker.

    An impression is of the pair by a chance of ``share``. Its outcome is a win, a tie or a loss, with the mean and the
    mean square that are given; ``alpha`` is the error of each side, ``every`` are the impressions between two looks.
    """
    won, lost = share * (square + effect) / 2, share * (square - effect) / 2
    chances = np.array([won, lost, max(0.0, 1 - won - lost)])  # without ties it may round below 0
    level = float(-np.log(alpha))
    least = np.arange(1.0, 20 * level)  # some of these wins in a row are enough
    most = max(most, 4.0 * float(bets.lead_needed(least, level).min()) / effect / share)
    grid = np.unique(np.round(np.geomspace(1, 2 * most, 2000)))
    bound = np.minimum(bets.lead_needed(grid, level), 2 * grid)  # more than there can be where nothing is enough
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
    """Return the times of looks: so far apart, and each so much later, until the end."""
    looks = growth ** np.arange(np.ceil(np.log(most) / np.log(growth)) + 1)
    step = max(every, 1.0)
    return np.unique(np.ceil(step * np.ceil(looks / step)).astype(np.int64))
