"""The mean outcome of a shown list over its users: the tree and the dynamic programme against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ltr_duel.clicks import ClickModel, click_model
from ltr_duel.core import stream
from ltr_duel.interleaving import Comparer, credit_pair, draw_pair
from ltr_duel.preferences.estimate.users import PairList, mean_over_users, open_tree
from tests.conftest import make_rankings
from tests.reference.interleaving import click_patterns, ownership_by_enumeration

FIRST, SECOND, RELEVANCE = (2, 0, 3, 1), (0, 1, 2, 3), [0, 2, 1, 0]
LEAVING = ClickModel("leaving", (0.2, 0.5, 0.9), (0.3, 0.1, 0.5), position_bias=0.7, p_leave=(0.3, 0.1, 0.6))
USERS = {name: click_model(name, 3) for name in ("perfect", "informational")} | {"leaving": LEAVING}
SHOWN = PairList(0, 0, 1, 4)


def comparer_of(users, rule="", method="probabilistic"):
    return Comparer(make_rankings([FIRST, SECOND], 3, RELEVANCE), USERS[users], method, rule, 4)


def mean_by_enumeration(shown, users, outcome_of):
    model, grades = USERS[users], [RELEVANCE[d] for d in shown]
    patterns = click_patterns(grades, model.p_click, model.p_stop, model.p_leave or None, model.attention(4))
    return sum(p * outcome_of(clicks) for clicks, p in patterns if clicks)


@pytest.mark.parametrize("users", USERS)
@pytest.mark.parametrize("rule", ["marginal_sign", "marginal_bernoulli"])
def test_the_whole_tree_is_the_mean_over_all_users(users, rule):
    comparer = comparer_of(users, rule)
    c, tree = comparer.open(), open_tree(comparer, rare=0.0)
    for shown in itertools.permutations(range(4)):
        c.page.shown[:] = shown

        def outcome(clicks, shown=shown):
            p_first, p_second = ownership_by_enumeration(FIRST, SECOND, shown, clicks, 3.0)
            lead = p_first - p_second
            return (lead > 1e-12) - (lead < -1e-12) if rule == "marginal_sign" else lead

        expected = mean_by_enumeration(shown, users, outcome)
        assert mean_over_users(c, tree, SHOWN, stream(0)) == pytest.approx(expected, abs=1e-12)


def test_other_methods_credit_each_pattern_of_clicks():
    comparer = comparer_of("informational", method="team_draft")
    c, tree, rng = comparer.open(), open_tree(comparer, rare=0.0), stream(3)
    for _ in range(20):
        length = draw_pair(c.method, c.lists, 0, 0, 1, c.page, rng)

        def outcome(clicks, length=length):
            c.page.clicks[: len(clicks)] = clicks
            return credit_pair(c.method, c.lists, 0, 0, 1, c.page, length, len(clicks))

        expected = mean_by_enumeration(c.page.shown.tolist(), "informational", outcome)
        assert mean_over_users(c, tree, PairList(0, 0, 1, length), rng) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("users", ["informational", "leaving"])
@pytest.mark.parametrize("rare", [0.4, 1.01], ids=["some branches", "one user"])
def test_sampled_users_represent_rare_branches_without_bias(users, rare):
    comparer = comparer_of(users, "marginal_sign")
    c = comparer.open()
    c.page.shown[:] = (1, 2, 0, 3)
    exact = mean_over_users(c, open_tree(comparer, rare=0.0), SHOWN, stream(0))
    tree, rng = open_tree(comparer, rare=rare), stream(1)
    draws = np.array([mean_over_users(c, tree, SHOWN, rng) for _ in range(20_000)])
    assert draws.std() > 0
    assert abs(draws.mean() - exact) < 4.5 * draws.std() / np.sqrt(len(draws))
