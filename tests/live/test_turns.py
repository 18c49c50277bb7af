"""Each outcome reaches a policy once: without delay on the same path, with any delay with the same distribution."""

import json

import numpy as np
import pytest
from scipy import stats

from ltr_duel.bandits import POLICIES, LivePolicy
from ltr_duel.core import stream
from ltr_duel.live.turns import MOST_HELD, Turns
from tests.bandits.matrices import bradley_terry
from tests.live.shop import Watched, settings

P = bradley_terry(4, spread=3)


def made(name, seed=0, in_order=False):
    return Turns(given(name, in_order), LivePolicy(name, 4, horizon=1000, seed=seed))


def given(name, in_order):
    sets = POLICIES.configure(name).component.feedback == "slate"
    how = {"policy": name, "horizon": 1000, "method": "probabilistic" if sets else "team_draft"}
    return settings(rankers=tuple("abcd"), order="shown" if in_order else "arrival", **how)


def signs_of(key, rng):
    """Compare the arms of a page."""
    pairs = [(a, b) for k, a in enumerate(key) for b in key[k + 1 :]]
    return bytes([1 if rng.random() < P[pair] else 255 for pair in pairs])


def walk(turns, steps, users, delay):
    """Show a page per tick until the policy took ``steps`` steps; outcomes arrive ``delay(signs)`` ticks later."""
    due, page, tick = {}, 0, 0
    while turns.policy.steps < steps:
        tick += 1
        for one, key, signs in due.pop(tick, ()):
            turns.closed(one, key, signs)
        page, key = page + 1, turns.asked
        if turns.is_alone(key):
            turns.alone(turns.asked)
            continue
        turns.opened(page, key)
        signs = signs_of(key, users)
        due.setdefault(tick + 1 + delay(signs), []).append((page, key, signs))
    return turns


@pytest.mark.parametrize("in_order", [False, True])
@pytest.mark.parametrize("name", ["rucb", "rmed2", "beat_the_mean", "mdb", "multi_self_sparring:size=3"])
def test_one_page_at_a_time_is_the_policy_itself(name, in_order):
    turns, plain = made(name, 5, in_order), made(name, 5).policy
    users, again = stream(1, "users"), stream(1, "users")
    for page in range(1, 200):
        key = turns.asked
        assert key == plain.ask()
        if turns.is_alone(key):
            turns.alone(turns.asked)
            plain.tell()
            continue
        turns.opened(page, key)
        turns.closed(page, key, signs_of(key, users))
        signs = np.frombuffer(signs_of(key, again), np.int8)
        table = np.zeros((len(key), len(key)), int)
        table[np.triu_indices(len(key), 1)] = signs
        plain.tell(int(signs[0]) if POLICIES.configure(name).component.feedback == "duel" else table)
    assert turns.held == 0 and turns.policy.steps == plain.steps == 199
    assert turns.policy.recommend() == plain.recommend()


def test_what_comes_late_waits_until_it_is_asked_for_and_is_told_in_order():
    class Told:
        """A policy that chooses two pairs in turn, and records its outcomes."""

        def __init__(self):
            self.told, self.steps = [], 0

        def ask(self):
            return ((0, 1), (2, 3))[self.steps % 2]

        def tell(self, outcome=0):
            self.told.append((self.ask(), outcome))
            self.steps += 1

    policy = Told()
    turns = Turns(given("rucb", False), policy)
    for page in (1, 2, 3):
        turns.opened(page, (0, 1))
    turns.closed(3, (0, 1), b"\1")
    assert policy.told == [((0, 1), 1)] and turns.held == 0
    turns.closed(2, (0, 1), b"\xff")
    turns.closed(1, (0, 1), b"\1")
    assert policy.told == [((0, 1), 1)] and turns.held == 2
    turns.closed(4, (2, 3), b"\1")
    assert policy.told[1:] == [((2, 3), 1), ((0, 1), -1)] and turns.held == 1
    assert turns.pulls.tolist() == [2, 2, 1, 1]

    policy = Told()
    turns = Turns(given("rucb", True), policy)
    for page in (1, 2, 3):
        turns.opened(page, (0, 1))
    turns.closed(3, (0, 1), b"\1")
    turns.closed(2, (0, 1), b"\xff")
    assert policy.told == [] and turns.held == 2  # the first page keeps them waiting
    turns.closed(1, (0, 1), b"\xff")
    assert policy.told == [((0, 1), -1)] and turns.held == 2
    turns.closed(4, (2, 3), b"\1")
    turns.closed(5, (2, 3), b"\1")
    assert [outcome for key, outcome in policy.told if key == (0, 1)] == [-1, -1, 1]


def test_what_waits_is_bounded():
    turns = made("random", in_order=False)
    key = next(k for k in ((0, 1), (1, 0)) if k != turns.asked)
    for page in range(MOST_HELD + 50):
        turns.closed(page, key, b"\1")
    assert turns.held <= MOST_HELD


@pytest.mark.parametrize("in_order", [False, True])
def test_what_waits_can_be_taken_back(in_order):
    first = walk(made("rucb", 2, in_order), 60, stream(2, "users"), lambda signs: 9)
    second = Turns(given("rucb", in_order), LivePolicy.restore("rucb", first.policy.snapshot()))
    second.wait_again(first.waiting())
    assert second.held == first.held > 0 and second.waiting() == first.waiting()


def final(name, runs, in_order, delays):
    """Return, for many runs, the pulls of arm 0 in 60 steps and the lost duels among the first twelve."""
    found = []
    for run in range(runs):
        users, late = stream(run, "users", name), stream(run, "delays")
        turns = made(name, run, in_order)
        policy = turns.policy = Watched(turns.policy)
        walk(turns, 60, users, lambda signs, late=late: delays(signs, late))
        found.append((policy.pulls(60, 4)[0], sum(np.sum(outcome) < 0 for outcome in policy.outcomes[:12])))
    return list(zip(*found, strict=True))


def same_law(first, second):
    """Return the least p-value of the two-sample tests."""
    return min(stats.ks_2samp(a, b, method="asymp").pvalue for a, b in zip(first, second, strict=True))


def some_delay(signs, rng):
    return int(rng.random() * 12)


def late_if_lost(signs, rng):
    return 0 if signs[0] == 1 else 6


@pytest.mark.long
@pytest.mark.parametrize("name", ["rucb", "interleaved_filter", "multi_self_sparring:size=3"])
@pytest.mark.parametrize("in_order, delays", [(False, some_delay), (True, some_delay), (True, late_if_lost)])
def test_delays_leave_the_law_of_the_path(name, in_order, delays):
    now = final(name, 400, False, lambda signs, rng: 0)
    late = final(name, 400, in_order, delays)
    assert same_law(now, late) > 1e-3


@pytest.mark.long
def test_a_delay_that_depends_on_the_outcome_shows_if_outcomes_are_taken_as_they_arrive():
    now = final("rucb", 300, False, lambda signs, rng: 0)
    late = final("rucb", 300, False, late_if_lost)
    assert same_law(now, late) < 1e-6


@pytest.mark.parametrize("keys", [([0, 1], [1, 2]), ([1, 2], [0, 1])])
def test_what_waits_is_written_the_same_in_whatever_order_its_rankers_came(keys):
    turns = made("random", in_order=True)
    turns.wait_again(json.dumps([[key, [[page, None]]] for page, key in enumerate(keys)]))
    assert [key for key, _ in json.loads(turns.waiting())] == [[0, 1], [1, 2]]
