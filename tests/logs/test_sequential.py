"""Peeking: the published values of the mixture, the error over whole sequences, and the decisions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from ltr_duel.core import InputError, statistics, stream
from ltr_duel.logs import Spread, confidence_sequence, plan_impressions, smallest_effects
from ltr_duel.logs.bets import Bets
from ltr_duel.logs.clusters import naive_means
from ltr_duel.logs.power import fixed_test, found_by, least_effect
from ltr_duel.logs.sequential import observations_needed
from ltr_duel.logs.spread import shrunk
from ltr_duel.logs.sums import Sequences
from tests.logs.drawn import winner_found
from tests.logs.sequences import boundary, compared, first_alarm, outcomes

PUBLISHED = Bets.tuned(100, 0.05, tuned_part=1.0)  # the authors' library, confseq, tests this one against their R code


def between(lead, square, others=1.0):
    """Return the sums of outcomes that are neither wins, losses nor ties."""
    return Sequences(0.0, 0.0, 0.0, others, lead, square)


def test_the_mixture_has_the_values_of_the_authors():
    assert float(PUBLISHED.log_value(between(10, 100), 0)) == pytest.approx(-0.2490165, abs=2e-3)
    assert float(PUBLISHED.log_value(between(33.02017, 100), 0)) == pytest.approx(np.log(20), abs=2e-3)


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
    assert float(bets.log_value(Sequences(*seen), m)) == pytest.approx(np.log((published + even) / 2), abs=0.03)


def test_nobody_gains_by_betting_on_the_truth():
    """After one more outcome with mean m, the expected capital is unchanged or lower."""
    bets = Bets.tuned(100, 0.05)
    for seen in (Sequences(0, 0, 0, 0, 0.0, 0.0), Sequences(30, 12, 8, 5, 2.0, 1.5)):
        for chances, outcomes_ in (((0.5, 0.5), (-1, 1)), ((0.2, 0.5, 0.3), (-1, 0, 1)), ((0.4, 0.6), (-0.8, 0.9))):
            m = float(np.dot(chances, outcomes_))
            after = [float(bets.log_value(one_more(seen, y), m)) for y in outcomes_]
            ratio = np.dot(chances, np.exp(after)) / np.exp(float(bets.log_value(seen, m)))
            sure = all(y in (-1, 0, 1) for y in outcomes_)
            assert ratio == pytest.approx(1, abs=1e-12) if sure else ratio < 1


def one_more(seen, y):
    if y in (-1, 0, 1):
        field = {1: "wins", -1: "losses", 0: "ties"}[y]
        return seen._replace(**{field: getattr(seen, field) + 1})
    return seen._replace(others=seen.others + 1, lead=seen.lead + y, square=seen.square + y * y)


def test_sums_of_other_outcomes_never_say_more_than_the_outcomes():
    bets, rng = Bets.tuned(100, 0.05), stream(0, "between")
    for m in (-0.5, 0.0, 0.4):
        y = rng.uniform(-1, 1, 60)
        shares = np.exp(np.linspace(np.log(1e-4), np.log(0.49), 7))
        for share in shares:
            psi = (-np.log1p(-2 * share) - 2 * share) / 4
            assert np.log1p(share * (y - m)).sum() >= share * (y - m).sum() - psi * ((y - m) ** 2).sum()
        seen = between(y.sum(), (y**2).sum(), 60.0)
        assert float(bets.low(seen, np.log(20))) <= y.mean()


def test_the_interval_holds_what_the_e_value_does_not_refute():
    wins, losses, ties = np.array([20, 120, 550.0]), np.array([5, 60, 1450.0]), np.array([25, 220, 2000.0])
    for tests in (1, 10):
        now = confidence_sequence(wins, losses, ties, confidence=0.9, tests=tests)
        refuted = now.log_e >= np.log(tests / 0.1)
        assert refuted.tolist() == ((now.low > 0) | (now.high < 0)).tolist()
    assert confidence_sequence([0], [0], [0]).low[0] == -1 and confidence_sequence([0], [0], [0]).high[0] == 1
    with pytest.raises(InputError, match="confidence"):
        confidence_sequence([1], [1], [1], confidence=1.0)


def test_the_interval_is_no_wider_than_the_published_one_anywhere():
    """Half the width of Howard et al. with the empirical variance, tuned at 1,000, if half of the outcomes tie."""
    n = np.array([100, 1000, 10_000, 10_000_000.0])
    published = np.array([0.38056, 0.07463, 0.02307, 0.00091])
    now = confidence_sequence(0.25 * n, 0.25 * n, 0.5 * n)
    assert (now.high < published * [0.75, 0.98, 1.001, 0.92]).all()


def test_observations_needed_are_where_the_interval_leaves_zero():
    each = Sequences(0.3, 0.2, 0.4, 0.1, 0.01, 0.02)
    n = observations_needed(each)
    low = [confidence_sequence(*(np.array([part * m]) for part in each)).low[0] for m in (n - 1, n)]
    assert low[0] <= 0 <= low[1]
    n = observations_needed(Sequences(0.25, 0.25, 0.5, 0, 0, 0), margin=0.05)
    assert confidence_sequence([n / 4], [n / 4], [n / 2]).high[0] <= 0.05
    assert observations_needed(Sequences(0.25, 0.25, 0.5, 0, 0, 0)) == np.inf


def needed_by_halving(each, margin):
    """Return `observations_needed` of one pair by trying all numbers of observations."""

    def decided(n):
        now = confidence_sequence(*(np.array([part * n]) for part in each))
        return bool(now.low[0] > 0 or now.high[0] < 0 or (now.low[0] > -margin and now.high[0] < margin))

    low, high = 0, 1
    while not decided(high):
        low, high = high, 2 * high
        if high > 10**9:
            return np.inf
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if decided(middle) else (middle, high)
    return high


@pytest.mark.parametrize("margin", [0.0, 0.04])
def test_observations_needed_of_many_pairs_are_those_of_each(margin):
    rng, none = stream(0, "pairs"), np.zeros(40)
    wins, losses, ties = rng.dirichlet([2, 2, 1], 40).T
    wins[0], losses[0], ties[0] = 0.3, 0.3, 0.4
    each = Sequences(wins, losses, ties, none, none, none)
    found = observations_needed(each, margin=margin)
    expected = [needed_by_halving([part[k] for part in each], margin) for k in range(40)]
    assert found == pytest.approx(expected, abs=1)
    assert np.isinf(found[0]) == (margin == 0)


def test_the_interval_of_wins_losses_and_ties_is_the_one_that_halving_finds():
    rng, none = stream(1, "counts"), np.zeros(400)
    for most in (4, 100, 10**6):
        wins, losses, ties = rng.integers(0, most, (3, 400)).astype(float)
        wins[0] = losses[0] = losses[1] = ties[1] = 0
        seen = Sequences(wins, losses, ties, none, none, none)
        bets, level = Bets.tuned(1000, 0.01), float(np.log(100))
        found = bets.low(seen, level)
        assert found == pytest.approx(bets._low_by_halves(seen, level), abs=1e-12)
        assert (bets.log_value(seen, found)[found > -1] >= level - 1e-6 * most).all()


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


CASES = [(0.1, 0.5), (0.05, 0.3), (0.2, 0.9), (0.15, 0.4), (0.3, 0.6), (0.08, 0.2)]


def found_by_simulation(effect, square, plan, experiments, seed):
    """Return the probability that each test finds the effect with the planned impressions."""
    fixed, late = int(np.ceil(plan.fixed)), int(plan.sequential_power)
    limits = boundary(late, 0.05)
    hits, stopped = 0, 0
    for y in outcomes(experiments, late, effect, square, seed):
        part = y[:, :fixed].astype(float)
        total, decided = part.sum(axis=1), np.abs(part).sum(axis=1)
        means = naive_means(np.full(len(part), fixed + 2.0), total, decided + 2)
        signs = statistics.sign_p((decided + total) / 2, (decided - total) / 2, total, decided)
        hits += int(((np.maximum(statistics.student_p(*means), signs) < 0.05) & (total > 0)).sum())
        stopped += int((first_alarm(y, limits)[0] <= late).sum())
    return hits / experiments, stopped / experiments


def test_a_plan_keeps_what_it_promises():
    effect, square = 0.2, 0.6
    (plan,) = plan_impressions(Spread("a", "b", effect, square), power=0.8, draws=2000)
    hits, stopped = found_by_simulation(effect, square, plan, 1000, 1)
    error = np.sqrt(0.8 * 0.2 * (1 / 1000 + 1 / 2000))
    assert abs(hits - 0.8) < 3 * error and abs(stopped - 0.8) < 3 * error


def test_plans_of_many_rankers_count_all_impressions_and_share_the_error():
    """Three rankers: a pair has a third of the log, and a third of the error."""
    one, three = Spread("a", "b", 0.1, 0.5), Spread("a", "b", 0.1, 0.5, each=3.0)
    (alone,), (shared,) = plan_impressions(one, confidence=1 - 0.05 / 3), plan_impressions(three, tests=3)
    assert shared.fixed == pytest.approx(3 * alone.fixed, rel=0.01)
    assert shared.sequential_mean == pytest.approx(3 * alone.sequential_mean, rel=0.03)


def test_a_fixed_plan_knows_that_users_are_few():
    """Each user has ten equal impressions, so at least six users must agree (2 / 2^6 < .05)."""
    ten = 10.0, ((10.0, 1.0),)
    plain, clustered = (plan_impressions(Spread("a", "b", 0.3, 0.6, *more))[0].fixed for more in ((), ten))
    assert clustered == pytest.approx(10 * plain, rel=0.15)
    clear = plan_impressions(Spread("a", "b", 0.9, 1.0, 2.9, ((20.0, 1.0),)))[0]
    assert clear.fixed == 6 * 20 and clear.sequential_power >= 10 * 20  # at 20 against 1, 2 / 2^10 is about the p


def test_impressions_of_a_pair_come_by_chance():
    """Of ten impressions, six must show the pair (2 / 2^6 < .05): binomial; with a share of 1 the plan is six."""
    alone, shared = (fixed_test(1.0, 1.0, 0.8, 0.05, share) for share in (1.0, 0.1))
    assert alone == 6
    assert stats.binom.sf(5, shared, 0.1) >= 0.8 > stats.binom.sf(5, shared - 1, 0.1)


def test_the_chance_to_find_an_effect_is_that_of_all_numbers_of_wins():
    """Seven wins of eight decided impressions are not significant (2 x 9 / 256 > .05), so eight are needed: .9^8."""
    assert found_by(0.8, 1.0, 8, 0.05) == pytest.approx(0.9**8)
    assert found_by(0.8, 1.0, 9, 0.05) == pytest.approx(0.9**9 + 9 * 0.9**8 * 0.1)  # 2 x 10 / 512 < .05


def test_looks_once_a_day_are_planned_for():
    plans = [plan_impressions(Spread("a", "b", 0.1, 0.5), every=every)[0] for every in (0, 1000)]
    assert plans[1].sequential_power == 1000 > plans[0].sequential_power and plans[1].fixed == plans[0].fixed


@pytest.mark.parametrize("every", [7.0, 1000.0])
def test_looks_once_a_day_at_users_who_return_are_whole_days(every):
    spread = Spread("a", "b", 0.1, 0.5, 2.9, ((10.0, 0.5), (30.0, 0.5)), each=3.0)
    (plan,) = plan_impressions(spread, every=every, draws=200)
    assert plan.sequential_power / every == pytest.approx(round(plan.sequential_power / every))
    (always,) = plan_impressions(spread, draws=200)
    assert always.sequential_power == pytest.approx(plan.sequential_power, rel=0.15, abs=1.5 * every)


def test_the_smallest_effect_is_the_one_whose_plan_takes_the_impressions():
    spread = Spread("a", "b", 0.1, 0.5)
    fixed, sequential = smallest_effects(spread, 1000)
    plans = plan_impressions(spread, [fixed, sequential])
    assert plans[0].fixed == pytest.approx(1000, rel=0.03) and plans[1].sequential_power == pytest.approx(1000, rel=0.1)
    assert smallest_effects(spread, 3) == (np.inf, np.inf)


def test_shrinking_leaves_means_that_are_known_exactly_and_says_nothing_of_0_of_0():
    assert shrunk(np.array([0.0, 0.0]), np.array([0.0, np.inf])).tolist() == [0, 0]
    assert shrunk(np.array([0.2]), np.array([0.0])).tolist() == [0.2]
    assert shrunk(np.array([0.2]), np.array([np.inf])).tolist() == [0]


def test_effects_are_shrunk_by_what_errors_explain():
    mean, error = np.array([0.3, -0.1, 0.1, 0.1]), np.full(4, 0.1)
    varies = (0.09 + 3 * 0.01) / 4 - 0.01
    assert shrunk(mean, error) == pytest.approx(mean * varies / (varies + 0.01))
    assert shrunk(np.array([0.1]), np.array([0.2])).tolist() == [0]  # a single pair with an effect below its error


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
    assert abs(hits - 0.8) < 3 * error  # one of twelve is beyond two errors in every other run
    assert abs(stopped - 0.8) < 3 * np.sqrt(error**2 + 0.16 / 20_000)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"power": 1.0}, "the power must be between"),
        ({"effects": (0.0,)}, "the effect"),
        ({"effects": (2,)}, "the effect"),
        ({"effects": (0.2, 0.6)}, "an effect of 0.6 is impossible: outcomes of a against b have a mean square of 0.5"),
    ],
)
def test_impossible_plans_are_refused(settings, says):
    with pytest.raises(InputError, match=says):
        plan_impressions(Spread("a", "b", 0.1, 0.5), **settings)


def test_the_smallest_effect_is_none_that_outcomes_cannot_have():
    assert smallest_effects(Spread("a", "b", 0.01, 0.05), 60) == (np.inf, np.inf)
    fixed, _ = smallest_effects(Spread("a", "b", 0.01, 0.05), 300)
    assert 0.02 < fixed < 0.05


@pytest.mark.parametrize("rankers", [3, 5])
def test_a_winner_against_all_is_found_where_each_pair_was_planned_for_its_share_of_the_rest(rankers):
    experiments = 400
    found = winner_found(rankers, 0.3, experiments) / experiments
    assert (found[:2] >= 0.8 - 2 * (0.16 / experiments) ** 0.5).all() and found[2] < 0.8


def test_no_number_of_impressions_of_the_same_clusters_finds_less_than_their_own_variance_allows():
    """Clusters of ten outcomes with correlation .2: design effect 1 + 9 * .2; N clusters have variance .2 / N."""
    spread = Spread("a", "b", 0.0, 1.0, design=2.8, users=((10.0, 1.0),))
    least = least_effect(spread, 4000, power=0.8, confidence=0.95, tests=1)
    assert least == pytest.approx((1.959964 + 0.841621) * (0.2 / 400) ** 0.5, rel=1e-5)
    assert least_effect(Spread("a", "b", 0.0, 1.0), 4000, power=0.8, confidence=0.95, tests=1) == 0
