"""Simulated users: the outcomes have the distribution of the enumerated lists and clicks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ltr_duel.bandits import duel, multiduel
from ltr_duel.clicks import click_model
from ltr_duel.core import InputError, Streams, stream
from ltr_duel.interleaving import method_from_functions
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.simulation import SimulatedUsers, simulate
from tests.conftest import bradley_terry, make_rankings, random_rankings
from tests.reference.interleaving import click_patterns, expected_outcome, sosm_scores, team_draft_lists

ORDERS, RELEVANCE, TAU = [(2, 0, 3, 1), (0, 1, 2, 3), (3, 1, 0, 2)], [0, 2, 1, 0], 3.0


def streams(seed):
    return Streams(*(stream(seed, name) for name in Streams._fields))


def matrix_of(rankings):
    return PreferenceMatrix(bradley_terry(len(rankings)).p, rankings.names)


def test_duels_have_the_enumerated_law_with_ties_as_coins():
    oracle = SimulatedUsers(make_rankings(ORDERS, 3, RELEVANCE), top=3).open()
    chance, n = streams(1), 30_000
    truth = expected_outcome(ORDERS[0], ORDERS[1], RELEVANCE, click_model("navigational", 3), 3, TAU, "marginal_sign")
    mean = np.mean([duel(oracle, 0, 1, chance) for _ in range(n)])
    assert abs(mean - truth) < 5 / np.sqrt(n)


def test_slates_have_the_enumerated_law_with_ties_as_coins():
    model = click_model("informational", 3)
    oracle = SimulatedUsers(make_rankings(ORDERS, 3, RELEVANCE), "informational", top=3).open()
    truth = np.zeros((3, 3))
    for (shown, _), p_list in team_draft_lists(ORDERS, 3).items():
        for clicks, p_clicks in click_patterns([RELEVANCE[d] for d in shown], model.p_click, model.p_stop):
            scores = np.array(sosm_scores(ORDERS, list(shown), clicks))
            difference = scores[:, None] - scores[None, :]
            truth += p_list * p_clicks * ((difference > 1e-12).astype(int) - (difference < -1e-12))
    chance, n, upper = streams(2), 30_000, np.triu_indices(3, 1)
    total, won = np.zeros((3, 3)), np.zeros((3, 3), np.int8)
    for _ in range(n):
        multiduel(oracle, np.arange(3), 3, won, chance)
        total += won
    assert set(np.unique(won[upper])) <= {-1, 1}
    assert (np.abs(total / n - truth)[upper] < 5 / np.sqrt(n)).all()


def test_policies_find_the_best_ranker_from_clicks():
    rng = np.random.default_rng(0)
    relevance = (rng.random(60) < 0.3).astype(np.int16)
    by_noise = [np.argsort(-(relevance + noise * rng.normal(size=60)), kind="stable") for noise in (0.1, 1, 3, 9)]
    rankings = make_rankings(by_noise, 2, relevance)
    given = {"horizon": 20_000, "repetitions": 2, "preferences": matrix_of(rankings)}
    results = simulate(SimulatedUsers(rankings, "perfect"), ["rucb", "mdb"], **given)
    assert all(run.recommended[-1] == 0 for run in results.runs)


def test_half_ties_leave_ties_to_policies_that_count_them():
    rankings = random_rankings(4, 3, 8)
    users, given = SimulatedUsers(rankings, ties="half"), {"repetitions": 1, "preferences": matrix_of(rankings)}
    won, chance, oracle, outcomes = np.zeros((4, 4), np.int8), streams(3), users.open(), set()
    for _ in range(200):
        multiduel(oracle, np.arange(4), 4, won, chance)
        outcomes |= set(won[np.triu_indices(4, 1)].tolist())
    assert outcomes == {-1, 0, 1}
    assert simulate(users, "mdb", horizon=2000, **given).runs[0].exposure[-1].sum() == pytest.approx(2000)
    with pytest.raises(InputError, match="'multi_self_sparring' cannot count ties as half a win"):
        simulate(users, "multi_self_sparring", horizon=10, **given)


def test_each_kind_of_chance_has_a_stream_of_its_own():
    rankings, won = random_rankings(3, 20, 8), np.zeros((3, 3), np.int8)

    def queries_after(change):
        oracle, chance = SimulatedUsers(rankings, top=3).open(), streams(4)
        getattr(chance, change).random(7) if change else None
        for _ in range(5):
            duel(oracle, 0, 1, chance)
            multiduel(oracle, np.arange(3), 3, won, chance)
        return chance.queries.random()

    assert len({queries_after(change) for change in (None, "lists", "clicks", "feedback")}) == 1


def test_a_method_object_is_judged_by_its_functions_not_by_its_name():
    rankings = random_rankings(3, 2, 5)

    def draw(orders, top, rng):
        return orders[0][:top], [0] * len(orders[0][:top])

    mine = method_from_functions("mine", draw, lambda orders, *_: [0.0] * len(orders))
    assert SimulatedUsers(rankings, pairs=mine, slates=mine).names == rankings.names
    of_pairs = replace(mine, name="sosm", draw_slate=None, credit_slate=None)
    with pytest.raises(InputError, match=r"^'sosm' does not compare sets of rankers; methods that do: optimized"):
        SimulatedUsers(rankings, slates=of_pairs)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"pairs": "sosm"}, "'sosm' does not compare two rankers; methods that do: balanced,"),
        ({"outcome": "expectation"}, "'expectation' is a number"),
        ({"ties": "halves"}, "no rule for ties 'halves'; did you mean 'half'"),
    ],
)
def test_settings_that_give_no_outcome_are_refused(given, sentence):
    with pytest.raises(InputError, match=sentence):
        SimulatedUsers(random_rankings(3, 2, 5), **given)


def test_regret_of_simulated_users_needs_a_matrix_of_the_same_rankers():
    users = SimulatedUsers(random_rankings(3, 2, 5))
    with pytest.raises(InputError, match="pass preferences="):
        simulate(users, "rucb")
    with pytest.raises(InputError, match="has other rankers than the oracle, or in another order"):
        simulate(users, "rucb", preferences=bradley_terry(3))
