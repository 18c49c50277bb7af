"""Interleaved Filter (Algorithm 1 of Wolfenfeld's survey), Beat the Mean (Yue and Joachims 2011), Condorcet SAVAGE."""

from math import ceil, inf, log, sqrt

from tests.reference.bandits.walk import Literal


class InterleavedFilter(Literal):
    def begin(self):
        self.p = None

    def select(self, t):
        if self.p is None:
            *self.p, self.x = self.shuffled(range(self.k))
            self.restart()
        if not self.p:
            return self.x, self.x
        return self.x, self.p[self.place]

    def restart(self):
        self.won, self.n, self.place = dict.fromkeys(self.p, 0), 0, 0

    def update(self, t, first, second, outcome):
        if outcome == 0:
            return
        self.won[second] += outcome > 0
        self.place += 1
        if self.place < len(self.p):
            return
        self.place, self.n = 0, self.n + 1
        c = self.radius_scale * sqrt(log(self.horizon * self.k**2) / self.n)
        phat = {x: self.won[x] / self.n for x in self.p}
        self.p = [x for x in self.p if not (phat[x] > 0.5 and phat[x] - c > 0.5)]
        better = [x for x in self.p if phat[x] < 0.5 and phat[x] + c < 0.5]
        if better:
            self.x = self.pick(better)
            self.p = [x for x in self.p if x != self.x and not (self.prune and phat[x] > 0.5)]
            self.restart()


class InTurn:
    """Random choice among items with the fewest duels: a list of these items, sampled without replacement."""

    def __init__(self, policy):
        self.policy, self.waiting = policy, []

    def draw(self, fewest):
        """``fewest`` are the tied items; the list is renewed when it is empty or outdated."""
        if not self.waiting:
            self.waiting = sorted(fewest)
        assert set(self.waiting) == set(fewest)
        place = self.waiting.index(self.policy.pick(self.waiting))
        self.waiting[place], self.waiting[-1] = self.waiting[-1], self.waiting[place]
        return self.waiting.pop()


class BeatTheMean(Literal):
    """Algorithm 1, called as in Algorithm 2."""

    def begin(self):
        self.big_n, self.active, self.records = inf, list(range(self.k)), []
        self.turn, self.done = InTurn(self), None
        self.level = log(2 * self.horizon * self.k)
        self.factor = 1 if self.gamma == 1 else 3 * self.gamma**2

    def n(self, b):
        return sum(1 for first, _, _ in self.records if first == b)

    def phat(self, b):
        own = [won for first, _, won in self.records if first == b]
        return sum(own) / len(own) if own else 0.5

    def select(self, t):
        n = {b: self.n(b) for b in self.active}
        if len(self.active) == 1 or min(n.values()) >= self.big_n:
            best = max(self.active, key=lambda b: (self.phat(b), -b))  # line 23
            self.done = True
            return best, best
        b = self.turn.draw([b for b in self.active if n[b] == min(n.values())])  # line 11
        return b, self.pick(self.active)  # line 12

    def update(self, t, b, x, outcome):
        if self.done:
            return
        self.records.append((b, x, (outcome or self.coin()) > 0))  # lines 13 and 14
        fewest = min(self.n(a) for a in self.active)
        c = self.factor * sqrt(self.level / fewest) if fewest else 1
        phat = {a: self.phat(a) for a in self.active}
        if min(phat.values()) + c <= max(phat.values()) - c:  # line 16
            worst = self.pick([a for a in self.active if phat[a] == min(phat.values())])  # line 17
            self.records = [r for r in self.records if worst not in r[:2]]  # line 18
            self.active.remove(worst)  # line 19
            self.turn.waiting = []


class BeatTheMeanPac(BeatTheMean):
    """Algorithm 1, called as in Algorithm 3."""

    def begin(self):
        super().begin()
        self.big_n = 1
        for _ in range(1000):  # equation (8), from below: the least solution
            inside = self.k**3 * self.big_n / self.delta
            self.big_n = max(1, ceil(36 * self.gamma**6 / self.epsilon**2 * log(inside)))
        self.level, self.factor = log(self.k**3 * self.big_n / self.delta), 3 * self.gamma**2


class Savage(Literal):
    def begin(self):
        self.active = list(range(self.k))
        self.pairs = [(i, j) for i in range(self.k) for j in range(i + 1, self.k)]
        self.n = dict.fromkeys(self.pairs, 0)
        self.served = []

    def select(self, t):
        """Return the pair with the fewest duels. Sampled pairs move to the end of the list of pairs."""
        if not self.pairs:
            return self.active[0], self.active[0]
        least = min(self.n[pair] for pair in self.pairs)
        left = sum(self.n[pair] == least for pair in self.pairs)
        assert all(self.n[pair] == least for pair in self.pairs[:left])
        place = int(self.rng.random() * left) if left > 1 else 0
        self.pairs[place], self.pairs[left - 1] = self.pairs[left - 1], self.pairs[place]
        return self.pairs[left - 1]

    def update(self, t, i, j, outcome):
        if outcome == 0:
            return
        self.count(i, j, outcome)
        self.n[i, j] += 1
        n = self.n[i, j]
        eta = log(self.k * (self.k - 1)) + log(self.horizon)
        c = sqrt((eta + log(self.horizon)) / (2 * n))
        for arm, rival in ((i, j), (j, i)):
            if self.w[arm, rival] / n + c < 0.5:
                self.active.remove(arm)
                self.pairs = [pair for pair in self.pairs if arm not in pair]
