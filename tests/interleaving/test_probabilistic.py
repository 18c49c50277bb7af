"""Probabilistic interleave against enumeration: lists, posteriors, and the distribution of the outcome."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ltr_duel.clicks.model import ClickModel, click_model
from ltr_duel.core import interpreted
from ltr_duel.core.random import stream
from ltr_duel.interleaving import interleave
from ltr_duel.interleaving.comparison import Comparer, compare_pair, credit_pair, draw_pair
from ltr_duel.interleaving.methods.probabilistic import first_left, lead_of_two, trace_clicks
from tests.conftest import make_rankings
from tests.driving import pairs_often as compare_often
from tests.reference.interleaving import (
    expected_outcome,
    ownership_by_enumeration,
    probabilistic_lists,
    step_probabilities,
)
from tests.reference.sampling import bisect_softmax

FIRST, SECOND = (2, 0, 3, 1), (0, 1, 2, 3)
TAU = 3.0
CLICK_ALL = ClickModel("all", (1.0, 1.0), (0.0, 0.0))


def opened(first, second, top=10, relevance=None, clicks=CLICK_ALL, outcome="expectation"):
    relevance = relevance or [1, *[0] * (len(first) - 1)]
    rankings = make_rankings([first, second], clicks.grades, relevance)
    return Comparer(rankings, clicks, outcome=outcome, top=top).open()


@pytest.mark.parametrize("top", [2, 4])
def test_the_sampler_draws_every_list_with_its_enumerated_probability(top):
    c = opened(FIRST, SECOND, top)
    expected = probabilistic_lists([FIRST, SECOND], top, TAU)
    found = bisect_softmax(
        lambda rng: draw_pair(c.method, c.lists, 0, 0, 1, c.page, rng),
        c.page, c.method.used, top, 2, (1 / 4**3) / (1 + 1 / 2**3 + 1 / 3**3 + 1 / 4**3) / 2,
    )  # fmt: skip
    assert set(found) == set(expected)
    for shown, p in expected.items():
        assert found[shown] == pytest.approx(p, abs=1e-12)


@pytest.mark.parametrize(
    "order, expected",
    [
        ((0, 1), (1 / 1**3) / (1 / 1**3 + 1 / 2**3)),  # first of two documents: 8/9
        ((1, 0), (1 / 2**3) / (1 / 1**3 + 1 / 2**3)),
        ((1, 2, 0), (1 / 3**3) / (1 + 1 / 8 + 1 / 27)),
    ],
)
def test_the_first_document_follows_the_softmax_over_ranks(order, expected):
    assert step_probabilities(order, (0,), TAU) == [pytest.approx(expected, abs=1e-15)]


def test_lists_are_drawn_with_their_probabilities_at_scale():
    expected = probabilistic_lists([FIRST, SECOND], 3, TAU)
    c, rng, draws = opened(FIRST, SECOND, 3), stream(1, "lists"), 40_000
    counts = dict.fromkeys(expected, 0)
    for _ in range(draws):
        draw_pair(c.method, c.lists, 0, 0, 1, c.page, rng)
        counts[tuple(int(d) for d in c.page.shown[:3])] += 1
    chi = sum((counts[s] - draws * p) ** 2 / (draws * p) for s, p in expected.items())
    assert chi < 23 + 6 * np.sqrt(2 * 23)  # 24 lists: mean 23, six standard deviations


def test_the_posterior_equals_all_assignments_of_random_lists():
    rng = np.random.default_rng(5)
    for _ in range(200):
        n = int(rng.integers(1, 30))
        length = int(rng.integers(1, min(n, 8) + 1))
        first, second = (tuple(int(d) for d in rng.permutation(n)) for _ in range(2))
        c = opened(first, second, top=length)
        shown = rng.permutation(n)[:length]
        clicks = np.flatnonzero(rng.random(length) < 0.5)
        if len(clicks) == 0:
            continue
        c.page.shown[:length], c.page.clicks[: len(clicks)] = shown, clicks
        expected = ownership_by_enumeration(first, second, tuple(shown), tuple(clicks), TAU)
        trace_clicks(c.method, c.lists, 0, np.arange(2), 2, c.page, len(clicks))
        found = lead_of_two(c.method, len(clicks))
        assert found == pytest.approx(expected[0] - expected[1], abs=1e-12)


def test_the_first_rank_left_is_found_far_down():
    for taken in ([], [1], [2, 3], range(1, 63), range(1, 64), range(1, 65), [*range(90, 0, -1), 92, 91, 94]):
        ranks = np.array([*taken, 5], np.int64)
        above = sum(1 << (r - 1) for r in taken if r <= 63)
        expected = next(r for r in range(1, 100) if r not in taken)
        assert first_left(above, ranks, len(taken)) == interpreted(first_left)(above, ranks, len(taken)) == expected


@pytest.mark.parametrize("name", ["perfect", "navigational", "informational"])
@pytest.mark.parametrize("rule", ["marginal_sign", "sampled", "expectation"])
def test_the_mean_outcome_equals_enumeration_of_lists_clicks_and_assignments(name, rule):
    model, relevance = click_model(name, 3), [0, 2, 1, 0]
    expected = expected_outcome(FIRST, SECOND, relevance, model, 3, TAU, rule)
    c, totals, n = opened(FIRST, SECOND, 3, relevance, model, rule), np.zeros(2), 400_000
    compare_often(c, 0, 1, n, stream(2, "outcome"), totals)
    mean, error = totals[0] / n, np.sqrt((totals[1] / n - (totals[0] / n) ** 2) / n)
    assert abs(mean - expected) < 5 * error + 1e-12


def test_expectation_has_the_mean_of_sampled_with_less_variance():
    model, relevance = click_model("informational", 2), [0, 1, 0, 1]
    answers = {}
    for rule in ("sampled", "expectation"):
        c, totals = opened(FIRST, SECOND, 4, relevance, model, rule), np.zeros(2)
        compare_often(c, 0, 1, 200_000, stream(3, rule), totals)
        answers[rule] = totals / 200_000
    assert answers["expectation"][0] == pytest.approx(answers["sampled"][0], abs=0.01)
    assert answers["expectation"][1] < answers["sampled"][1] / 2


def test_the_two_rules_are_different_preferences():
    model, relevance = click_model("informational", 2), [1, 0, 0, 0]
    signs, sampled = (
        expected_outcome(FIRST, SECOND, relevance, model, 4, TAU, rule) for rule in ("marginal_sign", "sampled")
    )
    assert abs(signs - sampled) > 0.05


def test_identical_rankers_tie():
    c = opened(FIRST, FIRST, 4, outcome="marginal_sign")
    for shown in itertools.permutations(FIRST):
        c.page.shown[:4], c.page.clicks[:3] = shown, (0, 1, 3)
        assert credit_pair(c.method, c.lists, 0, 0, 1, c.page, 4, 3) == 0.0


def test_swapping_the_rankers_mirrors_the_outcome():
    c = opened(FIRST, SECOND, 4)
    for shown in itertools.permutations(FIRST):
        c.page.shown[:4], c.page.clicks[:2] = shown, (0, 2)
        one = credit_pair(c.method, c.lists, 0, 0, 1, c.page, 4, 2)
        assert credit_pair(c.method, c.lists, 0, 1, 0, c.page, 4, 2) == pytest.approx(-one, abs=1e-15)


def test_a_query_of_one_document_shows_it_and_ties():
    c = opened((0,), (0,))
    assert draw_pair(c.method, c.lists, 0, 0, 1, c.page, stream(0, "one")) == 1
    c.page.clicks[0] = 0
    assert credit_pair(c.method, c.lists, 0, 0, 1, c.page, 1, 1) == 0.0


def test_lists_have_no_duplicates_and_are_as_long_as_they_can_be():
    c, rng = opened(tuple(range(30)), tuple(reversed(range(30)))), stream(4, "long")
    for _ in range(200):
        length = draw_pair(c.method, c.lists, 0, 0, 1, c.page, rng)
        assert length == 10 and len(set(c.page.shown.tolist())) == 10


def z_of(outcomes):
    return np.mean(outcomes) / (np.std(outcomes) / np.sqrt(len(outcomes)))


def test_by_default_random_clicks_favour_neither_ranker():
    """Under the papers' rule, they favour one of these two rankers."""
    random = ClickModel("random", (0.5, 0.5), (0.0, 0.0))
    for rule, fair in (("", True), ("marginal_sign", False)):
        c, rng = opened((0, 1, 2, 3), (2, 0, 1, 3), 3, clicks=random, outcome=rule), stream(4, "random", rule)
        assert (abs(z_of([compare_pair(c, 0, 0, 1, rng, rng) for _ in range(5000)])) < 4) == fair


def test_by_default_random_clicks_on_pages_favour_neither_ranker():
    lists, rng = {"a": [0, 1, 2, 3], "b": [2, 0, 1, 3]}, stream(5, "pages")
    pages = [interleave(lists, "probabilistic", top=3, rng=rng) for _ in range(2500)]
    clicks = [[document for document in page.shown if rng.random() < 0.5] for page in pages]
    assert abs(z_of([page.credit(some)["a", "b"] for page, some in zip(pages, clicks, strict=True)])) < 4


def test_by_default_sets_are_credited_by_the_owners_of_the_clicked_documents():
    lists = {"a": [0, 1, 2, 3], "b": [2, 0, 1, 3], "c": [3, 2, 1, 0]}
    for seed in range(6):
        page = interleave(lists, "probabilistic", seed=seed)
        assert page.outcome == "sampled", "the rule of pairs with a coin per list is not defined for sets"
        for clicks in itertools.combinations(range(4), 3):
            owned = [page.owners[k] for k in clicks]
            won = page.credit([page.shown[k] for k in clicks])
            for (a, b), outcome in won.items():
                assert outcome == np.sign(owned.count(a) - owned.count(b))
