"""D-TS+: the samples behind the coins are Beta samples, and the tied candidate with the least cost is chosen."""

import numpy as np
import pytest
from scipy import stats

from ltr_duel.bandits.check import play
from ltr_duel.bandits.policies.double_thompson import cheapest_candidate, draw_row, is_ahead, toss_all
from ltr_duel.bandits.policy import POLICIES
from ltr_duel.core.random import stream
from tests.bandits.matrices import bradley_terry
from tests.reference.bandits.rmed import d

K = 5


def state_after(steps):
    return play(POLICIES.configure("double_thompson_plus"), bradley_terry(K, spread=2), steps, seed=steps).state


def toss(state, rng):
    """Sample all pairs; return which arm leads each pair, and each arm's wins, which determine its losses."""
    toss_all(state.tournament, state.known.prefer, state.sample.ahead, rng)
    ahead = np.array([[i != j and is_ahead(state.sample.ahead, i, j) for j in range(K)] for i in range(K)])
    assert (ahead + ahead.T + np.eye(K, dtype=int) == 1).all()
    np.testing.assert_array_equal(state.tournament.lost[:K], K - 1 - ahead.sum(axis=1))
    return ahead, ahead.sum(axis=1)


def test_samples_drawn_on_the_side_that_was_tossed_are_beta_samples():
    state, rng, drawn = state_after(60), stream(5, "theta"), []
    wins, sample = state.known.wins, state.sample
    for _ in range(4000):
        ahead, _ = toss(state, rng)
        sample.cost[:] = [0.0, *[np.inf] * (K - 1)]  # costs with a single tied row
        draw_row(wins, sample, 0, rng)
        drawn.append(sample.theta[0].copy())
        assert np.array_equal(sample.theta[0, 1:] > 0.5, ahead[0, 1:])
    for j in range(1, K):
        law = stats.beta(wins[0, j] + 1, wins[j, 0] + 1)
        assert stats.kstest(np.array(drawn)[:, j], law.cdf).pvalue > 1e-4


@pytest.mark.parametrize("steps", [3, 40])
def test_of_tied_candidates_the_one_with_the_least_regret_estimate_is_chosen(steps):
    state, rng, several = state_after(steps), stream(6, "choice"), 0
    known, sample = state.known, state.sample
    known.blocked[:] = [0, 0, 1, 0, 0]  # arm 2 is no candidate
    for _ in range(300):
        ahead, score = toss(state, rng)
        chosen = cheapest_candidate(known.wins, known.blocked, state.tournament.lost, sample, 0, rng)
        candidates = [0, 1, 3, 4]
        most = max(score[i] for i in candidates)
        tied = [i for i in candidates if score[i] == most]
        several += len(tied) > 1
        theta, zeta = sample.theta, score / (K - 1)
        cost = {
            i: sum((max(zeta) - (zeta[i] + zeta[j]) / 2) / d(theta[i, j]) for j in range(K) if j != i)
            for i in tied
            if len(tied) > 1
        }
        if cost:
            assert all(
                (theta[i, j] > 0.5) == ahead[i, j] and theta[i, j] == 1 - theta[j, i]
                for i in tied
                for j in cost
                if i < j
            )
            assert cost[chosen] == pytest.approx(min(cost.values()))
        else:
            assert [chosen] == tied
    assert several > 50
