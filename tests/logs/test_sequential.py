"""Tests at any time: values of the mixtures, the error over whole sequences, and how far a decision is away."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from ltr_duel.core import InputError, statistics
from ltr_duel.logs.clusters import Means
from ltr_duel.logs.sequential import Bets, clustered_sequence, confidence_sequence, normal_boundary
from ltr_duel.logs.sums import Sequences
from tests.log_studies.sequences import boundary, compared, first_alarm

PUBLISHED = Bets.tuned(100, 0.05, tuned_part=1.0)  # the authors' library, confseq, tests this one against their R code
NARROWEST = 1000 / (2 * np.log(20) + np.log(1 + 2 * np.log(20)))  # rho of half of the weight, at alpha = .05


def test_the_mixture_has_the_values_of_the_authors():
    for lead, expected in ((10, -0.2490165), (33.02017, np.log(20))):
        capital = PUBLISHED.log_capital(Sequences(0.0, 0.0, 0.0, 1.0, lead, 100), 0)
        assert float(capital) == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("m", [0.0, 0.2])
@pytest.mark.parametrize("sums", [(0, 0, 0, 0, 0, 0), (40, 20, 90, 0, 0, 0), (9, 4, 1, 30, 5.5, 6.0)])
def test_the_capital_is_the_integral_over_the_shares(sums, m):
    """Half of the prior is the published density, half is uniform over log l from 1e-4 to .49."""
    wins, losses, ties, others, lead, square = sums
    shape = 500 / (2 * np.log(20) + np.log(1 + 2 * np.log(20))) / 4
    gamma = stats.gamma(shape, scale=1 / shape)

    def capital(x):
        psi = (-np.log1p(-2 * x) - 2 * x) / 4
        won = (1 + x * (1 - m)) ** wins * (1 - x * (1 + m)) ** losses * (1 - x * m) ** ties
        return won * np.exp(x * (lead - others * m) - psi * (square - 2 * m * lead + others * m**2))

    def integral(density, low, high):
        return sum(quad(lambda x: density(x) * capital(x), *ends)[0] for ends in pairwise(np.geomspace(low, high, 25)))

    published = integral(lambda x: 2 * gamma.pdf(1 - 2 * x) / gamma.cdf(1), 1e-9, 0.5)
    even = integral(lambda x: 1 / x / np.log(0.49 / 1.1e-4), 1.1e-4, 0.49)
    found = Bets.tuned(500, 0.025).log_capital(Sequences(*sums), m)
    assert float(found) == pytest.approx(np.log((published + even) / 2), abs=0.03)


def test_nobody_gains_by_betting_on_the_truth():
    """After one more outcome with mean m, the expected capital is unchanged or lower."""
    bets, before = Bets.tuned(100, 0.05), Sequences(30, 12, 8, 5, 2.0, 1.5)
    for chances, outcomes in (((0.5, 0.5), (-1, 1)), ((0.2, 0.5, 0.3), (-1, 0, 1)), ((0.4, 0.6), (-0.8, 0.9))):
        m, after = float(np.dot(chances, outcomes)), []
        for y in outcomes:
            field = {1: {"wins": 31}, -1: {"losses": 13}, 0: {"ties": 9}}
            other = {"others": 6, "lead": 2 + y, "square": 1.5 + y * y}
            after.append(float(bets.log_capital(before._replace(**field.get(y, other)), m)))
        ratio = np.dot(chances, np.exp(after)) / np.exp(float(bets.log_capital(before, m)))
        assert ratio == pytest.approx(1, abs=1e-12) if set(outcomes) <= {-1, 0, 1} else ratio < 1


def test_the_interval_holds_what_the_e_value_does_not_refute():
    wins, losses, ties = np.array([20, 120, 550.0]), np.array([5, 60, 1450.0]), np.array([25, 220, 2000.0])
    for tests in (1, 10):
        now = confidence_sequence(wins, losses, ties, confidence=0.9, tests=tests)
        excluded = (now.low > 0) | (now.high < 0)
        assert (now.log_e >= np.log(tests / 0.1)).tolist() == (now.p <= 0.1).tolist() == excluded.tolist()
    nothing = confidence_sequence([0], [0], [0])
    assert (nothing.low[0], nothing.high[0]) == (-1, 1)
    with pytest.raises(InputError, match="confidence"):
        confidence_sequence([1], [1], [1], confidence=1.0)


def alarms(logs, length, seed=0):
    """Return the shares of logs of two identical rankers in which any look finds a difference, and any z-test."""
    limits = boundary(length, 0.05)
    stops = [(first_alarm(y, limits) <= length).sum(axis=1) for y in compared(logs, length, seed)]
    return np.sum(stops, axis=0) / logs


def test_looks_at_every_impression_seldom_find_a_difference_of_identical_rankers():
    sequential, naive = alarms(400, 1000)
    assert sequential <= 0.05 < 0.3 < naive


def clustered(mean, error, freedom, n=1000.0, times=1.0, **given):
    """Return the sequence of a pair after its impressions were multiplied, with the same mean and variance."""
    means = Means(np.array([mean]), np.array([error]) / np.sqrt(times), np.array([freedom * times]))
    return clustered_sequence(means, statistics.student_p(*means), np.array([n * times]), means.mean, **given)


@pytest.mark.parametrize("variance", [3.0, 200.0, 50_000.0])
def test_the_e_value_is_the_ratio_of_normal_densities_mixed_over_the_drift(variance):
    """If the drift is sampled with variance 1 / rho, S at time V has variance V + V^2 / rho."""
    rho, weight = np.append(4.0 ** np.arange(11), NARROWEST), np.append(np.full(11, 0.5 / 11), 0.5)
    for deviation in (0.0, 1.5, 4.0):
        s, error = deviation * np.sqrt(variance), np.sqrt(variance) / 1000
        ratio = stats.norm.pdf(s, 0, np.sqrt(variance + variance**2 / rho)) / stats.norm.pdf(s, 0, np.sqrt(variance))
        now = clustered(s / 1000, error, 1e9, confidence=0.95)
        assert np.exp(now.log_e[0]) == pytest.approx(weight @ ratio, rel=1e-5)
    assert clustered(float(normal_boundary([variance], 0.05)[0]) * error, error, 1e9, confidence=0.95).log_e[
        0
    ] == pytest.approx(np.log(20), rel=1e-5)


@pytest.mark.parametrize(("mean", "margin"), [(0.03, None), (-0.002, 0.03)])
def test_the_further_impressions_are_about_those_at_which_the_sequence_decides(mean, margin):
    (times,) = clustered(mean, 0.02, 200.0, confidence=0.95, tests=3).growth(0.05 / 3, margin)
    for part, decided in ((0.95, False), (1.05, True)):
        now = clustered(mean, 0.02, 200.0, times=part * times, confidence=0.95, tests=3)
        within = margin is not None and -margin < now.low[0] and now.high[0] < margin
        assert bool(now.low[0] > 0 or within) == decided
