"""Preference matrices for tests."""

import numpy as np


def bradley_terry(n_arms, spread=1.5):
    """Return the matrix of arms with evenly spaced utilities from ``spread`` to 0, by the logistic link."""
    utility = np.linspace(spread, 0.0, n_arms)
    return 1 / (1 + np.exp(utility - utility[:, None]))


def cycle(n_arms, p=0.7):
    """Every arm beats the next half of the others around a circle: no Condorcet winner."""
    ahead = (np.arange(n_arms) - np.arange(n_arms)[:, None]) % n_arms
    matrix = np.where(ahead <= (n_arms - 1) // 2, p, 1 - p)
    matrix[np.arange(n_arms), np.arange(n_arms)] = 0.5
    if n_arms % 2 == 0:
        matrix[ahead == n_arms // 2] = 0.5
    return matrix
