"""RMED1, RMED2 and RMED2FH, Algorithms 1 and 2 of Komiyama et al., COLT 2015, written as one function."""

from math import ceil, inf, log

import numpy as np

from tests.reference.bandits.walk import Literal


def d(p, q=0.5):
    """Divergence between two coins."""
    return sum(x * log(x / y) for x, y in ((p, q), (1 - p, 1 - q)) if x > 0)


class Rmed1(Literal):
    def begin(self):
        self.f = self.scale * self.k**self.power
        self.plays = 0
        self.story = self.tell()

    def select(self, t):
        self.t = t
        return next(self.story)

    def update(self, t, first, second, outcome):
        self.count(first, second, outcome)
        self.plays = t

    def n(self, i, j):
        return self.w[i, j] + self.w[j, i]

    def phat(self, i, j):
        return self.w[i, j] / self.n(i, j) if self.n(i, j) else 0.5

    def losers(self, i):
        """O_i: the arms that i does not seem to beat."""
        return [j for j in range(self.k) if j != i and self.phat(i, j) <= 0.5]

    def divergence(self, i):
        """I_i."""
        return sum(self.n(i, j) * d(self.phat(i, j)) for j in self.losers(i))

    def tell(self):
        yield from self.first_duels()
        l_c = list(range(self.k))
        while True:
            yield from self.forced_duels()
            l_r, l_n = list(l_c), []
            for arm in l_c:
                yield arm, self.opponent(arm)
                l_r.remove(arm)
                divergences = [self.divergence(j) for j in range(self.k)]
                for j in range(self.k):
                    small = divergences[j] - min(divergences) <= log(self.plays) + self.f
                    if j not in l_r and j not in l_n and small:
                        l_n.append(j)
            l_c = l_n

    def first_duels(self):
        for i in range(self.k):
            for j in range(i + 1, self.k):
                yield i, j

    def forced_duels(self):
        return ()

    def winner(self):
        """i*."""
        divergences = np.array([self.divergence(i) for i in range(self.k)])
        return self.pick(np.flatnonzero(divergences <= divergences.min() + 1e-9))

    def opponent(self, arm):
        return self.default_opponent(arm, self.winner())

    def default_opponent(self, arm, winner):
        losers = self.losers(arm)
        if winner in losers or not losers:
            return winner
        least = min(self.phat(arm, j) for j in range(self.k) if j != arm)
        return self.pick([j for j in range(self.k) if j != arm and self.phat(arm, j) == least])


class Rmed2(Rmed1):
    def forced_duels(self):
        found = self.k > 1
        while found:
            found = False
            for i in range(self.k):
                for j in range(i + 1, self.k):
                    while self.plays + 1 >= 3 and self.n(i, j) < self.alpha * log(log(self.plays + 1)):
                        found = True
                        yield i, j

    def opponent(self, arm):
        winner = self.winner()
        return self.prudent_opponent(arm, winner, self.cheapest(arm, winner))

    def cheapest(self, arm, winner):
        """b_l; None where no arm seems to beat this one."""

        def gap(j):
            return self.phat(winner, j) - 0.5

        best, cost = None, inf
        for j in range(self.k):
            if j != arm and self.phat(arm, j) < 0.5:
                here = (gap(arm) + gap(j)) / d(self.phat(arm, j))
                if here < cost:
                    best, cost = j, here
        return best

    def prudent_opponent(self, arm, winner, b):
        loglog = log(log(self.t)) if self.t >= 3 else -inf
        often = loglog > 0 and b is not None and self.n(arm, winner) >= self.n(arm, b) / loglog
        if b in self.losers(arm) and often:
            return b
        return self.default_opponent(arm, winner)


class Rmed2fh(Rmed2):
    def first_duels(self):
        for _ in range(max(1, ceil(self.alpha * log(log(self.horizon))))):
            yield from super().first_duels()

    def forced_duels(self):
        if not hasattr(self, "b"):
            winner = self.winner()
            self.b = [self.cheapest(arm, winner) for arm in range(self.k)]
        return ()

    def opponent(self, arm):
        return self.prudent_opponent(arm, self.winner(), self.b[arm])
