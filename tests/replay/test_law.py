"""The policy of a live experiment with simulated users is the policy of the simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ltr_duel.bandits import POLICIES, Run, new_recorder, relabelled
from ltr_duel.live import Experiment, Settings
from ltr_duel.replay import SimulatedUsers, replay
from ltr_duel.simulation import Live, RunKey, checkpoints, run_order, run_streams
from tests.conftest import random_rankings

POLICIES_OF = [("rucb", "team_draft"), ("rmed2fh", "probabilistic"), ("multi_self_sparring:size=3", "sosm")]
K = 5


def corpus():
    return random_rankings(K, n_queries=6, n_docs=8, grades=3, seed=3)


def experimented(folder, policy, method, steps, *, seed=0, concurrency=1, **settings):
    """Return the state after the given number of pages."""
    rankings = corpus()
    given = Settings(
        name="law", rankers=rankings.names, policy=policy, method=method, top=5, seed=seed, horizon=steps, **settings
    )
    users = SimulatedUsers(rankings, "informational", top=5, seed=seed)
    with Experiment.open(folder / "live.db", given) as experiment:
        replay(users, experiment, steps=steps, concurrency=concurrency)
        return experiment.state()


def simulated(policy, method, steps, *, seed=0):
    """Return the pulls of the first repetition of a simulation."""
    rankings = corpus()
    configured = POLICIES.configure(policy)
    slates = configured.component.feedback == "slate"
    live = Live(rankings, "informational", top=5, **({"slates": method} if slates else {"pairs": method}))
    key = RunKey(live.provenance, configured.component.name, configured.params._asdict(), steps, 0, seed, 20, "")
    recorder = new_recorder(K, checkpoints(steps))
    order = run_order(key, K)
    known = relabelled(live.open(), order)
    run = Run(configured.component, configured.params, K, known, run_streams(key), recorder, horizon=steps, plain=True)
    run.advance(steps)
    return recorder.pulls_now[np.argsort(order)]


@pytest.mark.parametrize(("policy", "method"), POLICIES_OF)
def test_one_at_a_time_users_take_the_policy_along_the_path_of_the_simulation(tmp_path, policy, method):
    state = experimented(tmp_path, policy, method, 80, seed=4)
    assert state.steps == state.pages == 80
    np.testing.assert_array_equal(state.pulls, simulated(policy, method, 80, seed=4))
    assert len(set(state.pulls.tolist())) > 1


@pytest.mark.long
@pytest.mark.parametrize(("policy", "method"), POLICIES_OF)
def test_pulls_of_simultaneous_users_have_the_law_of_the_simulation(tmp_path, policy, method):
    found, drawn = [], []
    for seed in range(40):
        folder = tmp_path / str(seed)
        folder.mkdir()
        state = experimented(folder, policy, method, 250, seed=seed, concurrency=4, order="shown")
        found.append(state.pulls)
        drawn.append(simulated(policy, method, int(state.steps), seed=1000 + seed))
    for arm in range(K):
        assert stats.ks_2samp(np.array(found)[:, arm], np.array(drawn)[:, arm]).pvalue > 1e-4
