"""Over long horizons regret grows at least as fast as the lower bound, and RMED's regret about as fast."""

import numpy as np
import pytest

from ltr_duel.bandits import POLICIES, Run
from tests.bandits.matrices import bradley_terry

P = bradley_terry(5, spread=3)
EARLY, LATE = 10**4, 10**8
RUNS = 200  # the mean slope of RMED1 is then known to two percent


def lower_bound(p):
    """Komiyama et al. 2015, Theorem 1, with arm 0 the winner: regret per ln T."""
    gap, divergence = p[0] - 0.5, p * np.log(2 * p) + (1 - p) * np.log(2 * (1 - p))
    return sum(
        min((gap[i] + gap[j]) / (2 * divergence[i, j]) for j in range(len(p)) if p[i, j] < 0.5)
        for i in range(1, len(p))
    )


def slope(name, seed):
    """Return the growth of regret per unit of ln t between two late steps, without an arm's comparisons with itself."""
    run = Run.on_matrix(POLICIES[name], P, seed=seed, horizon=LATE)
    gap, regret = P[0] - 0.5, []
    for stop in (EARLY, LATE):
        run.advance(stop)
        duels = np.triu(run.state.wins + run.state.wins.T, 1)
        regret.append((duels * (gap[:, None] + gap) / 2).sum())
    return (regret[1] - regret[0]) / np.log(LATE / EARLY)


@pytest.mark.parametrize("name, most", [("rmed1", 1.2), ("rmed2", 1.2), ("rucb", np.inf)])
def test_regret_grows_no_slower_than_the_lower_bound_and_that_of_rmed_about_as_fast(name, most):
    slopes = [slope(name, seed) for seed in range(RUNS)]
    error = np.std(slopes) / np.sqrt(RUNS)
    assert lower_bound(P) - 3 * error < np.mean(slopes) < most * lower_bound(P)
