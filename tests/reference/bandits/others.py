"""Winner Stays (Chen and Frazier 2017), CCB (Zoghi et al. 2015), Versatile-DB (Saha and Gaillard 2022).

DKWT (Haddenhorst et al. 2021), Beat the Winner Reset and Monitored Dueling Bandits (Kolpaczki et al. 2024).
"""

from math import ceil, floor, log, pi, sqrt

import numpy as np
from scipy.optimize import brentq

from ltr_duel.bandits.policies.rucb import Params as RucbParams
from tests.reference.bandits.rucb import Rucb
from tests.reference.bandits.walk import Literal, upper_bounds


class WinnerStays(Literal):
    def begin(self):
        self.c, self.previous = [0] * self.k, ()
        self.round, self.exploit = 1, 0

    def best(self, arms):
        ties = [i for i in arms if self.c[i] == max(self.c[j] for j in arms)]
        for i in self.previous:
            if i in ties:
                return i
        return self.pick(ties)

    def select(self, t):
        i = self.best(list(range(self.k)))
        return i, self.best([j for j in range(self.k) if j != i])

    def update(self, t, i, j, outcome):
        self.c[i] += outcome
        self.c[j] -= outcome
        self.previous = (i, j)


class WinnerStaysStrong(WinnerStays):
    def select(self, t):
        if self.exploit:
            best = int(np.argmax(self.c))
            return best, best
        return super().select(t)

    def update(self, t, i, j, outcome):
        if self.exploit:
            self.exploit -= 1
            return
        super().update(t, i, j, outcome)
        level = self.round
        if sorted(self.c) == [-level] * (self.k - 1) + [level * (self.k - 1)]:
            self.exploit = floor(self.beta**level)
            self.round += 1


class Ccb(Literal):
    def begin(self):
        self.reset()

    def reset(self):
        self.b, self.limit = set(range(self.k)), self.k
        self.better = {i: set() for i in range(self.k)}

    def select(self, t):
        arms = range(self.k)
        u = upper_bounds(self.w, self.alpha, log(t))  # line 7
        lo = 1 - u.T
        upper = [sum(u[i, j] >= 0.5 for j in arms if j != i) for i in arms]  # line 8
        lower = [sum(lo[i, j] > 0.5 for j in arms if j != i) for i in arms]
        c_t = [i for i in arms if upper[i] == max(upper)]  # line 9
        if any(lo[i, j] > 0.5 for i in arms for j in self.better[i]):  # line 10 A
            self.reset()
        for i in sorted(self.b):  # line 10 B
            if upper[i] < max(lower):
                self.b.remove(i)
                if len(self.better[i]) != self.limit + 1:
                    self.better[i] = {k for k in arms if u[i, k] < 0.5}
        if not self.b:
            self.reset()
        for i in c_t:  # line 10 C
            if upper[i] == lower[i]:
                self.b.add(i)
                self.limit = self.k - 1 - upper[i]
                for j in arms:
                    if j == i or len(self.better[j]) < self.limit + 1:
                        self.better[j] = set()
                    while len(self.better[j]) > self.limit + 1:
                        self.better[j].remove(self.pick(sorted(self.better[j])))
        pairs = [(i, j) for i in arms for j in sorted(self.better[i]) if lo[i, j] <= 0.5 <= u[i, j]]
        if pairs and self.rng.random() < 0.25:  # line 11
            return pairs[self.pick(range(len(pairs)))]
        if self.b & set(c_t) and self.rng.random() < 2 / 3:  # line 12
            c_t = [i for i in c_t if i in self.b]
        c = self.pick(c_t)  # line 13
        among = self.better[c] if self.rng.random() < 0.5 else set()  # line 14
        eligible = [j for j in sorted(among or arms) if lo[j, c] <= 0.5]
        if not eligible:
            return c, c
        ties = [j for j in eligible if u[j, c] == max(u[k, c] for k in eligible)]
        if len(ties) > 1 and c in ties:
            ties.remove(c)
        return c, self.pick(ties)


class VersatileDb(Literal):
    def begin(self):
        self.loss = np.zeros(self.k)

    def select(self, t):
        eta = self.rate / sqrt(t)

        def p(x):
            return 4 / (eta * (self.loss - x)) ** 2

        low = self.loss.min()
        if self.k == 1:
            return 0, 0
        x = brentq(lambda x: p(x).sum() - 1, low - 2 * sqrt(self.k) / eta - 1e-9, low - 2 / eta, xtol=1e-13)
        self.p, self.b = p(x), np.where(p(x) >= eta**2, 0.5, 0.0)
        return self.draw(), self.draw()

    def draw(self):
        return min(int(np.searchsorted(np.cumsum(self.p), self.rng.random(), side="right")), self.k - 1)

    def update(self, t, first, second, outcome):
        left_lost = (outcome or self.coin()) < 0
        for arm, loss in ((first, left_lost), (second, not left_lost)):
            estimate = self.b.copy()
            estimate[arm] += (loss - self.b[arm]) / self.p[arm]
            self.loss += estimate / 2


class Dkwt(Literal):
    """The authors' functions algo_1 (one stage), algo_2 (a match) and DKWT, as a generator of pairs."""

    def begin(self):
        self.answer = 0 if self.k == 1 else None
        self.duels = self.tournament()
        self.pair = next(self.duels, (0, 0))

    def stage(self, i, j, error, h):
        wins = []
        for _ in range(ceil(8 * log(4 / error) / h**2)):
            wins.append((yield i, j) > 0)
        share = sum(wins) / len(wins)
        if share > 1 - share + h:
            return i
        return j if 1 - share > share + h else None

    def match(self, i, j, error):
        s, winner = 1, None
        while winner is None:
            winner = yield from self.stage(i, j, 6 * error / (pi**2 * s**2), 2 ** (-s - 1))
            s += 1
        return winner

    def tournament(self):
        champion = 0
        for challenger in range(1, self.k):
            champion = yield from self.match(champion, challenger, self.delta / self.k)
        self.answer = champion

    def select(self, t):
        return self.pair

    def update(self, t, i, j, outcome):
        if self.answer is None:
            try:
                self.pair = self.duels.send(outcome)
            except StopIteration:
                self.pair = self.answer, self.answer


class BeatTheWinnerReset(Literal):
    def begin(self):
        self.queue = list(range(self.k))
        self.incumbent, self.challenger = self.queue.pop(0), self.queue.pop(0)
        self.round, self.won = 1, {self.incumbent: 0, self.challenger: 0}

    def select(self, t):
        return self.incumbent, self.challenger

    def update(self, t, i, j, outcome):
        winner, loser = (i, j) if outcome > 0 else (j, i)
        self.won[winner] += 1
        if self.won[winner] == self.round:
            self.round = 1 if loser == self.incumbent else self.round + 1
            self.queue.append(loser)
            self.incumbent, self.challenger = winner, self.queue.pop(0)
            self.won = {self.incumbent: 0, self.challenger: 0}


class MonitoredRucb(Literal):
    """The authors' MonitoredDuelingBandits around the reference of RUCB."""

    def begin(self):
        self.pairs = [(i, j) for i in range(self.k) for j in range(i + 1, self.k)]
        c = max(1, log((4 * self.horizon + 2) * sqrt(self.horizon) / (sqrt(self.segments) * self.k)))
        w = ceil(8 * c / self.gap**2)
        self.w = w + w % 2
        self.b = sqrt(self.w * c / 2)
        gamma = sqrt(self.segments * self.w / self.horizon) * (self.k - 1) / 2
        self.divisor = max(len(self.pairs) + 1, int(len(self.pairs) / gamma))
        self.restart()

    def restart(self):
        self.t, self.seen = 0, {pair: [] for pair in self.pairs}
        self.rucb = Rucb(self.k, RucbParams(self.alpha), self.horizon, self.rng)

    def select(self, t):
        self.t += 1
        r = (self.t - 1) % self.divisor
        self.detect = r < len(self.pairs)
        return self.pairs[r] if self.detect else self.rucb.select(self.t)

    def update(self, t, i, j, outcome):
        self.rucb.update(self.t, i, j, outcome)
        if self.detect:
            seen, half = self.seen[i, j], self.w // 2
            seen.append(outcome > 0)
            if len(seen) >= self.w and abs(sum(seen[-half:]) - sum(seen[-self.w : -half])) > self.b:
                self.restart()
