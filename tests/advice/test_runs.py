"""Right rankers, the loss of lists, outcomes, and the users of runs."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import chisquare

from ltr_duel.advice import advise
from ltr_duel.advice.candidates import candidates_named
from ltr_duel.advice.runs import RunRequest, Simulator, Users
from ltr_duel.advice.worlds import make_worlds
from ltr_duel.bandits import duel, multiduel
from ltr_duel.clicks.fit.file import FORMAT
from ltr_duel.core import Streams, stream
from ltr_duel.data import make_corpus
from ltr_duel.interleaving import Comparer
from ltr_duel.preferences import estimate_preferences
from ltr_duel.rankers import feature_rankers, measure_by_query
from tests.conftest import random_rankings


@pytest.fixture(scope="module")
def rankings():
    return feature_rankers(make_corpus(queries=15, documents=8, features=4, dead=0, constant=0))


def world_with(rankings, users="perfect", top=10, margin=0.01):
    return make_worlds(rankings, (users,), top, margin)[0]


def oracle_with(world, method="team_draft"):
    comparison = Comparer(world.rankings, world.users, method, "", world.top).open()
    return Users(comparison, world.yardstick, np.zeros(1), np.zeros(len(world.ndcg)))


def streams(seed=0):
    return Streams(*(stream(seed, name) for name in Streams._fields))


def run(world, label, runs, times, seed=0, **given):
    request = RunRequest(candidates_named((label,))[0], world, runs)
    return Simulator(seed, 1, compiled=False, **given).samples([request], "test", np.array(times), "test")[0]


def test_the_best_ranker_has_the_highest_ndcg_and_the_margin_makes_more_right(rankings, top=3):
    values = measure_by_query(rankings, f"NDCG@{top}").mean(axis=1)
    gaps = np.sort(values.max() - values)
    world = world_with(rankings, top=top, margin=(gaps[1] + gaps[2]) / 2)
    assert world.ndcg == pytest.approx(values) and world.measure == f"NDCG@{top}"
    assert world.right.sum() == 2 and world.right[values.argmax()] == 1
    assert world.least_mistake == pytest.approx(gaps[2])
    assert world_with(rankings, margin=1).least_mistake == 0


def copies(rankings, chosen):
    """Return rankings in which rankers occur several times."""
    names = tuple("abcdefgh"[: len(chosen)])
    return type(rankings)(
        names, rankings.order[chosen], rankings.rank[chosen], rankings.relevance, rankings.query_ptr, 3, {"corpus": "t"}
    )


def test_a_list_of_one_ranker_twice_loses_what_the_ranker_loses():
    two = random_rankings(2, 6, 12, grades=3, seed=3)
    by_query = measure_by_query(two, "NDCG@10")
    best = int(by_query.mean(axis=1).argmax())
    oracle, given = oracle_with(world_with(copies(two, [best, best, 1 - best, 1 - best]))), streams()
    for _ in range(20):
        duel(oracle, 0, 1, given)
    assert abs(oracle.lost[0]) < 1e-12, "against itself, query by query"
    losses = []
    for _ in range(50):
        before = oracle.lost[0]
        duel(oracle, 2, 3, given)
        losses.append(oracle.lost[0] - before)
    gaps = by_query[best] - by_query[1 - best]
    assert np.isclose(np.array(losses)[:, None], gaps, atol=1e-12).any(axis=1).all()
    assert oracle.exposure.tolist() == [10, 10, 25, 25]


def test_outcomes_have_the_law_of_comparisons(rankings):
    oracle, given = oracle_with(world_with(rankings, "navigational")), streams()
    won = np.zeros((4, 4), np.int8)
    pairs = np.mean([duel(oracle, 0, 1, given) > 0 for _ in range(400)])
    multi = oracle_with(world_with(rankings, "navigational"), "sosm")
    multiduel(multi, np.array([0, 1, 2]), 3, won, given)
    assert multi.exposure == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0]) and set(won[np.triu_indices(3, 1)]) <= {-1, 1}
    matrix = estimate_preferences(rankings, clicks="navigational", method="team_draft", comparisons=3000, jobs=1)
    assert abs(pairs - matrix.p[0, 1]) < 4.5 * np.sqrt(0.25 / 400 + 0.25 / 3000)


@pytest.mark.parametrize("label", ["rucb/team_draft", "mdb/sosm"])
def test_no_ranker_is_named_for_its_row(rankings, label):
    """With identical rankers and a single impression, all rankers are named equally often."""
    world = world_with(copies(random_rankings(2, 6, 8, grades=3), [0, 0, 0, 0]))
    assert chisquare(np.bincount(run(world, label, 200, [1]).named[:, 0], minlength=4)).pvalue > 1e-3


@pytest.mark.parametrize("label", ["rucb/team_draft", "mdb/sosm"])
def test_a_ranker_shown_alone_costs_its_gap(rankings, label):
    """Sooner or later the policy shows one ranker; users' loss is between the best and the worst of all rankers."""
    sample = run(world_with(rankings), label, 3, [50, 300])
    gaps = world_with(rankings).gaps
    assert ((sample.lost < 1.05 * gaps.max()) & (sample.lost > -0.1)).all()
    assert sample.named.shape == (3, 2) and (sample.after == gaps[sample.named[:, -1]]).all()
    assert sample.loss == pytest.approx(sample.lost + sample.after)


def test_late_clicks_make_a_policy_no_better(rankings):
    at_once, late = (run(world_with(rankings), "rucb/team_draft", 5, [300], batch=batch) for batch in (1, 300))
    assert late.lost.mean() > at_once.lost.mean(), "with no click before the end, all pairs are equal"


def test_fitted_users_are_sampled_within_their_errors_and_the_same_for_all_candidates(rankings, tmp_path, monkeypatch):
    given = {"format": FORMAT, "model": "sdbn", "source": "a log", "p_click": [0.1, 0.1, 0.0, 0.1, 0.1]}
    given |= {
        "p_leave": [],
        "p_notice": [],
        "p_stop": [0.3] * 5,
        "errors": {"p_click": [0.02, 0.02, 0, 0.02, 0.02], "p_stop": [0.1] * 5},
    }
    (tmp_path / "users.json").write_text(json.dumps(given))
    monkeypatch.chdir(tmp_path)
    world = world_with(rankings, "users.json")
    sampled = [world.sampled_users(np.random.default_rng(k)) for k in range(400)]
    assert np.std([one.p_click for one in sampled], axis=0) == pytest.approx([0.02, 0.02, 0, 0.02, 0.02], abs=0.003)
    assert np.std([one.p_stop for one in sampled], axis=0) == pytest.approx([0.1] * 5, abs=0.02)
    simulator = Simulator(0, 1)
    users = [simulator.users(world, ("fresh", number)) for number in (3, 3, 4)]
    assert users[0] == users[1] != world.users and users[2] != users[0]
    small = {"budget": 100, "confidence": 0.5, "simulations": 10, "compiled": False, "jobs": 1}
    advice = advise(rankings, clicks="users.json", candidates=("random/team_draft",), **small)
    assert "are sampled for each run, within their errors" in advice.lines()[-1]
