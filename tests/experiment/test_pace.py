"""The number of runs that a worker takes at once."""

from __future__ import annotations

from itertools import chain, groupby

import pytest

from ltr_duel.experiment.pace import Pace
from ltr_duel.experiment.plan import PlannedRun


def planned(count, label="rucb", start=0):
    return [PlannedRun(number, f"{number:064x}", label, 0, 100, number, None) for number in range(start, start + count)]


def taken(pace, runs, seconds):
    """Claim all runs; each run takes the given time."""
    sizes = []
    for together in pace.together(runs):
        sizes.append(len(together))
        assert len({run.label for run in together}) == 1
        for run in together:
            pace.learn(run, seconds[run.label])
    assert sum(sizes) == len(runs)
    return sizes


def test_short_runs_are_taken_many_at_a_time_and_long_ones_one_by_one():
    short, long = planned(1000, "short"), planned(50, "long", 1000)
    sizes = taken(Pace(), short + long, {"short": 0.001, "long": 3.0})
    assert sizes[0] == 1 and max(sizes) == 50 and len(sizes) < 80
    assert sizes[-50:] == [1] * 50, "nothing is known of the first long run"


def test_there_is_a_most_and_runs_that_are_handed_over_alone():
    assert max(taken(Pace(), planned(1000), {"rucb": 0.0})) == 64
    assert taken(Pace(most=1), planned(20), {"rucb": 0.0}) == [1] * 20


@pytest.mark.parametrize("seconds", [0.0, 1.0])
def test_runs_stay_in_their_order(seconds):
    runs = [*planned(30, "a"), *planned(30, "b", 30), *planned(30, "a", 60)]
    pace, order = Pace(), []
    for together in pace.together(runs):
        order.append(together)
        for run in together:
            pace.learn(run, seconds)
    assert list(chain(*order)) == runs
    assert [key for key, _ in groupby(run.label for run in chain(*order))] == ["a", "b", "a"]
