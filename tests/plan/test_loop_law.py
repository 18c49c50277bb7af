"""The whole loop of plans: false decisions with returning users, and the distribution of the choices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ks_2samp

from ltr_duel.bandits import POLICIES
from ltr_duel.core import stream
from ltr_duel.live import Settings
from ltr_duel.logs import ClickLog, compare_log, decide, write_log
from ltr_duel.plan import Planner, PlanSettings
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.simulation import FromMatrix, simulate

RANKERS = ("a", "b", "c")
P = np.array([[0.5, 0.7, 0.8], [0.3, 0.5, 0.6], [0.2, 0.4, 0.5]])
SEARCHES, PLANS = 200, 6


def live_through(seed, policy, good, rng, path):
    """Follow plans with users of whom 5 % make half of the searches, and yield the comparison after each plan."""
    settings = Settings(name="loop", rankers=RANKERS, policy=policy, seed=seed)
    planner, rows = Planner(settings, PlanSettings(batch=300)), []
    taste = rng.normal(0, 0.5, 400)  # taste of each user for lists like the first ranker's
    for version in range(PLANS):
        plan, shown = planner.plan(), []
        for k in range(SEARCHES):
            user = int(rng.integers(20) if rng.random() < 0.5 else rng.integers(20, 400))
            lists = {}
            for number, name in enumerate(RANKERS):
                score = rng.random(8) + good[number] * (np.arange(8) < 2)
                lists[name] = np.argsort(-score).tolist()
            page = plan.decide(f"u{user}", f"{version}-{k}", lists, now=1000.0 * version + k)
            if page.record is None:
                continue
            likes = [0.5 if one < 2 else 0.1 for one in page.shown]
            near = [0.1 * taste[user] * (owner == 0) for owner in page.record["owners"]]
            near = [one - 0.05 * taste[user] for one in near]  # favours no ranker on average over users
            clicks = [place for place, p in enumerate(likes) if rng.random() < p + near[place]]
            rows.append({**page.record, "clicks": [place + 1 for place in clicks]})
            owned = [sum(page.record["owners"][place] == side for place in clicks) for side in (0, 1)]
            sign = int(np.sign(owned[0] - owned[1])) or (1 if rng.random() < 0.5 else -1)
            arms = tuple(RANKERS.index(name) for name in page.rankers)
            shown.append((arms, bytes([1 if sign > 0 else 255])))
        planner.learn(shown)
        if rows and version in (2, PLANS - 1):
            with write_log(path, tuple(rows[0])) as log:
                log.write({name: [row[name] for row in rows] for name in rows[0]})
            yield compare_log(ClickLog(path))


@pytest.mark.long
@pytest.mark.parametrize("policy", ["double_thompson", "self_sparring"])
def test_identical_rankers_are_told_apart_in_at_most_five_of_a_hundred_loops(policy, tmp_path):
    """The share at any look after a plan is at most 5 % plus two standard errors of 120 loops."""
    loops, false = 120, 0
    for seed in range(loops):
        rng = stream(seed, "loop", policy)
        found = live_through(seed, policy, (0.3, 0.3, 0.3), rng, tmp_path / "log.parquet")
        false += any(one.verdict == "stop" for look in found for one in decide(look, 0.95, checks=False).pairs)
    assert false <= loops * 0.05 + 2 * np.sqrt(loops * 0.05 * 0.95)


@pytest.mark.long
@pytest.mark.parametrize("name", ["double_thompson", "rucb", "interleaved_filter", "mdb"])
def test_what_plans_choose_has_the_law_of_a_simulation_in_batches(name):
    """Compare pulls after 4 batches of 25 in 2,000 loops and 2,000 runs of `simulate`: Kolmogorov-Smirnov at 1e-4."""
    steps, batch, runs = 100, 25, 2000
    source = FromMatrix(PreferenceMatrix(P, RANKERS), sets="independent_coins")
    results = simulate(source, name, horizon=steps, batch=batch, repetitions=runs, seed=1)
    simulated = np.array([run.pulls[-1] for run in results.runs])
    slates, planned = POLICIES[name].feedback == "slate", np.zeros((runs, 3))
    for seed in range(runs):
        settings = Settings(name="law", rankers=RANKERS, policy=name, seed=seed, horizon=steps)
        planner, rng = Planner(settings, PlanSettings(batch=batch)), stream(seed, "law")
        for _ in range(steps // batch):
            plan, shown = planner.plan(), []
            drawn = rng.permutation(np.repeat(np.arange(len(plan.sets)), [count for _, count in plan.sets]))
            for number in drawn:
                arms = tuple(RANKERS.index(one) for one in plan.sets[number][0])
                planned[seed, list(arms)] += 2 if len(arms) == 1 and not slates else 1
                if len(arms) > 1:
                    pairs = [(a, b) for k, a in enumerate(arms) for b in arms[k + 1 :]]
                    shown.append((arms, bytes(1 if rng.random() < P[pair] else 255 for pair in pairs)))
            planner.learn(shown)
    for arm in range(3):
        assert ks_2samp(simulated[:, arm], planned[:, arm]).pvalue > 1e-4
