"""With single outcomes, a learner follows the path of the loop; with many, its choices have the same distribution."""

from __future__ import annotations

import numpy as np
import pytest

from ltr_duel.bandits import POLICIES, Run
from ltr_duel.bandits.learner import Learner
from ltr_duel.core import stream

NAMES = POLICIES.names()
P = np.clip(0.5 + np.subtract.outer(np.linspace(0.3, 0, 4), np.linspace(0.3, 0, 4)), 0.1, 0.9)


def learner(name, horizon, seed=4, order=(0, 1, 2, 3)):
    return Learner(name, 4, horizon=horizon, rng=stream(seed, "policy"), others=stream(seed, "others"), order=order)


def outcome(arms, coins):
    pairs = [(a, b) for k, a in enumerate(arms) for b in arms[k + 1 :]]
    if len(arms) < 2 or (len(arms) == 2 and arms[0] == arms[1]):
        return b""
    return bytes(1 if coins.random() < P[a, b] else 255 for a, b in pairs)


@pytest.mark.parametrize("name", NAMES)
def test_one_at_a_time_it_takes_the_path_of_the_loop(name):
    steps, coins = 200, stream(4, "coins")
    mine, path = learner(name, steps), []
    for _ in range(steps):
        (arms,) = mine.choose(1)
        path.append(np.bincount(arms, minlength=4).tolist() if POLICIES[name].feedback == "slate" else list(arms))
        mine.learn([(arms, outcome(arms, coins))])
    run = Run.on_matrix(POLICIES[name], P, seed=4, horizon=steps, keep=steps, plain=True)
    run.advance(steps, jump=False)
    assert path == run.path.tolist()
    assert mine.recommend() == run.recommend()


@pytest.mark.parametrize("name", ["rucb", "multi_self_sparring", "mdb"])
def test_compiled_and_not_it_chooses_and_learns_alike(name, monkeypatch):
    chosen = []
    for many in (10**9, 1):
        monkeypatch.setattr("ltr_duel.bandits.learner._MANY", many)
        mine, coins = learner(name, 2000), stream(9, "coins")
        for _ in range(3):
            arms = mine.choose(300)
            mine.learn([(one, outcome(one, coins)) for one in arms])
        chosen.append(mine.choose(50))
    assert chosen[0] == chosen[1]


@pytest.mark.parametrize("name", ["double_thompson", "beat_the_mean", "exp3_sparring"])
def test_the_choices_of_a_batch_have_the_law_of_the_next_one(name):
    """Compare 4,000 choices of a learner with the next choices of 1,500 equal learners, within 5 standard errors."""
    steps, told = 100, []
    mine, coins = learner(name, steps), stream(2, "coins")
    for _ in range(60):
        (arms,) = mine.choose(1)
        told.append(outcome(arms, coins))
        mine.learn([(arms, told[-1])])

    def shares(chosen):
        return np.bincount([a * 4 + b for a, b in chosen], minlength=16) / len(chosen)

    many = shares(mine.choose(4001)[1:])
    before = [mine._state, mine._words.copy(), mine.t]
    if not POLICIES[name].any_order:
        before[1] = mine._before.copy()
    singles = []
    for seed in range(1500):
        other = learner(name, steps, seed=seed)
        other._words[:], other.t = before[1], before[2]
        singles += other.choose(1)
    one = shares(singles)
    assert (np.abs(many - one) <= 5 * np.sqrt(many * (1 - many) * (1 / 4000 + 1 / 1500)) + 3e-3).all()
