"""A simulated log is the run of a policy on simulated users, with all that its credit needs."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest

from ltr_duel.core import InputError
from ltr_duel.data import make_corpus
from ltr_duel.logs import ClickLog, compare_log, simulate_log
from ltr_duel.preferences import PreferenceMatrix, estimate_preferences
from ltr_duel.rankers import feature_rankers
from ltr_duel.simulation import SimulatedUsers, simulate

RANKINGS = feature_rankers(make_corpus(queries=60, documents=10, features=5))


def test_a_log_is_the_run_that_the_simulation_makes(tmp_path):
    four, run = RANKINGS[[0, 1, 2, 3]], {"horizon": 300, "seed": 3, "compiled": False}
    simulate_log(tmp_path / "log.parquet", four, policy="rucb", outcome="sampled", **run)
    users, matrix = SimulatedUsers(four, outcome="sampled"), PreferenceMatrix(np.full((4, 4), 0.5), four.names)
    exposure = simulate(users, "rucb", preferences=matrix, repetitions=1, **run).runs[0].exposure[-1]
    logged, log = np.zeros(4), pq.read_table(tmp_path / "log.parquet")
    assert len(set(log["user"].to_pylist())) == len(log)  # users do not return: each impression has its own
    for names in log["rankers"].to_pylist():
        logged[[four.names.index(name) for name in names]] += 1 / 2
    alone = exposure.sum() - logged.sum()  # a ranker against itself is no impression
    assert np.abs(exposure - logged).sum() == pytest.approx(alone)


@pytest.mark.parametrize("pairs", ["team_draft", "probabilistic"])
def test_a_comparison_of_the_log_finds_the_preferences_of_the_simulated_users(tmp_path, pairs):
    three, path = RANKINGS[[0, 2, 4]], tmp_path / "log.parquet"
    written = simulate_log(path, three, pairs=pairs, top=4, horizon=6000, returning=300, seed=1)
    found = compare_log(ClickLog(path))
    assert found.counts.sum() == written and len(set(pq.read_table(path)["user"].to_pylist())) == 300
    rule = "sampled" if pairs == "probabilistic" else ""
    truth = estimate_preferences(three, method=pairs, outcome=rule, top=4, comparisons=20_000)
    expected = [2 * truth.p[three.names.index(a), three.names.index(b)] - 1
                for a, b in ([found.names[k] for k in pair] for pair in found.pairs)]  # fmt: skip
    assert np.abs((found.means.mean - expected) / found.means.error).max() < 4
    assert np.abs(expected).max() > 5 * found.means.error.max()  # so that a different log would be noticed


@pytest.mark.parametrize(("given", "says"), [
    ({"pairs": "balanced"}, "use team_draft, or probabilistic with the rule 'sampled'"),
    ({"outcome": "marginal_sign"}, "use team_draft, or probabilistic with the rule 'sampled'"),
    ({"policy": "mdb"}, "compares sets of rankers; a log is simulated with a policy that compares two"),
])  # fmt: skip
def test_a_method_that_cannot_credit_by_owners_and_a_policy_of_sets_are_refused(tmp_path, given, says):
    with pytest.raises(InputError, match=says):
        simulate_log(tmp_path / "log.parquet", RANKINGS, **given)
    assert not list(tmp_path.iterdir())
