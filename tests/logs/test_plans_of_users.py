"""The inequality of users in a plan."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ltr_duel.core import InputError
from ltr_duel.logs import Spread, compare_log, plan_impressions, smallest_effects, spreads_in_log
from ltr_duel.logs.clusters import cautious_means, cautious_of_kinds, kinds_by_share, kinds_of
from ltr_duel.logs.returning_users import Drawn, Returning
from tests.logs.drawn import plan_from_a_log_kept
from tests.logs.written import log_of


def test_kinds_of_clusters_give_the_errors_of_the_clusters():
    rng = np.random.default_rng(0)
    size, number = np.array([[2.0], [3.0], [50.0]]), np.array([[40.0], [7.0], [3.0]])
    count = np.repeat(size.ravel(), number.ravel().astype(int))
    total = rng.normal(0.2, 1, len(count)) * count
    parts = np.split(total, [40, 47])
    sums, squares = (np.array([[part.sum()], [(part**2).sum()]]) for part in parts), np.array([120.0])
    sums, of_squares = np.concatenate(list(sums), axis=1)[:, :, None]
    for one, other in zip(
        cautious_means(count[None], total[None], squares),
        cautious_of_kinds(size, number, sums, of_squares, squares),
        strict=True,
    ):
        assert one == pytest.approx(other, rel=1e-12)
    alone = cautious_of_kinds(size, np.array([[0.0], [0.0], [1.0]]), sums, of_squares, squares)
    assert np.isinf(alone.error) and alone.freedom == 0


def test_a_few_kinds_have_the_same_sums_of_powers():
    size, number = np.arange(1, 201.0), np.arange(1, 201.0) ** -2.2
    share = size * number / (size @ number)
    found, weight = np.array(kinds_of(size, number)).T
    assert len(found) == 4 and (found > 0).all() and (weight > 0).all()
    for power in range(8):
        assert weight @ found**power == pytest.approx(share @ size**power, rel=1e-9)


def test_kinds_are_the_sizes_themselves_where_these_are_few():
    assert np.array(kinds_of(np.array([2.0, 50.0, 2.0]), np.array([10.0, 1.0, 15.0]))) == pytest.approx(
        np.array([[2, 0.5], [50, 0.5]])
    )
    assert kinds_of(np.array([20.0]), np.array([7.0])) == ((20.0, 1.0),)
    assert kinds_of(np.array([]), np.array([])) == ((1.0, 1.0),)


def test_the_heaviest_twentieth_makes_the_share_that_is_given():
    (light, rest), (often, heavy) = kinds_by_share(20, 0.5, 1)
    assert (often, heavy, rest) == (200, 0.5, 0.5) and heavy / often == pytest.approx(
        0.05 * (0.5 / light + 0.5 / often)
    )
    assert kinds_by_share(20, 0.5, 45)[1][0] == 1 + 199 / 45  # visits of the pair's users
    assert min(kinds_by_share(1.2, 0.5, 1)) == pytest.approx((1, 0.95 / 1.2))  # everyone comes once
    for wrong in ((0.5, 0.5, 1), (np.inf, 0.5, 1), (20, 0.01, 1), (20, 1, 1)):
        with pytest.raises(InputError, match="must be"):
            kinds_by_share(*wrong)


def test_a_plan_from_a_log_knows_how_often_its_users_come(tmp_path):
    users = [0] * 30 + list(range(1, 31))
    log = log_of(tmp_path / "log.jsonl", [1 - 2 * (user % 3 == 0) for user in users], range(60), users)
    (spread,) = spreads_in_log(compare_log(log))
    assert np.array(spread.users) == pytest.approx(np.array([[1, 0.5], [30, 0.5]]))
    assert spread.visits == pytest.approx(15.5)
    assert spread.how_often == "half of the pair's impressions are by users who have about 30 or more"
    assert Spread("a", "b", 0.1, 0.5, 2.0, ((20.0, 1.0),)).how_often == "with about 20 impressions of the pair each"


def test_how_often_users_come_is_the_median_of_users_of_the_log(tmp_path):
    """Users with 6 or more make half of the 60 impressions. Regression: a quadrature node was printed instead."""
    sizes = [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, 8, 9]
    users = np.repeat(np.arange(len(sizes)), sizes).tolist()
    (spread,) = spreads_in_log(compare_log(log_of(tmp_path / "log.jsonl", [1, 1, -1] * 20, range(60), users)))
    assert sorted(spread.users)[2][0] != 6 and spread.half == 6
    assert spread.how_often == "half of the pair's impressions are by users who have about 6 or more"


@pytest.mark.parametrize(("users", "visits"), [(6, 200), (40, 20)])
def test_a_plan_takes_the_upper_end_of_the_design_effect_that_the_users_leave_open(tmp_path, users, visits):
    """With f + 1 users, the estimate is the truth times chi-squared / f: below the 20 % quantile in one log of five."""
    rng = np.random.default_rng(3)
    user = np.tile(np.arange(users), visits)
    y = np.where(rng.random(users * visits) < (0.5 + 0.3 * rng.choice([-1, 1], users))[user], 1, -1)
    (spread,) = spreads_in_log(compare_log(log_of(tmp_path / "log.jsonl", y.tolist(), range(len(y)), user.tolist())))
    total, n = np.bincount(user, y), len(y)
    mean = total.sum() / n
    known = ((total - visits * mean) ** 2).sum() * users / (users - 1) / (n * (1 - mean**2))
    upper = known * (users - 1) / stats.chi2.ppf(0.2, users - 1)
    assert spread.design == pytest.approx(upper, rel=0.01)
    clear = [plan_impressions(spread._replace(design=design), [0.1], draws=10)[0].fixed for design in (0.3, 1.0)]
    assert clear[0] == clear[1]  # a design effect below 1 is treated as 1


@pytest.mark.parametrize(("users", "visits", "correlation"), [(6, 200, 0.05), (10, 20, 0.1), (20, 20, 0.3)])
def test_plans_from_logs_of_few_users_find_the_effect_and_are_not_much_too_long(users, visits, correlation):
    """Regression: plans from six users were five times as long as the best plan, and always found the effect."""
    found, plans = plan_from_a_log_kept(users, visits, correlation, 1000, each=50)
    assert found.mean() >= 0.8 * 50 and (found >= 0.7 * 50).mean() >= 0.8
    spread = Spread("a", "b", 0.1, 1.0, 1 + correlation * (visits - 1), ((float(visits), 1.0),))
    best = plan_impressions(spread, draws=10)[0].fixed
    assert 1 < np.median(plans) / best < 2.6


def test_outcomes_in_between_may_have_a_mean_above_their_mean_square():
    """If all outcomes are .5, the mean is .5 and the mean square .25."""
    between = Spread("a", "b", 0.1, 0.25, between=True)
    assert plan_impressions(between, [0.5], draws=10)[0].fixed > 0
    with pytest.raises(InputError, match=r"whose root, 0\.5, is the largest mean outcome, reached if all"):
        plan_impressions(between, [0.51], draws=10)
    with pytest.raises(InputError, match=r"mean square of 0\.25, which is the largest mean outcome, reached if every"):
        plan_impressions(between._replace(between=False), [0.3], draws=10)
    assert 0.5 > smallest_effects(between, 18)[0] > 0.25 > smallest_effects(between, 200)[0]


@pytest.mark.parametrize("users", [200, 3000])
@pytest.mark.parametrize("heavy", [0.05, 0.5])
def test_users_who_are_drawn_have_the_mean_and_the_variance_of_the_spread(users, heavy):
    kinds = kinds_by_share(20, heavy, 1)
    spread = Spread("a", "b", 0.2, 0.6, 1 + 0.3 * (sum(size * share for size, share in kinds) - 1), kinds)
    returning, rng = Returning.of(spread, 0.2, 0.6), np.random.default_rng(1)
    new = returning.coming(users, 4000, rng)
    drawn = returning.with_sums(Drawn.none(2, 4000), new, rng)
    n = returning.size @ drawn.number
    assert n.mean() == pytest.approx(20 * users, rel=0.03)
    assert drawn.total.sum() / n.sum() == pytest.approx(0.2, rel=0.03)
    left = drawn.squares - 2 * 0.2 * returning.size[:, None] * drawn.total
    left += (0.2 * returning.size[:, None]) ** 2 * drawn.number
    assert left.sum() / n.sum() == pytest.approx(0.56 * spread.design, rel=0.05)
    filled = returning.size @ returning.filling(20 * users, 4000, rng)
    assert filled.mean() == pytest.approx(20 * users, rel=0.03)
