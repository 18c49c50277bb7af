"""The common parts of the reference policies: their interface, their samples, and the walk through a problem."""

import numpy as np

from ltr_duel.core.random import stream


class Literal:
    """A policy over ``self.k`` arms. Subclasses add `begin`, `select` and `update`."""

    def __init__(self, k, params, horizon, rng):
        self.k, self.rng, self.horizon = k, rng, horizon
        self.w = np.zeros((k, k), dtype=int)
        self.__dict__.update(params._asdict())
        self.begin()

    def begin(self):
        pass

    def count(self, first, second, outcome):
        if outcome > 0:
            self.w[first, second] += 1
        elif outcome < 0:
            self.w[second, first] += 1

    def update(self, t, first, second, outcome):
        self.count(first, second, outcome)

    def pick(self, options):
        """One of several at random; a single one without a draw."""
        options = list(options)
        if len(options) == 1:
            return int(options[0])
        return int(options[int(self.rng.random() * len(options))])

    def argmax(self, values):
        values = np.asarray(values)
        return self.pick(np.flatnonzero(values == values.max()))

    def argmin(self, values):
        return self.argmax(-np.asarray(values))

    def shuffled(self, values):
        values = list(values)
        for last in range(len(values) - 1, 0, -1):
            other = int(self.rng.random() * (last + 1))
            values[last], values[other] = values[other], values[last]
        return values

    def coin(self):
        return 1 if self.rng.random() < 0.5 else -1


def upper_bounds(w, alpha, log_t):
    """u_ij = w_ij / n_ij + sqrt(alpha ln t / n_ij), x/0 := 1, u_ii = 1/2."""
    n = w + w.T
    u = np.where(n > 0, w / np.maximum(n, 1) + np.sqrt(alpha * log_t / np.maximum(n, 1)), 2.0)
    np.fill_diagonal(u, 0.5)
    return u


def walk(kind, params, p, steps, seed, horizon=None):
    """Return the pairs of a reference policy of duels, from the streams of `ltr_duel.bandits.check.play`."""
    rng, coins = stream(seed, "policy"), stream(seed, "coins")
    policy = kind(len(p), params, horizon or steps, rng)
    path = np.zeros((steps, 2), dtype=int)
    for t in range(1, steps + 1):
        first, second = policy.select(t)
        outcome = 0
        if first != second:
            outcome = 1 if coins.random() < p[first, second] else -1
        policy.update(t, first, second, outcome)
        path[t - 1] = first, second
    return path


def walk_slates(kind, params, p, steps, seed):
    """Return, for each step, how often each arm was in the slate."""
    rng, coins = stream(seed, "policy"), stream(seed, "coins")
    policy = kind(len(p), params, steps, rng)
    path = np.zeros((steps, len(p)), dtype=int)
    for t in range(1, steps + 1):
        slate = policy.select(t)
        for a in range(len(slate)):
            for b in range(a + 1, len(slate)):
                policy.compared(slate[a], slate[b], 1 if coins.random() < p[slate[a], slate[b]] else -1)
        for arm in slate:
            path[t - 1, arm] += 1
    return path
