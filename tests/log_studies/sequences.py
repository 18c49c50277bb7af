"""Many simulated sequences of outcomes, with a look after every observation."""

from __future__ import annotations

import numpy as np

from ltr_duel.clicks import click_model
from ltr_duel.core import kernel, random_below, stream
from ltr_duel.interleaving import Comparer, compare_pair
from ltr_duel.logs.sequential import Bets
from ltr_duel.logs.sums import Sequences
from tests.conftest import random_rankings


def boundary(length, alpha, tuned_at=1000.0):
    """Return the lead of wins that stops the test, for each number of decided outcomes up to the length."""
    d = np.arange(length + 1.0)
    bets, none, level = Bets.tuned(tuned_at, alpha / 2), np.zeros_like(d), np.log(2 / alpha)

    def reached(lead):
        return bets.log_capital(Sequences((d + lead) / 2, (d - lead) / 2, none, none, none, none), 0.0) >= level

    low, high = none, d
    for _ in range(50):
        middle = (low + high) / 2
        low, high = np.where(reached(middle), low, middle), np.where(reached(middle), middle, high)
    return np.where(reached(d), high, np.inf)


def compared(logs, length, seed, at_once=500):
    """Yield outcomes of logs in which two identical rankers are interleaved and shown to simulated users."""
    rankings = random_rankings(1, 50, 10)[[0]]
    comparer = Comparer(rankings, click_model("navigational", 5), "team_draft:prefix_credit=1")
    comparison, rng = comparer.open(), stream(seed, "identical")
    for start in range(0, logs, at_once):
        y = np.zeros((min(at_once, logs - start), length), np.int8)
        compare_often(comparison, rng, y.reshape(-1))
        yield y


@kernel
def compare_often(comparison, rng, out):
    """Fill in the outcomes of a ranker against itself."""
    n_queries = comparison.lists.query_ptr.shape[0] - 1
    for n in range(out.shape[0]):
        out[n] = np.int8(compare_pair(comparison, random_below(n_queries, rng), 0, 0, rng, rng))


def first_alarm(y, limits, z=1.959964, burn_in=10):
    """Return, for each log, the number of observations until the sequence stops, and until a repeated z-test stops.

    The number is the length plus one if the test does not stop.
    """
    logs, length = y.shape
    lead, square = np.zeros(logs), np.zeros(logs)
    stops = np.full((2, logs), length + 1)
    for n in range(1, length + 1):
        x = y[:, n - 1].astype(float)
        lead += x
        square += x * x
        hit = np.abs(lead) >= limits[square.astype(np.int64)]
        stops[0, hit & (stops[0] > length)] = n
        if n >= burn_in:
            deviation = np.sqrt(np.maximum(square - lead**2 / n, 1e-12))
            stops[1, (np.abs(lead) > z * deviation) & (stops[1] > length)] = n
    return stops
