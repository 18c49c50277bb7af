"""ECW-RMED (Komiyama et al., ICML 2016) by its linear program."""

from itertools import combinations
from math import log, sqrt

import numpy as np
from scipy.optimize import linprog

from tests.reference.bandits.rmed import d
from tests.reference.bandits.walk import Literal


class EcwRmed(Literal):
    def begin(self):
        self.story = self.tell()

    def select(self, t):
        self.t = t
        return next(self.story)

    def n(self, i, j):
        return self.w[i, j] + self.w[j, i]

    def d(self, i, j):
        return d(self.w[i, j] / self.n(i, j))

    def pairs(self):
        return list(combinations(range(self.k), 2))

    def forced(self):
        for i, j in self.pairs():
            n = self.n(i, j)
            close = self.beta / max(1.0, log(log(self.t)) if self.t > 2 else 1.0)
            if n == 0 or n < self.alpha * sqrt(log(self.t)) or abs(self.w[i, j] / n - 0.5) < close:
                return i, j
        return None

    def tell(self):
        l_c = self.pairs()
        while True:
            while self.forced():
                yield self.forced()
            l_r, l_n = list(l_c), []
            for i, j in l_c:
                yield i, j
                l_r.remove((i, j))
                for pair in self.wanted(max(1.0, log(self.t - 1))):
                    if pair not in l_r and pair not in l_n:
                        l_n.append(pair)
            l_c = l_n

    def wanted(self, log_t):
        self.better = {i: [j for j in range(self.k) if self.w[j, i] > self.w[i, j]] for i in range(self.k)}
        self.fewest = min(map(len, self.better.values()))
        winners = [i for i in range(self.k) if len(self.better[i]) == self.fewest]
        for i in winners:
            if all(sum(self.n(*p) * self.d(*p) for p in c) >= log_t for c in self.constraints(i)):
                return [(i, i)]
        plans = [(*self.program(i), i) for i in winners]
        least = min(cost for cost, _, _ in plans)
        _, q, best = next(plan for plan in plans if plan[0] <= least + 1e-9)
        return [pair for pair in self.pairs() if q[pair] * log_t > self.n(*pair)] + [(best, best)]

    def constraints(self, winner):
        """Return the sets of pairs over which q d must sum to at least 1."""
        for j in range(self.k):
            if winner in self.better[j]:
                yield [tuple(sorted((winner, j)))]
        for i in range(self.k):
            rivals = [j for j in self.better[i] if j != winner]
            if i != winner:
                for subset in combinations(rivals, len(self.better[i]) - self.fewest + 1):
                    yield [tuple(sorted((i, j))) for j in subset]

    def program(self, winner):
        """Return the cheapest q by sorting (the paper's lemma); a linear program must have the same cost."""
        pairs, q = self.pairs(), dict.fromkeys(self.pairs(), 0.0)
        loss = {i: len(self.better[i]) for i in range(self.k)}
        r = {(i, j): (loss[i] + loss[j] - 2 * self.fewest) / 2 for i, j in pairs}
        for j in range(self.k):
            if winner in self.better[j]:
                q[tuple(sorted((winner, j)))] = 1 / self.d(winner, j)
        for i in range(self.k):
            rivals = [j for j in self.better[i] if j != winner]
            spare = len(rivals) - (loss[i] - self.fewest + 1)
            if i == winner or spare < 0:
                continue
            cost = {j: r[tuple(sorted((i, j)))] / self.d(i, j) for j in rivals}
            rivals.sort(key=cost.get)
            h = min(range(spare + 1, len(rivals) + 1), key=lambda h: sum(cost[j] for j in rivals[:h]) / (h - spare))
            for j in rivals[:h]:
                q[tuple(sorted((i, j)))] = 1 / ((h - spare) * self.d(i, j))
        total = sum(r[pair] * q[pair] for pair in pairs)
        rows = [[-self.d(*p) if p in c else 0.0 for p in pairs] for c in self.constraints(winner)]
        if rows and (self.t < 30 or self.t % 100 == 0):
            best = linprog([r[pair] for pair in pairs], A_ub=rows, b_ub=-np.ones(len(rows)))
            assert abs(best.fun - total) <= 1e-6 * (1 + total)
        return total, q
