"""Peeking: the published values of the mixture, the error over whole sequences, and what is decided."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from ltr_duel.core import InputError
from ltr_duel.logs import Spread, confidence_sequence, plan_impressions
from ltr_duel.logs.sequential import Mixture, observations_needed
from tests.logs.sequences import boundary, compared, first_alarm, outcomes

PUBLISHED = Mixture.tuned(100, 0.05, scale=2)  # the authors' library, confseq, tests this one against their R code


def test_the_mixture_has_the_values_of_the_authors():
    assert float(PUBLISHED.log_value(10, 100)) == pytest.approx(-0.2490165, abs=1e-7)
    assert float(PUBLISHED.bound(100, np.log(20))) == pytest.approx(33.02017, abs=1e-5)


@pytest.mark.parametrize(("lead", "spread"), [(0, 0), (3, 5), (40, 100), (-5, 60), (250, 1000)])
def test_the_mixture_is_the_integral(lead, spread):
    """Over 0 <= l < 1/2 with u = 1 - 2 l: density proportional to u^(rho / 4 - 1) exp(-rho u / 4)."""
    rho = PUBLISHED.rho
    points = np.linspace(0, 1, 41)

    def integral(lead, spread):
        def value(u):
            return u ** (rho / 4 - 1) * np.exp(-rho * u / 4 + lead * (1 - u) / 2 + spread * (np.log(u) + 1 - u) / 4)

        return sum(quad(value, a, b)[0] for a, b in pairwise(points))

    ratio = integral(lead, spread) / integral(0, 0)
    assert float(PUBLISHED.log_value(lead, spread)) == pytest.approx(np.log(ratio), abs=1e-6)


def test_the_mixture_is_a_supermartingale():
    """For a coin of +1 or -1 the expectation after one more toss is at most the value before."""
    for lead, spread, n in ((0.0, 0.0, 0), (5.0, 40.0, 41), (30.0, 200.0, 199)):
        guess = lead / (n + 1)
        after = [PUBLISHED.log_value(lead + y, spread + (y - guess) ** 2) for y in (-1, 1)]
        assert np.exp(after).mean() <= np.exp(float(PUBLISHED.log_value(lead, spread))) * (1 + 1e-12)


def test_the_interval_holds_what_the_e_value_does_not_refute():
    n, lead, spread = np.array([50, 400, 4000.0]), np.array([20, 60, -900.0]), np.array([20, 180, 2000.0])
    for tests in (1, 10):
        now = confidence_sequence(n, lead, spread, confidence=0.9, tests=tests)
        refuted = now.log_e >= np.log(tests / 0.1)
        assert refuted.tolist() == ((now.low > 0) | (now.high < 0)).tolist()
    assert confidence_sequence([0], [0], [0]).low[0] == -1
    with pytest.raises(InputError, match="confidence"):
        confidence_sequence([1], [1], [1], confidence=1.0)


def test_observations_needed_are_where_the_interval_leaves_zero():
    n = observations_needed(0.1, 0.5)
    low = [confidence_sequence([m], [0.1 * m], [0.5 * m]).low[0] for m in (n - 1, n)]
    assert low[0] <= 0 <= low[1]
    n = observations_needed(0.0, 0.5, margin=0.05)
    assert confidence_sequence([n], [0], [0.5 * n]).high[0] <= 0.05


def alarms(logs, length, seed=0):
    """Return the shares of logs of two identical rankers in which a look at any impression cries out."""
    grid, limits = boundary(length, 0.05)
    naive = sequential = 0
    for y in compared(logs, length, seed):
        found = first_alarm(y, grid, limits)
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


CASES = [(0.1, 0.5), (0.05, 0.3), (0.2, 0.9), (0.15, 0.4), (0.3, 0.6), (0.08, 0.2)]


def found_by_simulation(effect, square, plan, experiments, seed):
    """Return with what chance each test finds the effect with the impressions that were planned for."""
    fixed, late = int(np.ceil(plan.fixed)), int(plan.sequential_power)
    grid, limits = boundary(late, 0.05)
    hits, stopped = 0, 0
    for y in outcomes(experiments, late, effect, square, seed):
        part = y[:, :fixed].astype(float)
        error = part.std(axis=1, ddof=1) / np.sqrt(fixed)
        hits += int((np.abs(part.mean(axis=1)) > stats.t.ppf(0.975, fixed - 1) * error).sum())
        stopped += int((first_alarm(y, grid, limits)[0] <= late).sum())
    return hits / experiments, stopped / experiments


def test_a_plan_keeps_what_it_promises():
    effect, square = 0.2, 0.6
    (plan,) = plan_impressions(Spread("a", "b", effect, square), power=0.8, draws=2000)
    hits, stopped = found_by_simulation(effect, square, plan, 1000, 1)
    error = np.sqrt(0.8 * 0.2 * (1 / 1000 + 1 / 2000))
    assert abs(hits - 0.8) < 3 * error and abs(stopped - 0.8) < 3 * error


@pytest.mark.long
@pytest.mark.parametrize(("effect", "square"), CASES)
def test_power_agrees_with_brute_simulation(effect, square):
    (plan,) = plan_impressions(Spread("a", "b", effect, square), power=0.8, draws=20_000)
    experiments = 4000
    hits, stopped = found_by_simulation(effect, square, plan, experiments, 7)
    error = np.sqrt(0.8 * 0.2 / experiments)
    print(
        f"effect {effect}, mean square {square}: planned {plan}; found {hits:.4f} and {stopped:.4f} (error {error:.4f})"
    )
    assert abs(hits - 0.8) < 2 * error
    assert abs(stopped - 0.8) < 2 * np.sqrt(error**2 + 0.16 / 20_000)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"power": 1.0}, "the power must be between"),
        ({"effects": (0.0,)}, "the effect"),
        ({"effects": (2,)}, "the effect"),
    ],
)
def test_impossible_plans_are_refused(settings, says):
    with pytest.raises(InputError, match=says):
        plan_impressions(Spread("a", "b", 0.1, 0.5), **settings)
