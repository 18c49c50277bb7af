"""The law of the loop of plans: its choices are distributed as those of a simulation in batches; false decisions."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import ks_2samp

from ltr_duel.core import stream
from ltr_duel.live import Planner, Settings, credit, outcome
from ltr_duel.logs import ClickLog, compare_log, decide, write_log
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.simulation import FromMatrix, simulate

RANKERS = ("a", "b", "c")
P = np.array([[0.5, 0.7, 0.8], [0.3, 0.5, 0.6], [0.2, 0.4, 0.5]])
SEARCHES, PLANS = 200, 6


@pytest.mark.long
@pytest.mark.parametrize("name", ["double_thompson", "rucb", "interleaved_filter", "mdb"])
def test_what_plans_choose_has_the_law_of_a_simulation_in_batches(name):
    """Compare pulls after 4 batches of 25 in 2,000 loops and 2,000 runs of `simulate`: Kolmogorov-Smirnov at 1e-4."""
    steps, batch, runs = 100, 25, 2000
    source = FromMatrix(PreferenceMatrix(P, RANKERS), sets="independent_coins")
    results = simulate(source, name, horizon=steps, batch=batch, repetitions=runs, seed=1)
    simulated, planned = np.array([run.pulls[-1] for run in results.runs]), np.zeros((runs, 3))
    for seed in range(runs):
        settings = Settings(name="law", rankers=RANKERS, policy=name, seed=seed, horizon=steps, batch=batch)
        planner, rng = Planner(settings), stream(seed, "law")
        for _ in range(steps // batch):
            plan, outcomes = planner.plan(), []
            for number in rng.permutation(np.repeat(np.arange(len(plan.sets)), [count for _, count in plan.sets])):
                arms = tuple(RANKERS.index(one) for one in plan.sets[number][0])
                if len(arms) == 1 and not settings.compares_sets:
                    arms *= 2
                np.add.at(planned[seed], list(arms), 1)
                signs = [1 if rng.random() < P[pair] else 255 for pair in combinations(arms, 2)]
                outcomes.append((arms, bytes(signs) if len(set(arms)) > 1 else b""))
            planner.learn(outcomes)
    for arm in range(3):
        assert ks_2samp(simulated[:, arm], planned[:, arm]).pvalue > 1e-4


def looks(seed, policy, path):
    """Follow plans of equal rankers and yield two comparisons; 5 % of the users make half of the searches."""
    rng = stream(seed, "loop", policy)
    settings = Settings(name="loop", rankers=RANKERS, policy=policy, seed=seed, batch=300)
    planner, rows = Planner(settings), []
    taste = rng.normal(0, 0.5, 400)  # of each user, for lists like the first ranker's
    for version in range(PLANS):
        plan, outcomes = planner.plan(), []
        for k in range(SEARCHES):
            user = int(rng.integers(20) if rng.random() < 0.5 else rng.integers(20, 400))
            scores = rng.random((3, 8)) + 0.3 * (np.arange(8) < 2)
            lists = dict(zip(RANKERS, np.argsort(-scores).tolist(), strict=True))
            record = plan.decide(f"u{user}", f"{version}-{k}", lists, now=1000.0 * version + k).record
            if record is None:
                continue
            likes = np.array([0.5 if int(one) < 2 else 0.1 for one in record["shown"]])
            likes += taste[user] * (0.1 * (np.array(record["owners"]) == 0) - 0.05)  # favours no ranker on average
            clicks = (np.flatnonzero(rng.random(len(likes)) < likes) + 1).tolist()
            rows.append(record | {"clicks": clicks})
            outcomes.append(outcome(settings, record, credit(record, clicks)))
        planner.learn(outcomes + planner.single_steps(len(outcomes)))
        if rows and version in (2, PLANS - 1):
            with write_log(path, tuple(rows[0])) as log:
                log.write({name: [row[name] for row in rows] for name in rows[0]})
            yield compare_log(ClickLog(path))


def is_false(seed, policy, path):
    """Return whether either look tells two rankers apart."""
    decisions = (decide(found, 0.95, checks=False) for found in looks(seed, policy, path))
    return any(pair.verdict == "stop" for decision in decisions for pair in decision.pairs)


@pytest.mark.long
def test_identical_rankers_are_told_apart_in_at_most_five_of_a_hundred_loops(tmp_path):
    """The share at any of two looks is at most 5 % plus two standard errors of 120 loops."""
    loops = 120
    false = sum(is_false(seed, "double_thompson", tmp_path / "log.parquet") for seed in range(loops))
    assert false <= loops * 0.05 + 2 * np.sqrt(loops * 0.05 * 0.95)
