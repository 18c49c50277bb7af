"""The intervals contain the known mean of simulated logs, in which users return and have individual tastes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ltr_duel.core import stream
from ltr_duel.logs import Sequences, comparison, confidence_sequence
from ltr_duel.logs.clusters import cautious_means, clustered_means, naive_means, reach, two_way
from ltr_duel.logs.outcomes import UNIT
from ltr_duel.logs.sums import Clusters, PairSums

SQUARE = 0.5  # mean squared outcome: half of the impressions are ties


def logs_of_users(logs, users, visits, correlation, mean, seed):
    """Return visits and sums of outcomes of each log's users; shape (logs, users).

    Half of the users prefer the first ranker more than average, half less, so that two outcomes of a user
    have the given correlation. Some users come often: visits are geometric with the given mean.
    """
    rng = stream(seed, "users", str(correlation))
    taste = np.sqrt(correlation * (SQUARE - mean**2)) * rng.choice([-1.0, 1.0], (logs, users))
    count = rng.geometric(1 / visits, (logs, users))
    own = mean + taste
    wins = rng.binomial(count, (SQUARE + own) / 2)
    losses = rng.binomial(count - wins, (SQUARE - own) / 2 / (1 - (SQUARE + own) / 2))
    return count.astype(float), (wins - losses).astype(float), wins + losses


def coverage(correlation, users=300, visits=5, mean=0.05, logs=2000, seed=0):
    """Return how often the clustered and the naive 95 % interval contain the truth."""
    count, total, decided = logs_of_users(logs, users, visits, correlation, mean, seed)
    found = clustered_means(count, total)
    naive = naive_means(count.sum(axis=1), total.sum(axis=1), decided.sum(axis=1).astype(float))
    return [float((np.abs(one.mean - mean) <= reach(one, 0.95)).mean()) for one in (found, naive)]


@pytest.mark.parametrize("correlation", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("users", [60, 300])
def test_intervals_of_two_thousand_logs_cover_the_truth(users, correlation):
    clustered, naive = coverage(correlation, users)
    print(f"{users} users, correlation {correlation}: clustered {clustered:.4f}, naive {naive:.4f}")
    assert 0.94 <= clustered <= 0.96
    if correlation >= 0.1:
        assert naive < clustered - 0.03


def regressed(y, groups):
    """Return the mean and its cluster-robust error by statsmodels."""
    linear = pytest.importorskip("statsmodels.api")
    fitted = linear.OLS(y, np.ones(len(y))).fit(cov_type="cluster", cov_kwds={"groups": groups})
    return fitted.params[0], fitted.bse[0]


def test_the_error_of_clusters_is_that_of_statsmodels():
    """For clusters of equal size the corrections are the same: G / (G - 1)."""
    y = np.random.default_rng(0).choice([-1.0, 0.0, 1.0], (40, 5))
    found = clustered_means(np.full((1, 40), 5.0), y.sum(axis=1)[None])
    assert (found.mean[0], found.error[0]) == pytest.approx(regressed(y.ravel(), np.repeat(np.arange(40), 5)))


def test_the_error_of_unequal_clusters_is_that_of_statsmodels_but_for_the_correction():
    """Sizes are one to nine: CR2 divides each square by 1 minus its share, statsmodels all squares by (G - 1) / G."""
    sizes = np.tile(np.arange(1, 10), 60)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    y = np.random.default_rng(1).choice([-1.0, 0.0, 1.0], len(groups))
    found = clustered_means(sizes[None].astype(float), np.bincount(groups, y)[None])
    mean, error = regressed(y, groups)
    assert found.mean[0] == pytest.approx(mean) and found.error[0] == pytest.approx(error, rel=1 / len(sizes))


def test_the_error_by_users_and_queries_is_that_of_statsmodels():
    """Each of 30 users sends each of 20 queries once, so that no correction differs."""
    rng = np.random.default_rng(2)
    y = np.sign(rng.normal(size=(30, 20)) + rng.normal(size=(30, 1)) + rng.normal(size=(1, 20)))
    kinds = [
        clustered_means(np.full((1, n), float(y.size / n)), sums[None])
        for n, sums in ((30, y.sum(axis=1)), (20, y.sum(axis=0)), (600, y.ravel()))
    ]
    user, query = (axis.ravel() for axis in np.indices(y.shape))
    found = two_way(*kinds)
    assert (found.mean[0], found.error[0]) == pytest.approx(regressed(y.ravel(), np.stack([user, query], axis=1)))


def test_one_observation_a_user_keeps_the_sequence_right_where_all_impressions_do_not():
    """Users of opposite tastes come in runs of visits, so that earlier outcomes predict the next outcome."""
    rng = stream(3, "runs")
    logs, users, visits = 1000, 150, 12
    taste = 0.45 * rng.choice([-1.0, 1.0], (logs, users))
    u = rng.random((logs, users, visits))
    y = (u < (SQUARE + taste[..., None]) / 2) * 1.0 - ((u >= (SQUARE + taste[..., None]) / 2) & (u < SQUARE))

    def alarms(observations, every):
        ever = np.zeros(logs, bool)
        for n in range(every, observations.shape[1] + 1, every):
            wins, losses = (observations[:, :n] == 1).sum(axis=1), (observations[:, :n] == -1).sum(axis=1)
            now = confidence_sequence(wins, losses, n - wins - losses, tuned_at=50)
            ever |= (now.low > 0) | (now.high < 0)
        return ever.mean()

    assert alarms(y[:, :, 0], every=10) <= 0.05 < alarms(y.reshape(logs, -1), every=90)


def sums_of_users(count, total):
    """Return the sums of one pair, given each user's impressions and wins less losses."""
    keys, number = np.unique(np.stack([count, total]).astype(np.int64), axis=1, return_counts=True)
    users = Clusters(np.zeros(len(number), np.int64), keys[0], keys[1] * UNIT, number)
    one = np.zeros(1)
    return PairSums("user", one, one, one, one, one, Sequences(*[one] * 6), (users,))


def test_the_net_share_of_users_is_covered_where_it_differs_from_the_mean_over_impressions():
    def users(number, seed):
        """Two of three users come once and prefer the first ranker; others come nine times and prefer the second."""
        rng = stream(seed, "net share")
        heavy = rng.random(number) < 1 / 3
        count = np.where(heavy, 9, 1)
        return count, 2 * rng.binomial(count, np.where(heavy, 0.35, 0.6)) - count

    often = stats.binom.sf(4, 9, 0.35)  # a user of nine impressions has no tie
    truth = 2 / 3 * 0.2 + 1 / 3 * (2 * often - 1)
    held = []
    for seed in range(2000):
        sums = sums_of_users(*users(150, seed)).per_user()
        low, high = comparison.tested_ends(sums.cautious(), np.zeros(1), 0.95)
        held.append(low[0] <= truth <= high[0])
    assert truth > -0.1 > 2 / 3 * 0.2 / (11 / 3) + 9 / 3 * -0.3 / (11 / 3)
    assert 0.94 <= np.mean(held) <= 0.96


def test_clusters_that_are_alike_may_be_counted_instead_of_listed():
    count, total, times = np.array([[1.0, 2.0, 7.0]]), np.array([[1.0, -1.0, 3.0]]), np.array([40, 1, 3])
    listed = [np.repeat(values, times, axis=1) for values in (count, total)]
    np.testing.assert_allclose(clustered_means(count, total, times), clustered_means(*listed))
    np.testing.assert_allclose(cautious_means(count, total, [70.0], times), cautious_means(*listed, [70.0]))
