"""D-TS+: the samples behind the coins are Beta samples, and the tied candidate that would cost least is chosen."""

import numpy as np
import pytest
from scipy import stats

from ltr_duel.bandits.check import play
from ltr_duel.bandits.policies.double_thompson import cheapest_candidate, draw_row, toss_all
from ltr_duel.bandits.policy import POLICIES
from ltr_duel.core.random import stream
from tests.bandits.matrices import bradley_terry
from tests.reference.bandits.rmed import d

K = 5


def state_after(steps):
    _, policy, params = POLICIES.configure("double_thompson_plus")
    return play(policy, params, bradley_terry(K, spread=2), steps, seed=steps).state


def test_samples_drawn_on_the_side_that_was_tossed_are_beta_samples():
    (known, sample), rng, drawn = state_after(60), stream(5, "theta"), []
    known.blocked[:] = np.arange(K)  # one tied row
    for _ in range(4000):
        toss_all(known.prefer, sample, rng)
        draw_row(known.wins, known.blocked, sample, 0, 0, int(sample.score[0]), rng)
        drawn.append(sample.theta[0].copy())
        assert np.array_equal(sample.theta[0, 1:] > 0.5, sample.ahead[0, 1:] == 1)
    for j in range(1, K):
        law = stats.beta(known.wins[0, j] + 1, known.wins[j, 0] + 1)
        assert stats.kstest(np.array(drawn)[:, j], law.cdf).pvalue > 1e-4


@pytest.mark.parametrize("steps", [3, 40])
def test_of_tied_candidates_the_one_with_the_least_regret_estimate_is_chosen(steps):
    (known, sample), rng, several = state_after(steps), stream(6, "choice"), 0
    known.blocked[:] = [0, 0, 1, 0, 0]  # arm 2 is no candidate
    for _ in range(300):
        toss_all(known.prefer, sample, rng)
        np.testing.assert_array_equal(sample.score, sample.ahead.sum(axis=1))
        chosen = cheapest_candidate(known.wins, known.blocked, sample, 0, rng)
        candidates = [0, 1, 3, 4]
        most = max(sample.score[i] for i in candidates)
        tied = [i for i in candidates if sample.score[i] == most]
        several += len(tied) > 1
        zeta = sample.score / (K - 1)
        cost = {
            i: sum((max(zeta) - (zeta[i] + zeta[j]) / 2) / d(sample.theta[i, j]) for j in range(K) if j != i)
            for i in tied
            if len(tied) > 1
        }
        if cost:
            assert cost[chosen] == pytest.approx(min(cost.values()))
        else:
            assert [chosen] == tied
    assert several > 50
