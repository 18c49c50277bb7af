"""With outcomes in batches or with a delay, choices equal the choices of a slow loop that copies whole policies."""

from __future__ import annotations

import copy
from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ltr_duel.bandits import POLICIES, MatrixOracle, Policy, PolicyError, Run, new_recorder
from ltr_duel.bandits.delayed import Lateness
from ltr_duel.core import Streams, stream

NAMES = POLICIES.names()
LATE = [(1, 0), (7, 0), (1, 5), (50, 13)]


def matrix(n_arms: int) -> Any:
    """Make a matrix with a winner and some noise."""
    utility = np.linspace(0.3, 0.0, n_arms)
    return np.clip(0.5 + utility[:, None] - utility, 0.05, 0.95)


def slow_path(policy: Policy, p: Any, steps: int, batch: int, delay: int, seed: int) -> list[tuple[int, ...]]:
    """Take the steps of a policy as the module describes, with copies of the policy and a dictionary of outcomes."""
    params = policy.params()
    state = policy.init(len(p), steps if policy.needs_horizon else 0, params)
    rng, coins, others = stream(seed, "policy"), stream(seed, "coins"), stream(seed, "others")
    slates = policy.feedback == "slate"

    def ask(state: Any, t: int, rng: Any) -> tuple[int, ...]:
        if not slates:
            return tuple(map(int, policy.select(state, params, t, rng)))
        slate = np.zeros(len(p), np.int64)
        return tuple(slate[: policy.select(state, params, t, slate, rng)].tolist())

    def answer(arms: tuple[int, ...]) -> Any:
        if not slates:
            return 0 if arms[0] == arms[1] else 1 if coins.random() < p[arms] else -1
        won = np.zeros((len(p), len(p)), np.int8)
        for a in range(len(arms)):
            for b in range(a + 1, len(arms)):
                won[a, b] = 1 if coins.random() < p[arms[a], arms[b]] else -1
        return won

    def tell(t: int, arms: tuple[int, ...], outcome: Any) -> None:
        if not slates:
            return policy.update(state, params, t, *arms, outcome, rng)
        slate = np.zeros(len(p), np.int64)
        slate[: len(arms)] = arms
        return policy.update(state, params, t, slate, len(arms), outcome, rng)

    path: list[tuple[int, ...]] = []
    outcomes: list[Any] = []
    told, clock, asked, fresh, before = 0, 1, (), False, None
    waiting: dict[tuple[int, ...], list[Any]] = defaultdict(list)
    for t in range(1, steps + 1):
        if policy.any_order:
            path.append(ask(state, t, rng))
        else:
            if not asked:
                before = copy.deepcopy(state)
                asked, fresh = ask(state, clock, rng), True
            path.append(asked if fresh else ask(copy.deepcopy(before), clock, others))
            fresh = False
        outcomes.append(answer(path[-1]))
        known = max(t - delay, 0) // batch * batch
        for step in range(told, known):
            if policy.any_order:
                tell(step + 1, path[step], outcomes[step])
            else:
                waiting[path[step]].append(outcomes[step])
        told = known
        while any(waiting.values()):
            if not asked:
                before = copy.deepcopy(state)
                asked, fresh = ask(state, clock, rng), True
            if not waiting[asked]:
                break
            line = waiting[asked]
            wins = [one for one in line if one > 0]
            if len(wins) in (0, len(line)):
                outcome = line.pop(0)
            else:
                outcome = 1 if int(others.random() * len(line)) < len(wins) else -1
                line.remove(outcome)
            tell(clock, asked, outcome)
            clock, asked = clock + 1, ()
    return path


def fast_path(
    policy: Policy, p: Any, steps: int, batch: int, delay: int, seed: int, *, jump: bool = True, plain: bool = False
) -> list[tuple[int, ...]]:
    """Take the same steps in the loop, in two parts."""
    late = Lateness(batch, delay, stream(seed, "others"))
    run = Run.on_matrix(policy, p, seed=seed, horizon=steps, keep=steps, plain=plain, late=late)
    run.advance(steps // 2, jump=jump)
    run.advance(steps, jump=jump)
    return [tuple(row) for row in run.path.tolist()]


def require_slow_path(policy: Policy, steps: int, batch: int, delay: int, *, plain: bool) -> None:
    p = matrix(4)
    slow = slow_path(policy, p, steps, batch, delay, 3)
    if policy.feedback == "slate":
        slow = [tuple(np.bincount(arms, minlength=4).tolist()) for arms in slow]
    assert fast_path(policy, p, steps, batch, delay, 3, jump=False, plain=plain) == slow


@pytest.mark.parametrize(("batch", "delay"), LATE)
@pytest.mark.parametrize("name", NAMES)
def test_the_loop_takes_the_steps_of_the_slow_one(name: str, batch: int, delay: int) -> None:
    require_slow_path(POLICIES[name], 150, batch, delay, plain=True)


def test_sets_are_not_learned_in_turn() -> None:
    with pytest.raises(PolicyError, match="policy 'mdb' compares sets, and needs any_order=True for late outcomes"):
        fast_path(replace(POLICIES["mdb"], any_order=False), matrix(4), 10, 7, 0, 3)


@pytest.mark.parametrize("name", ["rucb", "interleaved_filter", "multi_self_sparring"])
def test_compiled_it_takes_them_too(name: str) -> None:
    require_slow_path(POLICIES[name], 400, 7, 3, plain=False)


@pytest.mark.long
@pytest.mark.parametrize(("batch", "delay"), LATE)
@pytest.mark.parametrize("name", NAMES)
def test_compiled_all_policies_take_them(name: str, batch: int, delay: int) -> None:
    require_slow_path(POLICIES[name], 400, batch, delay, plain=False)


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_of_one_is_the_loop_without_batches(name: str) -> None:
    p, steps = matrix(4), 300
    run = Run.on_matrix(POLICIES[name], p, seed=9, horizon=steps, keep=steps, plain=True)
    run.advance(steps)
    assert fast_path(POLICIES[name], p, steps, 1, 0, 9, plain=True) == [tuple(row) for row in run.path.tolist()]


@pytest.mark.parametrize("name", ["rucb", "interleaved_filter", "beat_the_mean", "mdb"])
@pytest.mark.parametrize(("batch", "delay"), LATE)
def test_jumps_change_nothing(name: str, batch: int, delay: int) -> None:
    p = np.where(np.arange(3)[:, None] < np.arange(3), 0.95, 0.05)
    np.fill_diagonal(p, 0.5)
    recorded = []
    for jump in (False, True):
        counts, coins = new_recorder(3, [10, 300, 2000, 5000]), stream(2, "coins")
        streams = Streams(stream(2, "policy"), coins, coins, coins, coins)
        policy = POLICIES[name]
        late = Lateness(batch, delay, stream(2, "others"))
        run = Run(policy, policy.params(), 3, MatrixOracle(p), streams, counts, horizon=5000, late=late)
        run.advance(5000, jump=jump)
        recorded.append((counts, run.decisions))
    (slow, every), (fast, some) = recorded
    assert every == 5000 > some
    assert [np.array_equal(a, b) for a, b in zip(slow[3:9], fast[3:9], strict=True)] == [True] * 6


@pytest.mark.parametrize("name", [name for name in NAMES if POLICIES[name].any_order])
def test_the_order_of_outcomes_does_not_matter_where_a_policy_says_so(name: str) -> None:
    """Outcomes in three orders give one distribution of choices; 4,000 choices each, 5 standard errors."""
    policy, n_arms = POLICIES[name], 3
    params, rng = policy.params(), stream(1, "outcomes")
    slates = policy.feedback == "slate"
    pairs = [(int(a), int(b)) for a, b in rng.integers(0, n_arms, (90, 2)) if a < b or (a != b and not slates)]
    told = [(pair, int(sign)) for pair, sign in zip(pairs, rng.choice([-1, 1], len(pairs), p=[0.4, 0.6]), strict=True)]
    shares = []
    for seed in (1, 2, 3):
        state, own = policy.init(n_arms, 0, params), stream(seed, "policy")
        for t, k in enumerate(stream(seed, "order").permutation(len(told)), 1):
            (a, b), sign = told[k]
            if slates:
                won = np.full((n_arms, n_arms), sign, np.int8)
                policy.update(state, params, t, np.array([a, b, 0]), 2, won, own)
            else:
                policy.update(state, params, t, a, b, sign, own)
        found = []
        for _ in range(4000):
            if slates:
                slate = np.zeros(n_arms, np.int64)
                size = policy.select(state, params, len(told) + 1, slate, own)
                found.append(np.bincount(slate[:size], minlength=n_arms))
            else:
                chosen = policy.select(state, params, len(told) + 1, own)
                found.append(np.eye(n_arms * n_arms)[chosen[0] * n_arms + chosen[1]])
        shares.append((np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(4000)))
    for mean, error in shares[1:]:
        assert (np.abs(mean - shares[0][0]) <= 5 * np.hypot(error, shares[0][1]) + 2e-3).all()
