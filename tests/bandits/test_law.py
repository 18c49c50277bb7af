"""Policies that sample coins instead of Beta samples have the distribution of their papers, choice by choice."""

import itertools
from copy import deepcopy

import numpy as np
import pytest
from scipy import stats

from ltr_duel.bandits.check import play
from ltr_duel.bandits.compiling import plain_text
from ltr_duel.bandits.policy import POLICIES
from ltr_duel.core.random import stream
from tests.bandits.matrices import bradley_terry
from tests.reference.bandits.thompson import DoubleThompson, MergeDts, Rcs

LITERAL = {"rcs": Rcs, "double_thompson": DoubleThompson, "merge_dts": MergeDts}
WINS = {  # states in which each rule matters
    "no duels": np.zeros((3, 3), int),
    "each loses to one other": np.array([[0, 3, 0], [0, 0, 3], [3, 0, 0]]),
    "a known loser": np.array([[0, 2, 3], [1, 0, 4], [0, 0, 0]]),
    "a known winner": np.array([[0, 6, 7, 5], [1, 0, 3, 2], [0, 2, 0, 2], [1, 2, 2, 0]]),
}


def state_after(text, wins):
    """Return the state of a policy when these duels have been won."""
    _, policy, params = POLICIES.configure(text)
    state, update = policy.init(len(wins), 0, params), plain_text(policy.update)
    for (i, j), count in np.ndenumerate(wins):
        for _ in range(count):
            update(state, params, 1, i, j, 1, None)
    return state


def wins_in(state):
    return getattr(state, "known", state).wins


def require_literal_law(text, state, t):
    """Chi-square test of the choices of `select` and of the reference policy in one state; rare pairs are pooled."""
    _, policy, params = POLICIES.configure(text)
    n_arms, draws, rng = len(wins_in(state)), 1500, stream(1, "fast")
    select, counts = plain_text(policy.select), np.zeros((2, n_arms, n_arms))
    literal = LITERAL[text](n_arms, params, 0, stream(2, "literal"))
    for _ in range(draws):
        counts[0][select(deepcopy(state), params, t, rng)] += 1
        literal.w, literal.chosen = wins_in(state).copy(), getattr(state, "chosen", np.zeros(0)).copy()
        if text == "merge_dts":
            ends = state.batches.ends[: state.batches.now[0].count + 1]
            literal.batches = [list(state.batches.arms[a:b]) for a, b in itertools.pairwise(ends)]
        counts[1][literal.select(t)] += 1
    table = counts.reshape(2, -1)
    often = table.sum(axis=0) >= 20
    table = np.column_stack([table[:, often], table[:, ~often].sum(axis=1)])
    table = table[:, table.sum(axis=0) > 0]
    assert table.shape[1] == 1 or stats.chi2_contingency(table).pvalue > 1e-5, table


@pytest.mark.parametrize("name", WINS)
@pytest.mark.parametrize("text", LITERAL)
def test_choices_have_the_literal_law_after_some_wins(text, name):
    state = state_after(text, WINS[name])
    if text == "rcs":
        state.chosen[:] = [5, 2, 3, 2][: len(state.chosen)]
    require_literal_law(text, state, 5)


@pytest.mark.parametrize("text", LITERAL)
def test_choices_have_the_literal_law_after_a_run_and_coins_the_probability_of_the_posterior(text):
    state = play(POLICIES.configure(text), bradley_terry(4), 300, seed=300, plain=True).state
    require_literal_law(text, state, 301)
    wins = wins_in(state) - (text == "merge_dts")  # MergeDTS starts with one win for each arm
    np.fill_diagonal(wins, 0)
    prefer = getattr(state, "known", state).prefer
    np.testing.assert_allclose(prefer, stats.beta.sf(0.5, wins + 1, wins.T + 1), atol=1e-12)


def test_rcs_counts_every_champion_and_starts_from_the_last():
    _, policy, params = POLICIES.configure("rcs")
    state, select, rng = state_after("rcs", WINS["a known winner"]), plain_text(policy.select), stream(1, "champions")
    champions = [select(state, params, 7, rng)[0] for _ in range(50)]
    assert state.chosen.tolist() == np.bincount(champions, minlength=4).tolist()
    assert state.last[0] == champions[-1]


def test_the_arms_of_a_batch_that_meets_sit_side_by_side_however_batches_changed():
    _, policy, params = POLICIES.configure("merge_dts:batch=3,alpha=0.05,head_start=2")
    state, rng, p = policy.init(11, 0, params), stream(1, "seats"), np.triu(np.full((11, 11), 0.9), 1)
    select, update = plain_text(policy.select), plain_text(policy.update)
    most_wins, seen = select.__globals__["most_wins"], set()

    def checked(tournament, prefer, arms, *rest):
        expected = (prefer[np.ix_(arms, arms)] * 65536).astype(int)
        off = ~np.eye(arms.size, dtype=bool)
        assert (np.abs(tournament.bits[arms, : arms.size] - expected)[off] == 0).all()
        seen.add((state.batches.now[0].count, arms.size))
        return most_wins(tournament, prefer, arms, *rest)

    select.__globals__["most_wins"] = checked
    for t in range(1, 400):
        first, second = select(state, params, t, rng)
        if first != second:
            update(state, params, t, first, second, 1 if rng.random() < p[first, second] else -1, rng)
    assert len(seen) > 5, seen
