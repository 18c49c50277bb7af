"""The state of an experiment: each number against an independent computation."""

import math

import numpy as np
import pytest

from ltr_duel.core import stream
from ltr_duel.live.memory import Tally
from ltr_duel.live.rows import CLICKED
from ltr_duel.live.state import beats_all, regret_bound
from ltr_duel.logs import confidence_sequence
from tests.live.shop import RANKINGS, opened, settings
from tests.live.test_experiment import use


def test_the_probability_of_beating_all_is_that_of_drawn_matrices():
    wins = np.array([[0, 30, 12], [20, 0, 9], [8, 11, 0]])
    rng, draws = np.random.default_rng(0), 40_000
    best = np.ones((draws, 3), bool)
    for i in range(3):
        for j in range(i + 1, 3):
            p = rng.beta(wins[i, j] + 1, wins[j, i] + 1, draws)
            best[:, i] &= p > 0.5
            best[:, j] &= p < 0.5
    assert beats_all(wins) == pytest.approx(best.mean(axis=0), abs=0.01)
    assert beats_all(np.zeros((2, 2))).tolist() == [0.5, 0.5]


def test_the_probability_is_the_posterior_of_decided_pages_however_many_tie(tmp_path):
    lists = {"a": ["x", "y"], "b": ["y", "x"]}
    answers = []
    with opened(tmp_path, settings(rankers=("a", "b"), policy="random")) as experiment:
        for clicks, pages in (("x", 60), ("y", 40), ("", 300)):
            for _ in range(pages):
                experiment.record(experiment.decide("q", lists).token, list(clicks))
            answers.append(experiment.state())
    decided, tied = answers[1:]
    won, lost = (int(decided.wins[pair]) for pair in ((0, 1), (1, 0)))
    assert won + lost == 100
    integral = (np.linspace(0.5, 1, 100_001) ** won * np.linspace(0.5, 0, 100_001) ** lost).sum()
    whole = (np.linspace(0, 1, 200_001) ** won * np.linspace(1, 0, 200_001) ** lost).sum()
    assert decided.probability[0] == pytest.approx(integral / whole, abs=1e-4)
    assert tied.ties[0, 1] == 300 and tied.probability.tolist() == decided.probability.tolist()


def test_the_regret_bound_is_that_of_the_worst_ranker_that_may_still_be_the_best():
    high = np.array([[0, 0.4, 0.2], [0.1, 0, 0.6], [-0.1, 0.5, 0]])  # the last one is refuted by the first
    exposure = np.array([10.0, 4.0, 6.0])
    first = (4 * 0.4 + 6 * 0.2) / 2
    second = (10 * 0.1 + 6 * 0.6) / 2
    assert regret_bound(exposure, high) == pytest.approx(max(first, second))
    high[0, 1] = high[1, 0] = -0.1
    assert math.isnan(regret_bound(exposure, high))


@pytest.mark.long
def test_the_regret_bound_holds_at_all_times_as_often_as_it_says():
    best, runs, steps, wrong = 0, 300, 400, 0
    means = np.array([[0, 0.3, 0.4], [-0.3, 0, 0.1], [-0.4, -0.1, 0]])
    for run in range(runs):
        rng, tally, true = stream(run, "bound"), Tally(3), 0.0
        for step in range(1, steps + 1):
            key = ((0, 1), (0, 2), (1, 2))[step % 3]
            tally.show(key)
            y = 1 if rng.random() < (1 + means[key]) / 2 else 255
            tally.happen(CLICKED, key, bytes([y]))
            true += means[best, list(key)].mean() / 2
            if step % 20 == 0:
                now = confidence_sequence(*tally.sequences(), confidence=0.8, tests=3)
                high = np.zeros((3, 3))
                high[tuple(tally.pairs.T)], high[tuple(tally.pairs.T[::-1])] = now.high, -now.low
                if not regret_bound(tally.exposure, high) >= true:
                    wrong += 1
                    break
    assert wrong <= 0.2 * runs + 3 * math.sqrt(0.16 * runs)


def test_the_state_of_an_experiment_agrees_with_itself(tmp_path):
    with opened(tmp_path, settings(policy="random")) as experiment:
        use(experiment, 200)
        state = experiment.state()
    assert np.allclose(state.mean, -state.mean.T) and np.allclose(state.low, -state.high.T)
    assert (state.low <= state.mean).all() and (state.mean <= state.high).all()
    n = np.maximum(state.first_wins + state.first_wins.T + state.first_ties, 1)
    assert np.allclose(state.mean, (state.first_wins - state.first_wins.T) / n), "the mean is that of these counts"
    assert state.pages == state.open + state.clicked + state.unclicked + state.expired
    assert state.exposure.sum() == pytest.approx(state.pages)
    assert state.probability.sum() <= 1 and state.winner == state.rankers[int(np.argmax(state.probability))]
    said = state.to_json()
    assert said["regret_bound"] == state.regret_bound and said["decisions"][0]["first"] == "a"
    assert len(RANKINGS) == len(said["wins"]) == 5


def test_nothing_is_to_go_when_it_may_be_stopped_though_other_pairs_are_open(tmp_path):
    lists = {"a": ["x", "y"], "b": ["y", "x"], "c": ["y", "x"]}
    with opened(tmp_path, settings(rankers=tuple(lists), policy="random")) as experiment:
        for _ in range(300):
            page = experiment.decide("q", lists)
            experiment.record(page.token, ["x"])
        state = experiment.state()
    assert state.sentence.startswith("stop: a wins against each of the 2 others. So far ")
    assert any(one.verdict == "go on" for one in state.decisions) and state.impressions_to_go == 0


def test_what_is_not_finite_is_null_in_json(tmp_path):
    with opened(tmp_path) as experiment:
        state = experiment.state()
    assert math.isinf(state.impressions_to_go) and state.to_json()["impressions_to_go"] is None
