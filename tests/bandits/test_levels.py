"""The largest of many Beta samples has exactly the same distribution as if all were sampled, for any threshold."""

import numpy as np
import pytest
from scipy import stats

from ltr_duel.bandits.cardinal import thompson_bandits, thompson_choose, thompson_reward, thompson_rewards
from ltr_duel.bandits.thompson import chance_above
from ltr_duel.core.random import stream

PLAYS = {  # numbers of plays with and without reward
    "nothing": ([0] * 6, [0] * 6),
    "no failures": ([3, 9, 1, 0], [0, 0, 0, 0]),
    "one ahead": ([400, 3, 2, 0, 1], [350, 9, 4, 2, 0]),
    "close": ([2000, 2040, 1990], [2000, 2000, 2000]),
}
LEVELS = (None, 0.02, 0.5, 0.98)


def bandit_after(good, bad, level=None):
    """Return a bandit after these plays, with its current threshold or a given threshold."""
    good, bad = np.array(good), np.array(bad)
    bandits = thompson_bandits(1, good.size)
    for k in range(good.size):
        for reward in np.random.default_rng(k).permutation([1] * good[k] + [0] * bad[k]):
            thompson_reward(bandits, 0, k, int(reward))
    if level is None:
        bandits.levels.patience[:] = -1
        thompson_choose(bandits, 0, 1, stream(0, "level"))
    else:
        bandits.levels.level[0] = level
        for k in range(good.size):
            chance = stats.beta.sf(level, good[k] + 1, bad[k] + 1)
            bandits.levels.chance[0, k], bandits.levels.bits[0, k] = chance, min(int(chance * 65536), 65535)
    return bandits


def law_of_largest(good, bad):
    """Pr(arm k has the largest sample), by Gauss-Legendre quadrature in pieces."""
    laws = [stats.beta(a + 1, b + 1) for a, b in zip(good, bad, strict=True)]
    cuts = np.unique([0.0, *(law.ppf(q) for law in laws for q in (1e-9, 0.01, 0.5, 0.99, 1 - 1e-9)), 1.0])
    nodes, weights = np.polynomial.legendre.leggauss(40)
    x = (cuts[:-1, None] + np.diff(cuts)[:, None] * (nodes + 1) / 2).ravel()
    w = (np.diff(cuts)[:, None] * weights / 2).ravel()
    below = np.array([law.cdf(x) for law in laws])
    return np.array([(w * law.pdf(x) * np.delete(below, k, 0).prod(0)).sum() for k, law in enumerate(laws)])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", PLAYS)
def test_a_thompson_bandit_plays_each_arm_with_the_probability_that_its_sample_is_the_largest(name, level):
    good, bad = PLAYS[name]
    expected, draws = law_of_largest(good, bad), 4000
    assert expected.sum() == pytest.approx(1, abs=1e-6)
    bandits, rng, counts = bandit_after(good, bad, level), stream(1, name, str(level)), np.zeros(len(good), int)
    bandits.levels.patience[:] = 10**9  # the level never changes
    for _ in range(draws):
        counts[thompson_choose(bandits, 0, 1, rng)] += 1
    for count, p in zip(counts, expected, strict=True):
        assert stats.binomtest(int(count), draws, min(p, 1.0)).pvalue > 1e-5, (counts, expected * draws)


@pytest.mark.parametrize("a, b", [(0, 0), (7, 0), (30, 60), (500, 20), (10**6, 10**6)])
def test_the_chance_of_a_sample_above_a_level_is_that_of_the_beta_distribution(a, b):
    log_mass = stats.binom.logpmf(a, a + b, 0.5)
    for level in (1e-6, 0.1, 0.33, 0.5, 0.5001, 0.9, 1 - 1e-6):
        expected = stats.beta.sf(level, a + 1, b + 1)
        assert chance_above(level, a, b, log_mass) == pytest.approx(expected, rel=1e-7, abs=1e-12)


def rewards_at_once(bandits, bandit, arm, reward):
    thompson_rewards(bandits, bandit, arm, 7 * reward, 2 - reward)


@pytest.mark.parametrize("give", [thompson_reward, rewards_at_once])
def test_plays_keep_the_thompson_levels_exact(give):
    bandits, rng = bandit_after([20, 3, 0], [4, 8, 0], 0.8), np.random.default_rng(0)
    for k in rng.integers(0, 3, 600).tolist():
        give(bandits, 0, k, int(rng.random() < 0.6))
    good, bad, levels = bandits.good[0], bandits.bad[0], bandits.levels
    assert good.sum() + bad.sum() >= 635
    np.testing.assert_allclose(bandits.log_mass[0], stats.binom.logpmf(good, good + bad, 0.5), atol=1e-9)
    np.testing.assert_allclose(levels.chance[0], stats.beta.sf(0.8, good + 1, bad + 1), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(levels.bits[0, :3], np.minimum(levels.chance[0] * 65536, 65535).astype(int))
    assert not levels.bits[0, 3:].any()
