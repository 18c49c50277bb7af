"""Batches and delays in whole simulations: keys, distributions, and rejected settings."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from ltr_duel.cli.main import cli
from ltr_duel.core import InputError
from ltr_duel.data import make_corpus
from ltr_duel.experiment import read_spec
from ltr_duel.preferences import PreferenceMatrix, save_preferences, synthetic_preferences
from ltr_duel.rankers import feature_rankers
from ltr_duel.simulation import RunKey, SimulatedUsers, key_fields, simulate

MATRIX = synthetic_preferences("arithmetic")
QUICK = {"horizon": 600, "repetitions": 3, "jobs": 1, "compiled": False}


def test_a_batch_of_one_is_the_simulation_without_batches():
    plain, batched = (simulate(MATRIX, ["rucb", "savage"], **QUICK, **more) for more in ({}, {"batch": 1, "delay": 0}))
    assert [run.key.digest for run in plain.runs] == [run.key.digest for run in batched.runs]
    assert plain.to_frame().equals(batched.to_frame())


def test_batches_and_delays_are_other_runs_under_other_names():
    runs = [simulate(MATRIX, "rucb", **QUICK, batch=b, delay=d).runs[0] for b, d in ((1, 0), (50, 0), (1, 50))]
    assert len({run.key.digest for run in runs}) == 3
    assert "batch" not in key_fields(runs[0].key) and key_fields(runs[1].key)["batch"] == 50
    assert all(run.pulls[-1].sum() == 1200 for run in runs)


def test_results_say_how_late_outcomes_were():
    results = simulate(MATRIX, "rucb", **QUICK, batch=50, delay=7)
    assert results.notes == ["Outcomes arrived in batches of 50 comparisons and 7 steps late."]


def test_nothing_is_learned_in_the_first_batch():
    """If the batch is as long as the run, all arms are compared equally often: a chi-squared test at 1e-6."""
    results = simulate(MATRIX, "rucb", horizon=2000, repetitions=20, batch=2000, jobs=1, compiled=False)
    pulls = np.sum([run.pulls[-1] for run in results.runs], axis=0)
    expected = pulls.sum() / len(MATRIX)
    assert ((pulls - expected) ** 2 / expected).sum() < 60


def test_live_users_answer_in_batches_too():
    rankings = feature_rankers(make_corpus(queries=10, documents=8, features=3))
    matrix = PreferenceMatrix([[0.5, 0.6, 0.7], [0.4, 0.5, 0.6], [0.3, 0.4, 0.5]], names=rankings.names)
    policies = ["double_thompson", "mdb", "interleaved_filter"]
    results = simulate(SimulatedUsers(rankings), policies, preferences=matrix, horizon=60, repetitions=1, batch=20,
                       compiled=False, jobs=1)  # fmt: skip
    assert [round(run.exposure[-1].sum()) for run in results.runs] == [60, 60, 60]


def test_what_is_no_batch_is_refused():
    for given, complaint in (
        ({"batch": 0}, "the batch must be between 1 and 600"),
        ({"batch": 601}, "the batch must be between 1 and 600"),
        ({"delay": -1}, "the delay must be between 0 and 600"),
    ):
        with pytest.raises(InputError, match=complaint):
            simulate(MATRIX, "rucb", **QUICK, **given)


def test_the_command_takes_a_batch(tmp_path):
    save_preferences(MATRIX, tmp_path / "m.parquet")
    words = f"simulate {tmp_path}/m.parquet --policy random --batch 50 --delay 3 --horizon 200 --repetitions 1 --jobs 1"
    said = CliRunner().invoke(cli, [*words.split(), "--out", str(tmp_path / "out")])
    assert "Outcomes arrived in batches of 50 comparisons and 3 steps late." in said.output
    (run,) = json.loads((tmp_path / "out" / "runs.json").read_text())
    assert (run["batch"], run["delay"]) == (50, 3)


def test_an_experiment_has_a_batch():
    text = "policies = 'rucb'\nhorizon = 100\nbatch = 20\nutilities = [{ set = '1good5poor' }]"
    assert read_spec("one.toml", text).spec.batch == 20
    with pytest.raises(InputError, match="batch: 200 is more than the horizon of 100"):
        read_spec("one.toml", text.replace("20", "200"))


def test_the_digests_of_earlier_keys_are_as_they_were():
    key = RunKey({"oracle": "matrix"}, "rucb", {"alpha": 0.51}, horizon=100, repetition=0, seed=1)
    assert set(key_fields(key)) == set(vars(key)) - {"batch", "delay"}
