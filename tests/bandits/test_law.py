"""Policies that sample coins instead of Beta samples have the distribution of their papers, choice by choice."""

import itertools
from copy import deepcopy

import numpy as np
import pytest
from scipy import stats

from ltr_duel.bandits.check import play
from ltr_duel.bandits.policy import POLICIES
from ltr_duel.core import interpreted
from ltr_duel.core.random import stream
from tests.bandits.matrices import bradley_terry
from tests.bandits.test_choices import STATES, state_after
from tests.reference.bandits.thompson import DoubleThompson, MergeDts, Rcs
from tests.reference.bandits.walk import walk

LITERAL = {
    "rcs": Rcs,
    "double_thompson": DoubleThompson,
    "merge_dts": MergeDts,
}
K = 4


def fast_choices(text, state, t, draws, seed, n_arms=K):
    """Count the pairs that `select` chooses in one state."""
    _, policy, params = POLICIES.configure(text)
    rng, counts = stream(seed, "fast"), np.zeros((n_arms, n_arms))
    select = interpreted(policy.select)
    for _ in range(draws):
        counts[select(deepcopy(state), params, t, rng)] += 1
    return counts


def literal_choices(text, state, t, draws, seed, n_arms=K):
    """Count the pairs that the reference policy chooses in the same state."""
    _, _, params = POLICIES.configure(text)
    counts = np.zeros((n_arms, n_arms))
    literal = LITERAL[text](n_arms, params, 0, stream(seed, "literal"))
    for _ in range(draws):
        literal.w = getattr(state, "known", state).wins.copy()
        literal.chosen = getattr(state, "chosen", np.zeros(0)).copy()
        if text == "merge_dts":
            batches = state.batches
            ends = batches.ends[: batches.now[0].count + 1]
            literal.batches = [list(batches.arms[a:b]) for a, b in itertools.pairwise(ends)]
        counts[literal.select(t)] += 1
    return counts


def assert_same_law(one, other, level):
    """Chi-square test of two rows of counts; rare cells are pooled."""
    table = np.array([one.ravel(), other.ravel()])
    often = table.sum(axis=0) >= 20
    table = np.column_stack([table[:, often], table[:, ~often].sum(axis=1)])
    table = table[:, table.sum(axis=0) > 0]
    if table.shape[1] > 1:
        assert stats.chi2_contingency(table).pvalue > level, table


@pytest.mark.parametrize("steps", [3, 30, 300])
@pytest.mark.parametrize("text", LITERAL)
def test_choices_have_the_literal_law(text, steps):
    state = play(POLICIES.configure(text), bradley_terry(K), steps, seed=steps).state
    draws = 1500
    fast = fast_choices(text, state, steps + 1, draws, seed=1)
    assert_same_law(fast, literal_choices(text, state, steps + 1, draws, seed=2), level=1e-4)


@pytest.mark.parametrize("name", STATES)
@pytest.mark.parametrize("text", LITERAL)
def test_choices_have_the_literal_law_where_winners_and_losers_are_known(text, name):
    wins = STATES[name]
    state, draws = state_after(text, wins)[2], 1500
    fast = fast_choices(text, state, 5, draws, seed=3, n_arms=len(wins))
    assert_same_law(fast, literal_choices(text, state, 5, draws, seed=4, n_arms=len(wins)), level=1e-5)


@pytest.mark.long
@pytest.mark.parametrize("text", LITERAL)
def test_whole_runs_have_the_literal_law(text):
    """Compare the number of comparisons of every pair in 60 steps, over two thousand runs of each implementation."""
    given = POLICIES.configure(text)
    p, runs, steps = bradley_terry(K, spread=3), 2000, 60
    counts = np.zeros((2, runs, K, K))
    for run in range(runs):
        for side, path in enumerate(
            (
                play(given, p, steps, seed=run).path,
                walk(LITERAL[text], given.params, p, steps, seed=runs + run),
            )
        ):
            np.add.at(counts[side, run], (path[:, 0], path[:, 1]), 1)
    for i in range(K):
        for j in range(K):
            if counts[:, :, i, j].any():
                assert stats.ks_2samp(*counts[:, :, i, j], method="asymp").pvalue > 1e-5


@pytest.mark.parametrize("text", ["rcs", "double_thompson", "merge_dts"])
def test_coins_have_the_probability_of_the_posterior(text):
    state = play(POLICIES.configure(text), bradley_terry(K, spread=0.5), 3000, seed=3).state
    known = getattr(state, "known", state)
    wins = known.wins - (text == "merge_dts")  # MergeDTS starts with one win for each arm
    np.fill_diagonal(wins, 0)
    np.testing.assert_allclose(known.prefer, stats.beta.sf(0.5, wins + 1, wins.T + 1), atol=1e-12)
