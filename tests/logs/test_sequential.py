"""Tests at any time: values of the mixtures, the error over whole sequences, and how far a decision is away."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import special, stats
from scipy.integrate import quad

from ltr_duel.core import InputError, statistics, stream
from ltr_duel.logs import BettingTest, confidence_sequence
from ltr_duel.logs.clusters import Means
from ltr_duel.logs.sequential import _RHO, Bets, ClusteredTest, _components, normal_boundary
from ltr_duel.logs.sums import Sequences
from tests.logs.sequences import boundary, compared, first_alarm

PUBLISHED = Bets.tuned(100, 0.05, tuned_part=1.0)  # the authors' library, confseq, tests this one against their R code
NARROWEST = 1000 / (2 * np.log(20) + np.log(1 + 2 * np.log(20)))  # rho of half of the weight, at alpha = .05


def between(lead, square, others=1.0):
    """Return the sums of outcomes that are neither wins, losses nor ties."""
    return Sequences(0.0, 0.0, 0.0, others, lead, square)


def test_the_mixture_has_the_values_of_the_authors():
    assert float(PUBLISHED.log_capital(between(10, 100), 0)) == pytest.approx(-0.2490165, abs=2e-3)
    assert float(PUBLISHED.log_capital(between(33.02017, 100), 0)) == pytest.approx(np.log(20), abs=2e-3)


@pytest.mark.parametrize("m", [0.0, 0.1, 0.2])
@pytest.mark.parametrize("seen", [(0, 0, 0, 0, 0, 0), (40, 20, 90, 0, 0, 0), (9, 4, 1, 30, 5.5, 6.0)])
def test_the_capital_is_the_integral_over_the_shares(seen, m):
    """Half of the prior is the published density, half is uniform over log l from 1e-4 to .49."""
    wins, losses, ties, others, lead, square = seen
    spread = 500.0
    bets = Bets.tuned(spread, 0.025)
    shape = spread / (2 * np.log(20) + np.log(1 + 2 * np.log(20))) / 4

    def capital(x):
        psi = (-np.log1p(-2 * x) - 2 * x) / 4
        won = (1 + x * (1 - m)) ** wins * (1 - x * (1 + m)) ** losses * (1 - x * m) ** ties
        return won * np.exp(x * (lead - others * m) - psi * (square - 2 * m * lead + others * m**2))

    def integral(density, low, high, parts=25):
        points = np.geomspace(low, high, parts)
        return sum(quad(lambda x: density(x) * capital(x), a, b)[0] for a, b in pairwise(points))

    gamma = stats.gamma(shape, scale=1 / shape)
    published = integral(lambda x: 2 * gamma.pdf(1 - 2 * x) / gamma.cdf(1), 1e-9, 0.5)
    even = integral(lambda x: 1 / x / np.log(0.49 / 1.1e-4), 1.1e-4, 0.49)
    assert float(bets.log_capital(Sequences(*seen), m)) == pytest.approx(np.log((published + even) / 2), abs=0.03)


def test_nobody_gains_by_betting_on_the_truth():
    """After one more outcome with mean m, the expected capital is unchanged or lower."""
    bets = Bets.tuned(100, 0.05)
    for seen in (Sequences(0, 0, 0, 0, 0.0, 0.0), Sequences(30, 12, 8, 5, 2.0, 1.5)):
        for chances, outcomes_ in (((0.5, 0.5), (-1, 1)), ((0.2, 0.5, 0.3), (-1, 0, 1)), ((0.4, 0.6), (-0.8, 0.9))):
            m = float(np.dot(chances, outcomes_))
            after = [float(bets.log_capital(one_more(seen, y), m)) for y in outcomes_]
            ratio = np.dot(chances, np.exp(after)) / np.exp(float(bets.log_capital(seen, m)))
            sure = all(y in (-1, 0, 1) for y in outcomes_)
            assert ratio == pytest.approx(1, abs=1e-12) if sure else ratio < 1


def one_more(seen, y):
    if y in (-1, 0, 1):
        field = {1: "wins", -1: "losses", 0: "ties"}[y]
        return seen._replace(**{field: getattr(seen, field) + 1})
    return seen._replace(others=seen.others + 1, lead=seen.lead + y, square=seen.square + y * y)


def test_the_interval_holds_what_the_e_value_does_not_refute():
    wins, losses, ties = np.array([20, 120, 550.0]), np.array([5, 60, 1450.0]), np.array([25, 220, 2000.0])
    for tests in (1, 10):
        now = confidence_sequence(wins, losses, ties, confidence=0.9, tests=tests)
        refuted = now.log_e >= np.log(tests / 0.1)
        assert refuted.tolist() == ((now.low > 0) | (now.high < 0)).tolist()
    assert confidence_sequence([0], [0], [0]).low[0] == -1 and confidence_sequence([0], [0], [0]).high[0] == 1
    with pytest.raises(InputError, match="confidence"):
        confidence_sequence([1], [1], [1], confidence=1.0)


@pytest.mark.parametrize("margin", [0.0, 0.04])
def test_a_betting_test_decides_at_its_growth(margin):
    rng, none = stream(0, "pairs"), np.zeros(20)
    wins, losses, ties = 30 * rng.dirichlet([2, 2, 1], 20).T
    wins[0], losses[0], ties[0] = 9, 9, 12
    test = BettingTest(Sequences(wins, losses, ties, none, none, none))
    growth = test.growth(0.95, 1, margin)
    assert np.isinf(growth[0]) == (margin == 0)
    for part, expected in ((0.999, False), (1.001, True)):
        now = confidence_sequence(*(np.where(np.isinf(growth), 1, part * growth) * one for one in test.sums))
        decided = (now.low > 0) | (now.high < 0) | ((now.low > -margin) & (now.high < margin))
        late = np.isfinite(growth) & (growth > 1.01)
        assert (decided[late] == expected).all() and late.sum() > 10


def alarms(logs, length, seed=0):
    """Return the shares of logs of two identical rankers in which any look finds a difference."""
    limits = boundary(length, 0.05)
    naive = sequential = 0
    for y in compared(logs, length, seed):
        found = first_alarm(y, limits)
        sequential += int((found[0] <= length).sum())
        naive += int((found[1] <= length).sum())
    return sequential / logs, naive / logs


def test_false_alarms_are_rare_and_repeated_z_tests_are_not():
    sequential, naive = alarms(400, 1000)
    assert sequential <= 0.05 < 0.3 < naive


@pytest.mark.long
def test_false_alarms_of_ten_thousand_logs():
    sequential, naive = alarms(10_000, 5000)
    print(f"false alarms of 10,000 logs of 5,000 impressions: sequential {sequential:.4f}, z-tests {naive:.4f}")
    assert sequential <= 0.05
    assert naive > 0.4


def e_value(deviation, variance, alpha):
    constant, slope = _components(variance, alpha)
    return np.exp(constant + slope * np.asarray(deviation)[..., None] ** 2).sum(axis=-1)


@pytest.mark.parametrize("variance", [3.0, 200.0, 50_000.0])
def test_the_e_value_is_the_ratio_of_normal_densities_mixed_over_the_drift(variance):
    """If the drift is sampled with variance 1 / rho, S at time V has variance V + V^2 / rho."""
    rho = np.append(_RHO, NARROWEST)
    weight = np.append(np.full(len(_RHO), 0.5 / len(_RHO)), 0.5)
    for deviation in (0.0, 1.5, 4.0):
        s = deviation * np.sqrt(variance)
        ratio = stats.norm.pdf(s, 0, np.sqrt(variance + variance**2 / rho)) / stats.norm.pdf(s, 0, np.sqrt(variance))
        assert e_value(deviation, variance, 0.05) == pytest.approx(weight @ ratio)


@pytest.mark.parametrize("alpha", [0.05, 0.05 / 190])
def test_the_boundary_is_where_the_e_value_reaches_the_level(alpha):
    variance = np.geomspace(0.1, 1e7, 30)
    assert e_value(normal_boundary(variance, alpha), variance, alpha) == pytest.approx(1 / alpha)


def after(times, mean, error, freedom):
    """Return the sequence after multiplying the impressions of a pair, with the same mean and variance."""
    means = Means(np.array([mean]), np.array([error]) / np.sqrt(times), np.array([freedom * times]))
    n, deviations = np.array([1000.0 * times]), special.ndtri(statistics.student_p(mean, error, freedom) / 2)
    p = 2 * special.ndtr(np.array([deviations * np.sqrt(times)]))
    return ClusteredTest(means, p, n, means.mean).sequence(0.95, 3)


@pytest.mark.parametrize(("mean", "margin"), [(0.03, 0.0), (-0.002, 0.03)])
def test_the_further_impressions_are_those_at_which_the_sequence_decides(mean, margin):
    means = Means(np.array([mean]), np.array([0.02]), np.array([200.0]))
    (times,) = ClusteredTest(means, statistics.student_p(*means), np.array([1000.0]), means.mean).growth(
        0.95, 3, margin
    )
    for part, decided in ((0.99, False), (1.01, True)):
        found = after(part * times, mean, 0.02, 200.0)
        won = found.low[0] > 0 or found.high[0] < 0
        assert bool(won or (margin > found.high[0] and found.low[0] > -margin)) == decided
