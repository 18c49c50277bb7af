"""What the status page says beyond the intervals: the probability of the winner, and the bound on the regret."""

import numpy as np
import pytest

from ltr_duel.live.state import beats_all, regret_bound


def test_without_losses_the_winners_probability_is_that_of_a_uniform_prior():
    """With 3 wins and no loss, the posterior Beta(4, 1) is above 1/2 with probability 1 - 1 / 2**4."""
    assert beats_all(np.array([[0, 3], [0, 0]])) == pytest.approx([15 / 16, 1 / 16])


def test_the_regret_is_at_most_that_against_the_ranker_that_may_be_the_best():
    """The second ranker is surely worse than the first, so only the first may be the best: 10 pages at .8 / 2."""
    high = np.array([[0.0, 0.8], [-0.2, 0.0]])
    assert regret_bound(np.array([30.0, 10.0]), high) == pytest.approx(10 * 0.8 / 2)
    both = np.array([[0.0, 0.8], [0.1, 0.0]])  # the second may be the best too: 30 pages at .1 / 2
    assert regret_bound(np.array([30.0, 10.0]), both) == pytest.approx(max(10 * 0.8 / 2, 30 * 0.1 / 2))
    assert np.isnan(regret_bound(np.array([1.0, 1.0]), np.full((2, 2), -0.1)))
