"""Intervals have their stated coverage, and cover unseen events."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import stats

from ltr_duel.advice.answer import Advice, Reached, Row, Showing, reached
from ltr_duel.advice.bounds import Estimate, lower_mean, mean, share, upper_mean
from ltr_duel.advice.race import Round
from ltr_duel.core import stream


@pytest.mark.parametrize("hits, n", [(0, 20), (7, 20), (20, 20)])
def test_the_interval_of_a_share_is_that_of_clopper_and_pearson(hits, n):
    found = share(hits, n, 0.9)
    exact = stats.binomtest(hits, n).proportion_ci(0.9, method="exact")
    assert found == pytest.approx((hits / n, exact.low, exact.high))


def test_the_interval_of_a_mean_is_students():
    values = stream(0, "values").random(30)
    exact = stats.t.interval(0.9, 29, values.mean(), stats.sem(values))
    assert mean(values, 0.9)[1:] == pytest.approx(exact)


def test_a_loss_that_was_never_seen_is_within_the_upper_bound():
    """If each run goes wrong with probability 0.05, most samples of ten contain no such run."""
    rng, n, error = stream(1, "losses"), 10, 0.01
    missed = surprised = 0
    for _ in range(2000):
        values = 1.0 + 0.1 * rng.random(n) + 5.0 * (rng.random(n) < 0.05)
        truth = 1.05 + 5.0 * 0.05
        surprised += truth > upper_mean(values, values.mean() + 5.0, error)
        plain = values.mean() + stats.t.ppf(1 - error, n - 1) * values.std(ddof=1) / np.sqrt(n)
        missed += truth > plain
    assert missed > 1000  # misses of Student's bound
    assert surprised == 0


def test_bounds_of_a_mean_miss_it_as_often_as_they_may():
    rng = stream(2, "normal")
    misses = np.array([lower_mean(rng.standard_normal(12), 0.05) > 0 for _ in range(4000)]).mean()
    assert 0.035 < misses < 0.065


def flat(values):
    return tuple(Estimate(value, value - 0.1, value + 0.1) for value in values)


def test_when_one_knows_is_the_first_checkpoint_after_the_last_failure():
    times = np.array([10, 20, 40, 80])
    assert reached(flat([0.96, 0.9, 0.95, 0.99]), times, 0.95) == (40, 10, None)
    assert reached(flat([0.5, 0.6, 0.7, 0.8]), times, 0.95) == (None, None, None)
    assert reached(flat([1.0, 1.1, 1.1, 1.1]), times, 0.95) == (10, 10, 20)


def showing(users, runs, right, lost):
    one = Estimate(lost, lost - 1, lost + 1)
    curve = flat([right])
    return Showing(users, runs, curve[-1], reached(curve, np.array([9]), 0.5), one, one, one, one, curve)


def test_a_row_is_of_one_click_model_where_the_candidate_is_least_often_right_and_loses_most():
    worlds = showing("a", 12, 0.75, 2.0), showing("b", 8, 0.75, 3.0), showing("c", 25, 0.8, 9.0)
    assert Row("mdb/sosm", True, False, worlds).worst is worlds[1]


def test_the_sentences_add_a_click_model_in_which_a_number_is_worse():
    late = showing("late", 20, 0.9, 5.0)._replace(sure_at=Reached(70, 50, None))
    row = Row("mdb/sosm", True, True, (showing("hard", 20, 0.8, 1.0), late))
    settings = {"confidence": 0.7, "budget": 90, "margin": 0, "measure": "NDCG@10", "clicks": ["hard", "late"]}
    settings |= {"incumbent": "x", "fitted": (), "queries": 3, "simulations": 20}
    advice = Advice(
        "deploy", settings, {"x": 0.5, "y": 0.2}, np.array([9]), (row,), (Round(20, (0,), (0,), ()),),
        ("mdb/sosm",), "", (), None, (), {},
    )  # fmt: skip
    known, cost = advice.lines()[1:3]
    assert (
        "80.0% (70.0 to 90.0) of 20 simulated runs with 'hard' users, the worst of 2 click models, and in 70%" in known
    )
    assert "from 9 (9 to 9) impressions on, with 'late' users from 70 (50 or later) on." in known
    assert "loses 1.0000 (0 to 2.0000) NDCG@10, with 'late' users 5.0000 (4.0000 to 6.0000), against" in cost
    alone = dataclasses.replace(
        advice, settings=settings | {"clicks": ["hard"]}, rows=(row._replace(worlds=row.worlds[:1]),)
    )
    assert "'late'" not in " ".join(alone.lines()[1:3])
