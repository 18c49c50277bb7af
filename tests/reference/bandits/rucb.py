"""RUCB, Algorithm 1 of Zoghi et al., ICML 2014: in the arXiv form, and as printed, with the hypothesised best arm."""

from math import log

import numpy as np

from tests.reference.bandits.walk import Literal, upper_bounds


class Rucb(Literal):
    def begin(self):
        self.w[:] = self.prior_wins
        self.best = set()

    def champion(self, candidates):
        if not self.hypothesis:
            return self.pick(candidates) if len(candidates) else self.pick(range(self.k))  # line 5
        if not candidates:
            self.best = set()
            return self.pick(range(self.k))
        self.best &= set(candidates)
        if len(candidates) == 1:
            self.best = set(candidates)
            return candidates[0]
        if not self.best:
            return self.pick(candidates)
        (b,) = self.best
        if self.rng.random() < 0.5:
            return b
        return self.pick([c for c in candidates if c != b])

    def select(self, t):
        u = upper_bounds(self.w, self.alpha, log(t))  # lines 3 and 4
        c = self.champion([i for i in range(self.k) if (u[i] >= 0.5).all()])
        ties = list(np.flatnonzero(u[:, c] == u[:, c].max()))  # line 6
        if len(ties) > 1 and c in ties:
            ties.remove(c)
        return c, self.pick(ties)
