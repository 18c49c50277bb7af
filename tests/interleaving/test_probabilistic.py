"""Probabilistic interleave and multileave against enumeration: lists, posteriors, and the distribution of outcomes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ltr_duel.clicks import ClickModel, click_model
from ltr_duel.core import interpreted, stream
from ltr_duel.interleaving import compare_pair, interleave
from ltr_duel.interleaving.hooks import draw_pair, draw_slate
from ltr_duel.interleaving.methods.probabilistic import first_left, lead_among_many, lead_of_two, trace_clicks
from tests.driving import pairs_often
from tests.interleaving.test_enumeration import CASES, opened, pair_credit, patterns, put, slate_credit
from tests.reference.interleaving import (
    click_patterns,
    expected_outcome,
    multileave_by_enumeration,
    ownership_by_enumeration,
    probabilistic_lists,
    sign_of,
)
from tests.reference.sampling import bisect_softmax

FIRST, SECOND = (2, 0, 3, 1), (0, 1, 2, 3)
TAU = 3.0


@pytest.mark.parametrize("orders", [[FIRST, SECOND], CASES[4], [*CASES[4], CASES[4][0]]])
def test_the_sampler_draws_every_list_with_its_enumerated_probability(orders):
    size, top = len(orders), 3 if len(orders) < 4 else 2
    c = opened(orders, "probabilistic", top, "sampled")

    def draw(rng):
        if size == 2:
            return draw_pair(c.method, c.lists, 0, 0, 1, c.page, rng)
        return draw_slate(c.method, c.lists, 0, np.arange(size), size, c.page, rng)

    shortest = (1 / 4**3) / (1 + 1 / 2**3 + 1 / 3**3 + 1 / 4**3) / size
    law = bisect_softmax(draw, c.page, c.method.used, top, size, shortest)
    assert law == pytest.approx(probabilistic_lists(orders, top, TAU), abs=1e-12)


def test_the_posterior_equals_all_assignments_of_random_lists():
    rng = np.random.default_rng(5)
    for _ in range(100):
        n = int(rng.integers(1, 30))
        length = int(rng.integers(1, min(n, 8) + 1))
        first, second = (tuple(rng.permutation(n).tolist()) for _ in range(2))
        c, shown = opened([first, second], "probabilistic", length, "expectation"), rng.permutation(n)[:length]
        clicks = np.flatnonzero(rng.random(length) < 0.5)
        if len(clicks):
            p_first, p_second = ownership_by_enumeration(first, second, tuple(shown), tuple(clicks), TAU)
            trace_clicks(c.method, c.lists, 0, np.arange(2), 2, *put(c, shown, clicks)[::2])
            assert lead_of_two(c.method, len(clicks)) == pytest.approx(p_first - p_second, abs=1e-12)


def test_the_leads_of_many_rankers_are_exact():
    c, rng = opened(CASES[5], "probabilistic", 6, "marginal_sign"), np.random.default_rng(0)
    for _ in range(40):
        shown = tuple(rng.permutation(6).tolist())
        clicks = tuple(np.flatnonzero(rng.random(6) < 0.6).tolist()) or (2,)
        expected = multileave_by_enumeration(CASES[5], shown, clicks, TAU)
        won = slate_credit(c, 4, shown, clicks)
        for a, b in itertools.combinations(range(4), 2):
            assert lead_among_many(c.method, a, b, len(clicks)) == pytest.approx(expected[a][b], abs=1e-12)
            assert won[a, b] == sign_of(expected[a][b])


def test_bounds_decide_pairs_among_many_rankers_as_exact_leads_do():
    rng, credited = np.random.default_rng(3), 0
    orders = [tuple(rng.permutation(12).tolist()) for _ in range(40)]
    orders[17] = orders[3]
    c = opened(orders, "probabilistic", 6, "marginal_sign")
    for _ in range(20):
        clicks = tuple(np.flatnonzero(rng.random(6) < 0.5).tolist()) or (0,)
        won = slate_credit(c, 40, tuple(rng.permutation(12)[:6].tolist()), clicks)
        for a, b in itertools.combinations(range(40), 2):  # the clicks are traced already
            assert won[a, b] == sign_of(float(lead_among_many(c.method, a, b, len(clicks))))
            credited += won[a, b] != 0
        assert won[3, 17] == 0, "identical rankers tie"
    assert credited > 10_000


def test_the_first_rank_left_is_far_down():
    for taken in ([], [1], [2, 3], range(1, 63), range(1, 64), range(1, 65), [*range(90, 0, -1), 92, 91, 94]):
        ranks = np.array([*taken, 5], np.int64)
        above = sum(1 << (r - 1) for r in taken if r <= 63)
        expected = next(r for r in range(1, 100) if r not in taken)
        assert first_left(above, ranks, len(taken)) == interpreted(first_left)(above, ranks, len(taken)) == expected


@pytest.mark.parametrize("rule", ["marginal_sign", "expectation"])
def test_the_expected_outcome_equals_enumeration_of_lists_clicks_and_assignments(rule):
    relevance, c = [0, 1, 1, 0], opened([FIRST, SECOND], "probabilistic", 3, rule)
    for name in ("perfect", "navigational", "informational", "almost_random"):
        model, total = click_model(name, 2), 0.0
        for shown, p in probabilistic_lists([FIRST, SECOND], 3, TAU).items():
            for clicks, q in click_patterns([relevance[d] for d in shown], model.p_click, model.p_stop):
                total += p * q * pair_credit(c, shown, clicks) if clicks else 0.0
        expected = expected_outcome(FIRST, SECOND, relevance, model, 3, TAU, rule)
        assert total == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("rule", ["marginal_bernoulli", "marginal_sign", "sampled", "expectation"])
def test_the_mean_of_simulated_outcomes_is_that_of_enumeration(rule):
    model, relevance, n = click_model("informational", 3), [0, 2, 1, 0], 50_000
    expected = expected_outcome(FIRST, SECOND, relevance, model, 3, TAU, rule)
    c, totals = opened([FIRST, SECOND], "probabilistic", 3, rule, relevance, model), np.zeros(2)
    pairs_often(c, 0, 1, n, stream(2, "outcome"), totals)
    mean, square = totals / n
    assert abs(mean - expected) < 5 * np.sqrt((square - mean**2) / n) + 1e-12


def test_swapping_the_rankers_mirrors_the_outcome_and_identical_rankers_tie():
    c, swapped = (opened(orders, "probabilistic", 4, "expectation") for orders in ([FIRST, SECOND], [SECOND, FIRST]))
    twins = opened([FIRST, FIRST], "probabilistic", 4, "marginal_sign")
    for shown, clicks in itertools.product(itertools.permutations(FIRST), patterns(4)):
        assert pair_credit(swapped, shown, clicks) == pytest.approx(-pair_credit(c, shown, clicks), abs=1e-15)
        assert pair_credit(twins, shown, clicks) == 0.0


def z_of(outcomes):
    return np.mean(outcomes) / (np.std(outcomes) / np.sqrt(len(outcomes)))


def test_by_default_random_clicks_favour_neither_ranker():
    """Under the papers' rule, they favour one of these two rankers."""
    orders, clicks = [(0, 1, 2, 3), (2, 0, 1, 3)], ClickModel("random", (0.5, 0.5), (0.0, 0.0))
    for rule, fair in (("", True), ("marginal_sign", False)):
        c, rng = opened(orders, "probabilistic", 3, rule, clicks=clicks), stream(4, "random", rule)
        assert (abs(z_of([compare_pair(c, 0, 0, 1, rng, rng) for _ in range(4000)])) < 4) == fair
    lists, rng = dict(zip("ab", map(list, orders), strict=True)), stream(5, "pages")
    pages = [interleave(lists, "probabilistic", top=3, rng=rng) for _ in range(2500)]
    outcomes = [page.credit([d for d in page.shown if rng.random() < 0.5])["a", "b"] for page in pages]
    assert abs(z_of(outcomes)) < 4


def test_by_default_sets_are_credited_by_the_owners_of_the_clicked_documents():
    lists = {"a": [0, 1, 2, 3], "b": [2, 0, 1, 3], "c": [3, 2, 1, 0]}
    for seed in range(6):
        page = interleave(lists, "probabilistic", seed=seed)
        assert page.outcome == "sampled", "the rule of pairs with a coin per list is not defined for sets"
        for clicks in itertools.combinations(range(4), 3):
            owned = [page.owners[k] for k in clicks]
            for (a, b), outcome in page.credit([page.shown[k] for k in clicks]).items():
                assert outcome == np.sign(owned.count(a) - owned.count(b))
