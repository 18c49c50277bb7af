"""Simulated logs, in which users return and have tastes: intervals contain the known mean, and errors are rare."""

from __future__ import annotations

import numpy as np
import pytest

from ltr_duel.core import stream
from ltr_duel.logs import confidence_sequence
from ltr_duel.logs.clusters import cautious_means, clustered_means, interval_ends, naive_means
from tests.log_studies.drawn_logs import coverage, false_alarms, false_stops, users_needed

SQUARE = 0.5  # mean squared outcome: half of the impressions are ties


def covered(means, truth):
    low, high = interval_ends(means, 0.95, bound=np.inf)
    return ((low <= truth) & (truth <= high)).mean()


@pytest.mark.parametrize("correlation", [0.0, 0.3])
def test_intervals_of_two_thousand_logs_cover_the_truth(correlation, users=60, logs=2000, mean=0.05):
    """Half of the users prefer the first ranker more than average, half less; visits are geometric with mean five."""
    rng = stream(0, "users", str(correlation))
    own = mean + np.sqrt(correlation * (SQUARE - mean**2)) * rng.choice([-1.0, 1.0], (logs, users))
    count = rng.geometric(1 / 5, (logs, users))
    wins = rng.binomial(count, (SQUARE + own) / 2)
    losses = rng.binomial(count - wins, (SQUARE - own) / 2 / (1 - (SQUARE + own) / 2))
    count, total, square = count.astype(float), (wins - losses).astype(float), (wins + losses).sum(axis=1)
    assert 0.94 <= covered(clustered_means(count, total), mean) <= 0.96
    assert 0.94 <= covered(cautious_means(count, total, square), mean) <= 0.97
    naive = covered(naive_means(count.sum(axis=1), total.sum(axis=1), square), mean)
    assert naive < 0.91 or correlation < 0.1


def test_intervals_of_ratios_of_two_thousand_logs_cover_the_truth(users=60, logs=2000):
    """Users differ in how often they click (a Beta) and order after a click; the first ranker wins 60 % of the orders.

    Each of five visits is decided by a click with the user's probability c, of mean 1/3, and by an order with c / 2 on
    top of it. The truth is .2 * E[5 c / 2] / E[5 c] = .1.
    """
    rng = stream(1, "ratios")
    clicks = rng.binomial(5, rng.beta(1, 2, (logs, users)))
    orders = rng.binomial(clicks, 0.5)
    net = 2.0 * rng.binomial(orders, 0.6) - orders
    assert 0.935 <= covered(clustered_means(clicks.astype(float), net), 0.1) <= 0.96
    assert 0.94 <= covered(cautious_means(clicks.astype(float), net, orders.sum(axis=1)), 0.1) <= 0.97


@pytest.mark.parametrize("kind", ["independent", "returning"])
def test_identical_rankers_are_seldom_told_apart_at_one_look_or_at_thirty(kind, logs=400):
    """Three pairs share 5 %; two standard errors of 400 logs are 2.2 %."""
    once = false_alarms(3, 300, 0.3, kind, logs)[0]
    assert once <= 0.072 * logs and false_stops(3, 300, 0.3, kind, logs) <= 0.072 * logs


def test_one_observation_a_user_keeps_the_sequence_right_where_all_impressions_do_not():
    """Users of opposite tastes come in runs of visits, so that earlier outcomes predict the next outcome."""
    rng = stream(3, "runs")
    logs, users, visits = 400, 150, 12
    taste = 0.45 * rng.choice([-1.0, 1.0], (logs, users, 1))
    u = rng.random((logs, users, visits))
    y = (u < (SQUARE + taste) / 2) * 1.0 - ((u >= (SQUARE + taste) / 2) & (u < SQUARE))

    def alarms(observations, every):
        ever = np.zeros(logs, bool)
        for n in range(every, observations.shape[1] + 1, every):
            wins, losses = (observations[:, :n] == 1).sum(axis=1), (observations[:, :n] == -1).sum(axis=1)
            now = confidence_sequence(wins, losses, n - wins - losses, tuned_at=50)
            ever |= (now.low > 0) | (now.high < 0)
        return ever.mean()

    assert alarms(y[:, :, 0], every=10) <= 0.05 < alarms(y.reshape(logs, -1), every=90)


@pytest.mark.parametrize(("ties", "mean"), [(0.0, 0.9), (0.95, 0.045)])
@pytest.mark.parametrize("users", [2, 20])
def test_intervals_of_few_users_hold_the_truth(users, ties, mean, kind="returning"):
    cautious, plain = coverage(users, kind, ties, mean, 100)
    assert cautious >= 100 * 0.94 - 2.5 * (100 * 0.05) ** 0.5
    assert plain < cautious or mean == 0  # without the two clusters some intervals have no width


@pytest.mark.parametrize(("effect", "experiments"), [(0.2, 24)])
def test_all_impressions_of_returning_users_need_a_third_of_the_users(effect, experiments):
    first, every = users_needed(effect, experiments).mean(axis=0)
    assert every < first / 3
