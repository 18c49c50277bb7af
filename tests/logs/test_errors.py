"""A quick part of `python -m benchmarks.studies.errors`: error rates of the printed results."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.studies.drawn_logs import (
    LEVEL,
    coverage,
    differences_from_the_best,
    false_alarms,
    false_stops,
    users_needed,
)
from benchmarks.studies.sequences import boundary
from ltr_duel.core import stream
from ltr_duel.logs import confidence_sequence, impressions_to_go, pair_decisions


@pytest.mark.parametrize("kind", ["independent", "returning"])
@pytest.mark.parametrize(("rankers", "n", "ties"), [(2, 100, 0.3), (5, 100, 0.3), (10, 300, 0.3), (10, 300, 0.95)])
def test_identical_rankers_differ_in_one_log_of_twenty_at_most(rankers, n, ties, kind):
    found = false_alarms(rankers, n, ties, kind, 100)
    assert (found <= 100 * 0.05 + 2.5 * (100 * 0.05) ** 0.5).all()


def test_what_the_study_calls_a_stop_is_a_verdict_and_a_winner_has_one_against_each_other():
    names, pairs = ("a", "b", "c"), [("a", "b"), ("a", "c"), ("b", "c")]
    stops, limits = [], boundary(400, LEVEL / 3)
    for seed in range(40):
        y = stream(seed, "stops").choice([-1, 0, 1], (3, 100), p=[0.2, 0.2, 0.6])
        won, lost, tied = ((y == one).sum(axis=1) for one in (1.0, -1.0, 0.0))
        decisions = pair_decisions(confidence_sequence(won, lost, tied, tests=3), pairs, 3, 300, confidence=0.95)
        stop = np.abs(won - lost) >= limits[won + lost]
        assert [one.verdict == "stop" for one in decisions] == stop.tolist()
        further, wins = impressions_to_go(names, decisions), [one.winner for one in decisions]
        assert (further == 0) == (max(map(wins.count, names)) == 2 or "" not in wins)
        stops.extend(stop)
    assert 0.1 < np.mean(stops) < 0.9


@pytest.mark.parametrize("kind", ["independent", "returning"])
@pytest.mark.parametrize(("ties", "mean"), [(0.0, 0.9), (0.95, 0.0), (0.95, 0.045)])
@pytest.mark.parametrize("users", [2, 20])
def test_intervals_of_few_users_hold_the_truth(users, ties, mean, kind):
    cautious, plain = coverage(users, kind, ties, mean, 100)
    assert cautious >= 100 * 0.94 - 2.5 * (100 * 0.05) ** 0.5
    assert plain < cautious or mean == 0  # without the two clusters some intervals have no width


def test_equal_ones_differ_from_the_best_of_them_in_one_study_of_twenty_at_most():
    found = differences_from_the_best(10, 50)
    assert (found <= 50 * 0.05 + 2.5 * (50 * 0.05) ** 0.5).all()


@pytest.mark.parametrize(
    ("rankers", "n", "ties", "kind"), [(2, 1000, 0.3, "returning"), (5, 1000, 0.95, "independent")]
)
def test_all_impressions_may_be_looked_at_every_day(rankers, n, ties, kind):
    assert false_stops(rankers, 1000, ties, kind, 40) <= 40 * 0.05 + 2.5 * (40 * 0.05) ** 0.5


@pytest.mark.parametrize(("effect", "experiments"), [(0.05, 3), (0.1, 8), (0.2, 24)])
def test_all_impressions_of_returning_users_need_a_third_of_the_users(effect, experiments):
    first, every = users_needed(effect, experiments).mean(axis=0)
    assert every < first / 3
