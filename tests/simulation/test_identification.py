"""Policies that stop: stopping times, and the promised share of wrong answers."""

from math import ceil, inf, log, pi

import numpy as np
import pytest

from ltr_duel.core import InputError
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.simulation import identification_table, identify
from tests.conftest import ROCK_PAPER_SCISSORS

LINE = PreferenceMatrix([[0.5, 0.7, 0.9], [0.3, 0.5, 0.7], [0.1, 0.3, 0.5]])
CERTAIN = PreferenceMatrix([[0.5, 1.0, 1.0], [0.0, 0.5, 1.0], [0.0, 0.0, 0.5]])


def test_dkwt_stops_after_one_stage_of_each_match_if_the_better_arm_always_wins():
    stage = ceil(8 * log(4 * 3 * pi**2 / (6 * 0.05)) * 4**2)  # error 0.05 / 3 of a match, h = 1/4
    runs = identify(CERTAIN, "dkwt:delta=0.05", repetitions=3, jobs=1)
    assert runs["stopped_at"].tolist() == [2 * stage] * 3  # three arms, two matches
    assert runs["recommended"].tolist() == ["0"] * 3


def test_savage_stops_when_its_radius_excludes_one_half():
    horizon, radius = 10_000, 0.5
    n = ceil(log(3 * 2 * horizon / 0.1) / (2 * radius**2))  # duels of a pair: 0 + radius(n) < 1/2
    runs = identify(CERTAIN, "savage:delta=0.1", limit=horizon, repetitions=5, jobs=1)
    assert (runs["stopped_at"] <= 3 * (n + 1)).all()
    assert (runs["stopped_at"] >= 2 * n).all()


@pytest.mark.parametrize("policy", ["dkwt:delta=0.3", "savage:delta=0.3", "beat_the_mean_pac:delta=0.3,epsilon=0.3"])
def test_wrong_answers_are_at_most_the_promised_share(policy):
    row = identification_table(identify(LINE, policy, repetitions=200, jobs=1)).iloc[0]
    assert row["stopped"] == 1
    assert row["wrong"] <= 0.3 + 3 * np.sqrt(0.3 * 0.7 / 200)


def test_a_run_that_meets_its_limit_has_not_stopped():
    row = identification_table(identify(LINE, "dkwt", limit=100, repetitions=4, jobs=1)).iloc[0]
    assert (row["stopped"], row["median"], row["wrong"]) == (0, inf, 0)


def test_identification_needs_a_stopping_rule_and_a_winner():
    with pytest.raises(InputError, match=r"'rucb' has no stopping rule; policies that stop: .*dkwt"):
        identify(LINE, ["dkwt", "rucb"])
    with pytest.raises(InputError, match="identification requires a Condorcet winner"):
        identify(ROCK_PAPER_SCISSORS, "dkwt", repetitions=1, jobs=1)
