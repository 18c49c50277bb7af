"""The state of an experiment: its numbers by hand, and the sentence that follows from its controls."""

import math
from dataclasses import replace

import numpy as np
import pytest

from ltr_duel.live import Controls, next_plan
from ltr_duel.live.state import Counts, beats_all, regret_bound, state_of
from tests.live.shop import LISTS, Clock, click, learn, opened, settings


def test_the_probability_of_two_rankers_is_that_of_a_beta_distribution():
    # 3 wins, 1 loss: Pr(Beta(4, 2) > 1/2) = Pr(at most 3 of 5 coins show heads) = (1 + 5 + 10 + 10) / 32
    assert beats_all(np.array([[0, 3], [1, 0]])) == pytest.approx([26 / 32, 6 / 32])


def test_a_ranker_must_beat_each_of_the_others():
    wins = np.array([[0, 3, 0], [1, 0, 0], [0, 0, 0]])  # nothing is known of the third: 1/2
    assert beats_all(wins) == pytest.approx([26 / 64, 6 / 64, 1 / 4])


def test_the_bound_of_the_regret_is_that_of_the_costliest_ranker_that_may_be_the_best():
    exposure, high = np.array([10.0, 20.0]), np.array([[0.0, 0.4], [0.2, 0.0]])
    assert regret_bound(exposure, high) == pytest.approx(max(0.4 * 20 / 2, 0.2 * 10 / 2))
    assert regret_bound(exposure, np.array([[0.0, 0.4], [-0.1, 0.0]])) == pytest.approx(4.0)  # the second is not
    assert math.isnan(regret_bound(exposure, np.array([[0.0, -0.1], [-0.1, 0.0]])))


@pytest.mark.parametrize(
    "uses, said",
    [
        ("", "stop: ranker a wins"),
        ("pause", "Nothing is compared until 'resume'. Before: stop: ranker a wins"),
        ("winner:a", "Nothing is compared until 'resume'. Before: stop: ranker a wins"),
        ("end", "stop: ranker a wins"),
        ("drop:c", "stop: ranker a wins"),
    ],
)
def test_the_sentence_follows_from_decisions_and_controls(tmp_path, uses, said):
    clock, names = Clock(), ("a", "b", "c")
    lists = {name: [f"{name}{k}" for k in range(10)] for name in names}
    with opened(tmp_path, settings(rankers=names), clock=clock) as experiment:
        for k in range(600):
            clock.now += 1
            page = experiment.decide(f"user {k}", "q", lists)
            best = min(page.rankers)  # users prefer a to b to c
            experiment.report(*click(page, 1 + page.record["owners"].index(page.rankers.index(best))))
            if k % 100 == 0:
                learn(experiment)
        clock.now += 100
        learn(experiment)
        if uses:
            experiment.control(*uses.split(":"))
        state = experiment.state()
    assert state.sentence.startswith(said), state.sentence
    assert (state.leader, state.impressions_to_go) == ("a", 0)
    assert ("'logs compare' of the exported log decides among all" in state.note) == (uses == "drop:c")
    assert state.wins[0, 1] + state.wins[0, 2] + state.wins[1, 2] == state.compared == 600
    assert state.exposure.sum() == pytest.approx(600) and state.to_json()["mean"][0][1] == 1.0


def test_an_experiment_that_ended_early_has_no_decision(tmp_path):
    with opened(tmp_path) as experiment:
        experiment.report(*click(experiment.decide("user", "q", LISTS)))
        experiment.control("end")
        state = experiment.state()
    assert state.sentence == "ended without a decision; a is served." and math.isinf(state.impressions_to_go)
    assert state.to_json()["impressions_to_go"] is None


def test_a_pair_that_the_plan_no_longer_shows_gets_no_number_of_further_pages():
    given = settings(rankers=("a", "b"), policy="double_thompson")
    counts = Counts([(0, 1, 1, 1, 60), (0, 1, -1, 1, 40)], [('["a", "b"]', 100, 100, 100)], 0, False, 0.0)
    both = next_plan(given, at=0)
    alone = replace(both, version=3, sets=((("a",), 20),))
    state = state_of(given, counts, Controls(), [], both, 0)
    assert state.sentence.startswith("go on: about") and 0 < state.impressions_to_go == state.decisions[0].more
    rare = replace(alone, sets=((("a",), 97), (("a", "b"), 3)))
    seldom = state_of(given, counts, Controls(), [], rare, 0).sentence
    assert seldom == state.sentence + " Plan 3 shows several rankers in 3.0% of its searches."
    state = state_of(given, counts, Controls(), [], alone, 0)
    assert state.sentence == "undecided: plan 3 no longer shows a and b together; a later plan may."
    assert math.isinf(state.impressions_to_go) and state.to_json()["decisions"][0]["more"] is None
    few = counts._replace(pairs=[(0, 1, 1, 1, 3)], totals=[('["a", "b"]', 3, 3, 3)])
    assert state_of(given, few, Controls(), [], alone, 0).sentence == state.sentence
