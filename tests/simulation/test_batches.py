"""Batches and delays in whole simulations: keys, distributions, and rejected settings."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ltr_duel.core import InputError
from ltr_duel.data import make_corpus
from ltr_duel.experiment import read_spec
from ltr_duel.preferences import PreferenceMatrix, synthetic_preferences
from ltr_duel.rankers import feature_rankers
from ltr_duel.simulation import SimulatedUsers, simulate

MATRIX = synthetic_preferences("arithmetic")
QUICK = {"horizon": 600, "repetitions": 3, "jobs": 1, "compiled": False}


def test_a_batch_of_one_is_the_run_without_batches_and_other_lateness_another_run():
    lateness = ({}, {"batch": 1, "delay": 0}, {"batch": 50}, {"delay": 50})
    results = [simulate(MATRIX, "rucb", **QUICK, **late) for late in lateness]
    assert results[0].to_frame().equals(results[1].to_frame())
    assert len({result.runs[0].key.digest for result in results}) == 3
    assert all(result.runs[0].pulls[-1].sum() == 1200 for result in results)


def test_no_outcome_is_learned_in_the_first_batch():
    """If the batch is as long as the run, all arms are compared equally often: a chi-squared test at 1e-6."""
    results = simulate(MATRIX, "rucb", horizon=500, repetitions=20, batch=500, jobs=1, compiled=False)
    pulls = np.sum([run.pulls[-1] for run in results.runs], axis=0)
    expected = pulls.sum() / len(MATRIX)
    assert ((pulls - expected) ** 2 / expected).sum() < 60


def test_simulated_users_answer_in_batches_too():
    rankings = feature_rankers(make_corpus(queries=10, documents=8, features=3))
    matrix = PreferenceMatrix([[0.5, 0.6, 0.7], [0.4, 0.5, 0.6], [0.3, 0.4, 0.5]], names=rankings.names)
    given = {"preferences": matrix, "horizon": 60, "repetitions": 1, "batch": 20, "compiled": False, "jobs": 1}
    results = simulate(SimulatedUsers(rankings), ["double_thompson", "mdb", "interleaved_filter"], **given)
    assert [round(run.exposure[-1].sum()) for run in results.runs] == [60, 60, 60]


@pytest.mark.parametrize("given", [{"batch": 0}, {"batch": 601}, {"delay": -1}])
def test_batch_and_delay_are_at_most_the_horizon(given):
    with pytest.raises(InputError, match=f"the {next(iter(given))} must be between [01] and 600"):
        simulate(MATRIX, "rucb", **QUICK, **given)


def test_results_say_how_late_outcomes_were(tmp_path):
    results = simulate(MATRIX, "random", **QUICK, batch=50, delay=3)
    assert results.notes == ["Outcomes arrived in batches of 50 comparisons and 3 steps late."]
    run = json.loads(results.save(tmp_path).with_name("runs.json").read_text())[0]
    assert (run["batch"], run["delay"]) == (50, 3)


def test_an_experiment_has_a_batch():
    text = "policies = 'rucb'\nhorizon = 100\nbatch = 20\nutilities = [{ set = '1good5poor' }]"
    assert read_spec("one.toml", text).spec.batch == 20
    with pytest.raises(InputError, match="batch: 200 is more than the horizon of 100"):
        read_spec("one.toml", text.replace("20", "200"))
