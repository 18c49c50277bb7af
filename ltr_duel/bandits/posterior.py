"""Pairwise posteriors: the probability that theta_ij exceeds 1/2, kept up to date at O(1) for each duel.

With uniform priors, a wins and b losses, ``theta_ij ~ Beta(a + 1, b + 1)``. Algorithms that only ask on which side of 1/2 a
sample falls need no Beta draw: a coin with the probability ``prefer[i, j] = Pr(theta_ij > 1/2)`` has the same law. A duel
changes it by one term,

    Pr(Beta(a + 2, b + 1) > 1/2) - Pr(Beta(a + 1, b + 1) > 1/2) = m(a + 1, b) / 2,   m(a, b) = C(a + b, a) / 2^(a + b),

and ``m(a + 1, b) = m(a, b) (a + b + 1) / (2 (a + 1))``, kept as a logarithm because it underflows.
"""

from __future__ import annotations

from math import exp, log

import numpy as np

from ltr_duel.core.arrays import FloatMatrix
from ltr_duel.core.jit import kernel


def posterior_rows(n_arms: int) -> tuple[FloatMatrix, FloatMatrix]:
    """Make prefer and log_mass (K, K) for pairs that have not met."""
    return np.full((n_arms, n_arms), 0.5), np.zeros((n_arms, n_arms))


@kernel
def record_posterior(prefer: FloatMatrix, log_mass: FloatMatrix, winner: int, loser: int, won: int, duels: int) -> None:
    """Bring the posterior of a pair up to date after a duel, of now ``duels``, that ``winner`` won, now ``won`` times."""
    low, high = min(winner, loser), max(winner, loser)
    log_mass[low, high] += log(duels / (2.0 * won))
    change = 0.5 * exp(log_mass[low, high])
    prefer[winner, loser] += change
    prefer[loser, winner] -= change


@kernel
def beats(prefer: FloatMatrix, i: int, j: int, rng: np.random.Generator) -> bool:
    """Toss whether theta_ij > 1/2."""
    return rng.random() < prefer[i, j]
