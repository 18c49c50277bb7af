"""With outcomes in batches or with a delay, choices equal the choices of a slow loop that copies whole policies."""

from __future__ import annotations

import copy
from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ltr_duel.bandits import POLICIES, Lateness, MatrixOracle, Policy, PolicyError, Run, new_recorder
from ltr_duel.core import Streams, stream

NAMES = POLICIES.names()
UTILITY = np.linspace(0.3, 0.0, 4)
P = np.clip(0.5 + UTILITY[:, None] - UTILITY, 0.05, 0.95)


class Slow:
    """A policy, driven as the module describes: whole copies, and a dictionary of outcomes."""

    def __init__(self, policy: Policy, steps: int, seed: int) -> None:
        self.policy, self.params, self.slates = policy, policy.params(), policy.feedback == "slate"
        self.state = policy.init(4, steps if policy.needs_horizon else 0, self.params)
        self.rng, self.coins, self.others = (stream(seed, name) for name in ("policy", "coins", "others"))

    def ask(self, state: Any, t: int, rng: Any) -> tuple[int, ...]:
        if not self.slates:
            return tuple(map(int, self.policy.select(state, self.params, t, rng)))
        slate = np.zeros(4, np.int64)
        return tuple(slate[: self.policy.select(state, self.params, t, slate, rng)].tolist())

    def answer(self, arms: tuple[int, ...]) -> Any:
        if not self.slates:
            return 0 if arms[0] == arms[1] else 1 if self.coins.random() < P[arms] else -1
        won = np.zeros((4, 4), np.int8)
        for a in range(len(arms)):
            for b in range(a + 1, len(arms)):
                won[a, b] = 1 if self.coins.random() < P[arms[a], arms[b]] else -1
        return won

    def tell(self, t: int, arms: tuple[int, ...], outcome: Any) -> None:
        given: tuple[Any, ...] = arms
        if self.slates:
            given = np.array([*arms, *[0] * (4 - len(arms))]), len(arms)
        self.policy.update(self.state, self.params, t, *given, outcome, self.rng)

    def path(self, steps: int, batch: int, delay: int) -> list[tuple[int, ...]]:
        path, outcomes = list[tuple[int, ...]](), list[Any]()
        told, clock, pending, fresh, before = 0, 1, (), False, None
        waiting: dict[tuple[int, ...], list[int]] = defaultdict(list)

        def ask_unless_pending() -> None:
            nonlocal before, pending, fresh
            if not pending:
                before = copy.deepcopy(self.state)
                pending, fresh = self.ask(self.state, clock, self.rng), True

        for t in range(1, steps + 1):
            if self.policy.any_order:
                path.append(self.ask(self.state, t, self.rng))
            else:
                ask_unless_pending()
                path.append(pending if fresh else self.ask(copy.deepcopy(before), clock, self.others))
                fresh = False
            outcomes.append(self.answer(path[-1]))
            arrived = max(t - delay, 0) // batch * batch
            for step in range(told, arrived):
                if self.policy.any_order:
                    self.tell(step + 1, path[step], outcomes[step])
                else:
                    waiting[path[step]].append(outcomes[step])
            told = arrived
            while any(waiting.values()):
                ask_unless_pending()
                line = waiting[pending]
                if not line:
                    break
                wins = sum(outcome > 0 for outcome in line)
                outcome = line[0]
                if wins not in (0, len(line)):
                    outcome = 1 if int(self.others.random() * len(line)) < wins else -1
                line.remove(outcome)
                self.tell(clock, pending, outcome)
                clock, pending = clock + 1, ()
        return path


def fast_path(policy: Policy, steps: int, late: tuple[int, int] | None, *, plain: bool = True) -> list[Any]:
    """Take the same steps in the loop, in two parts."""
    lateness = late and Lateness(*late, stream(3, "others"))
    run = Run.on_matrix(policy, P, seed=3, horizon=steps, keep=steps, plain=plain, late=lateness)
    run.advance(steps // 2, jump=False)
    run.advance(steps, jump=False)
    return run.path.tolist()


def slow_path(policy: Policy, steps: int, late: tuple[int, int]) -> list[Any]:
    path = Slow(policy, steps, 3).path(steps, *late)
    return [np.bincount(arms, minlength=4).tolist() if policy.feedback == "slate" else list(arms) for arms in path]


@pytest.mark.parametrize("name", NAMES)
def test_late_outcomes_lead_to_the_steps_of_the_slow_loop(name: str) -> None:
    policy, steps = POLICIES[name], 150
    assert fast_path(policy, steps, (1, 0)) == fast_path(policy, steps, None)
    for late in ((7, 3), (1, 5)):
        assert fast_path(policy, steps, late) == slow_path(policy, steps, late)


@pytest.mark.parametrize("name", ["rucb", "interleaved_filter", "multi_self_sparring"])
def test_the_compiled_delayed_loop_takes_late_outcomes(name: str) -> None:
    assert fast_path(POLICIES[name], 400, (7, 3), plain=False) == slow_path(POLICIES[name], 400, (7, 3))


def test_a_policy_of_sets_needs_any_order_for_late_outcomes() -> None:
    with pytest.raises(PolicyError, match="policy 'mdb' compares sets, and needs any_order=True for late outcomes"):
        fast_path(replace(POLICIES["mdb"], any_order=False), 10, (7, 0))


@pytest.mark.parametrize("name", ["rucb", "interleaved_filter", "mdb"])  # pairs in any order and in turn, and sets
@pytest.mark.parametrize("late", [(7, 0), (50, 13)])
def test_jumps_change_no_counts(name: str, late: tuple[int, int]) -> None:
    p = np.where(np.arange(3)[:, None] < np.arange(3), 0.95, 0.05)
    np.fill_diagonal(p, 0.5)
    recorded = []
    for jump in (False, True):
        counts, coins, policy = new_recorder(3, [10, 300, 2000, 5000]), stream(2, "coins"), POLICIES[name]
        streams, lateness = Streams(stream(2, "policy"), *[coins] * 4), Lateness(*late, stream(2, "others"))
        run = Run(policy, policy.params(), 3, MatrixOracle(p), streams, counts, horizon=5000, late=lateness)
        run.advance(5000, jump=jump)
        recorded.append((counts, run.decisions))
    (slow, every), (fast, some) = recorded
    assert every == 5000 > some
    assert [np.array_equal(a, b) for a, b in zip(slow[3:9], fast[3:9], strict=True)] == [True] * 6


@pytest.mark.parametrize("name", [name for name in NAMES if POLICIES[name].any_order])
def test_the_order_of_outcomes_does_not_matter_where_a_policy_says_so(name: str) -> None:
    """Outcomes in two orders give one distribution of choices; 4,000 choices each, 5 standard errors."""
    policy, n_arms, shares = POLICIES[name], 3, []
    params, rng, slates = policy.params(), stream(1, "outcomes"), policy.feedback == "slate"
    pairs = [(int(a), int(b)) for a, b in rng.integers(0, n_arms, (90, 2)) if a < b or (a != b and not slates)]
    told = [(pair, int(sign)) for pair, sign in zip(pairs, rng.choice([-1, 1], len(pairs), p=[0.4, 0.6]), strict=True)]
    for seed in (1, 2):
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
                first, second = policy.select(state, params, len(told) + 1, own)
                found.append(np.eye(n_arms * n_arms)[first * n_arms + second])
        shares.append((np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(4000)))
    (mean, error), (other, other_error) = shares
    assert (np.abs(mean - other) <= 5 * np.hypot(error, other_error) + 2e-3).all()
