"""SOSM against enumeration: team-draft lists, integer scores."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from ltr_duel.clicks.model import ClickModel
from ltr_duel.core.random import stream
from ltr_duel.interleaving.comparison import Comparer, credit_slate, draw_slate
from ltr_duel.interleaving.methods.sosm import points_by_rank
from tests.conftest import make_rankings, random_rankings
from tests.reference.interleaving import sosm_scores, team_draft_lists

ORDERS = [(0, 1, 2, 3, 4), (0, 3, 1, 2, 4), (0, 4, 3, 2, 1), (0, 3, 1, 2, 4)]  # a common prefix, and twins
CLICK_ALL = ClickModel("all", (1.0, 1.0), (0.0, 0.0))


def opened(orders, top):
    rankings = make_rankings(orders, 2, [1, *[0] * (len(orders[0]) - 1)])
    return Comparer(rankings, CLICK_ALL, method="sosm", top=top).open()


@pytest.mark.parametrize("size, top", [(2, 4), (3, 4), (4, 5), (1, 3)])
def test_lists_are_drawn_as_team_draft_enumerates_them(size, top):
    expected = team_draft_lists(ORDERS[:size], top)
    c, rng, draws = opened(ORDERS, top), stream(6, "lists", size), 20_000
    counts = dict.fromkeys(expected, 0)
    for _ in range(draws):
        length = draw_slate(c.method, c.lists, 0, np.arange(4), size, c.page, rng)
        counts[tuple(c.page.shown[:length].tolist()), tuple(c.page.owner[:length].tolist())] += 1
    freedom = max(1, len(expected) - 1)
    chi = sum((counts[s] - draws * p) ** 2 / (draws * p) for s, p in expected.items())
    assert chi < freedom + 6 * np.sqrt(2 * freedom)


@pytest.mark.parametrize("method", ["sosm", "team_draft"])
def test_a_list_holds_the_documents_of_its_own_query(method):
    c = Comparer(random_rankings(3, 3, 5, grades=2), CLICK_ALL, method=method, top=9).open()
    for query in range(3):
        assert draw_slate(c.method, c.lists, query, np.arange(3), 3, c.page, stream(1, "one")) == 5
        assert sorted(c.page.shown[:5].tolist()) == list(range(5))


def test_winners_follow_the_scores_of_the_shown_documents_alone():
    c, rng, n = opened(ORDERS, 4), np.random.default_rng(7), 4
    slate, won = np.array([2, 0, 3, 1]), np.zeros((4, 4), np.int8)
    for _ in range(300):
        shown = rng.permutation(5)[:n]
        clicks = np.flatnonzero(rng.random(n) < 0.5)
        c.page.shown[:n], c.page.clicks[: len(clicks)] = shown, clicks
        credit_slate(c.method, c.lists, 0, slate, 4, c.page, n, len(clicks), won)
        scores = sosm_scores([ORDERS[k] for k in slate], shown.tolist(), clicks.tolist())
        for a in range(4):
            for b in range(a + 1, 4):
                difference = scores[a] - scores[b]
                assert won[a, b] == (difference > 1e-12) - (difference < -1e-12)


def test_points_are_exact_up_to_ten_documents():
    points = points_by_rank(10, 3.0)
    assert [Fraction(int(p), int(points[1])) for p in points[1:]] == [Fraction(1, rho**3) for rho in range(1, 11)]


def test_points_of_a_long_page_cannot_overflow():
    assert points_by_rank(1, 2.5).tolist() == [0, 2**62]
    points = points_by_rank(1000, 3.0)
    assert len(points) == 1001
    assert (np.diff(points[1:]) < 0).all() and sum(map(int, points)) < 2**63


def test_all_twins_tie_and_show_their_common_list():
    c = opened([ORDERS[0]] * 3, 4)
    won = np.ones((3, 3), np.int8)
    assert draw_slate(c.method, c.lists, 0, np.arange(3), 3, c.page, stream(0, "x")) == 4
    assert c.page.shown.tolist() == [0, 1, 2, 3] and c.page.owner.tolist() == [-1] * 4
    c.page.clicks[:2] = (1, 2)
    credit_slate(c.method, c.lists, 0, np.arange(3), 3, c.page, 4, 2, won)
    assert won[0, 1] == won[0, 2] == won[1, 2] == 0


def test_long_pages_are_scored_like_short_ones():
    """More shown documents than one block of comparisons; pages of different lengths in turn for query 1."""
    rankings = random_rankings(6, 2, 40, grades=2)
    c = Comparer(rankings, CLICK_ALL, method="sosm", top=37).open()
    orders, rng, won = (
        [tuple(order[40:].tolist()) for order in rankings.order],
        np.random.default_rng(2),
        np.zeros((6, 6)),
    )
    for n in (37, 5, 20):
        shown, clicks = rng.permutation(40)[:n], np.flatnonzero(rng.random(n) < 0.3)
        c.page.shown[:n], c.page.clicks[: len(clicks)] = shown, clicks
        credit_slate(c.method, c.lists, 1, np.arange(6), 6, c.page, n, len(clicks), won.astype(np.int8))
        scores = sosm_scores(orders, shown.tolist(), clicks.tolist())
        assert c.method.scores / c.method.points[1] == pytest.approx(scores, rel=1e-9)
