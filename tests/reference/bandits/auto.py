"""Auto, by its description: every probability is recomputed from the counts in each step."""

from math import log

import numpy as np
from scipy.special import betainc

from ltr_duel.core.draws import beta_draw
from tests.reference.bandits.rmed import d
from tests.reference.bandits.thompson import MultiSelfSparring
from tests.reference.bandits.walk import Literal


def above_half(won, lost):
    """Pr(Beta(won + 1, lost + 1) > 1/2)."""
    return betainc(lost + 1.0, won + 1.0, 0.5)


def rounded(value):
    return int(value * 2**30 + 0.5) / 2**30


class Auto(Literal):
    def begin(self):
        self.losses, self.misfit, self.due, self.favourite = [0] * self.k, 0.0, 0, 0

    def look(self):
        """Compute the estimates from the counts."""
        self.met, self.won = (self.w + self.w.T).sum(axis=1), self.w.sum(axis=1)
        self.rate = [(won + 1.0) / (met + 2.0) for won, met in zip(self.won, self.met, strict=True)]
        self.pooled = above_half(self.won, self.met - self.won)
        self.p = above_half(self.w, self.w.T)
        self.worst = [min((self.p[i, j] for j in range(self.k) if j != i), default=1.0) for i in range(self.k)]
        chance = [min(0.95, self.pooled[i], 8 * self.worst[i]) * (1 + 0.001 * self.rate[i]) for i in range(self.k)]
        self.doubt = np.array([rounded(1 - one) for one in chance])

    def sample(self, won, lost):
        return beta_draw(won + 1.0, lost + 1.0, self.rng)

    def sure_losses(self, i, t):
        return sum(self.p[i, j] < 0.7 / t for j in range(self.k) if j != i)

    def select(self, t):
        self.look()
        if t >= self.due:
            self.losses = [self.sure_losses(i, t) for i in range(self.k)]
            sure = [(i, j) for i in range(self.k) for j in range(self.k) if self.p[i, j] > 0.95]
            self.misfit = sum(self.rate[i] < self.rate[j] for i, j in sure) / max(len(sure), 1)
            self.due = int(1.1 * t) + 1
        if 1 - self.doubt.min() < 0.001:
            first = self.favourite = self.most_wins()
            return first, self.second(first, t)
        champion = self.argmin(self.doubt)
        challenger = self.challenger(champion)
        if challenger == champion:
            return champion, self.check(champion)
        elsewhere = self.met[challenger] - self.w[champion, challenger] - self.w[challenger, champion]
        if self.k > 2 and elsewhere < 20 and self.rng.random() < 0.15:
            return self.elsewhere(champion, challenger), challenger
        return self.telling(champion, challenger), challenger

    def challenger(self, champion):
        value = -self.met if self.rng.random() < 0.1 else self.rate
        best, arms, found = -np.inf, 0, champion
        for k in range(self.k):
            if k != champion and value[k] >= best:
                chance = min(self.pooled[k], self.p[k, champion], 8 * self.worst[k])
                if self.rng.random() < chance:
                    arms = arms + 1 if value[k] == best else 1
                    best = value[k]
                    if arms == 1 or self.rng.random() * arms < 1:
                        found = k
        return found

    def check(self, champion):
        if self.rng.random() < 0.005 + 0.2 * self.misfit:
            rival = int(self.rng.random() * self.k) if self.k > 1 else 0
            if self.p[rival, champion] >= 0.1:
                return rival
        return champion

    def elsewhere(self, champion, challenger):
        value = np.full(self.k, -1.0)
        for k in range(self.k):
            if k not in (champion, challenger):
                value[k] = self.sample(self.won[k], self.met[k] - self.won[k])
                if self.p[challenger, k] < 0.3:
                    value[k] = rounded(2 - self.p[challenger, k])
        return int(value.argmax())

    def gap(self, champion, arm):
        met = self.w[champion, arm] + self.w[arm, champion]
        return max(0.03, (self.w[champion, arm] + 1) / (met + 2) - 0.5)

    def telling(self, champion, challenger):
        own = self.gap(champion, challenger)
        met = self.w[champion, challenger] + self.w[challenger, champion]
        best, found = d(min(0.5, (self.w[challenger, champion] + 1) / (met + 2))) / own, champion
        for k in range(self.k):
            if k not in (champion, challenger) and self.p[challenger, k] < 0.1:
                met = self.w[challenger, k] + self.w[k, challenger]
                value = (log(0.5 / self.p[challenger, k]) - 1.5) / met / (own + self.gap(champion, k))
                if rounded(value) > best:
                    best, found = rounded(value), k
        return found

    def by_own_duels(self, i, j):
        return self.w[i, j] + self.w[j, i] >= 10 or self.rng.random() < 0.02 + 4 * self.misfit

    def most_wins(self):
        self.theta = [self.sample(won, met - won) for won, met in zip(self.won, self.met, strict=True)]
        candidates = [i for i in range(self.k) if self.losses[i] == min(self.losses)]
        fewest, arms, found = self.k, 0, self.favourite
        for i in sorted(candidates, key=lambda i: (i != self.favourite, i)):
            lost = 0
            for j in range(self.k):
                if j != i and lost <= fewest:
                    if self.by_own_duels(i, j):
                        lost += self.rng.random() >= self.p[i, j]
                    else:
                        lost += self.theta[i] < self.theta[j]
            if lost <= fewest:
                arms = arms + 1 if lost == fewest else 1
                fewest = lost
                if arms == 1 or self.rng.random() * arms < 1:
                    found = i
        return found

    def second(self, first, t):
        value = np.zeros(self.k)
        value[first] = 0.5
        for k in range(self.k):
            if k != first and self.p[first, k] >= 0.7 / t:
                if self.by_own_duels(k, first):
                    value[k] = self.sample(self.w[k, first], self.w[first, k])
                else:
                    value[k] = float(self.theta[k] > self.theta[first])
        best = first
        for k in range(self.k):
            best = k if value[k] > value[best] else best
        return best

    def update(self, t, first, second, outcome):
        self.count(first, second, outcome)
        if outcome:
            self.look()
            for arm in (first, second):
                self.losses[arm] = self.sure_losses(arm, t)


class AutoSets(MultiSelfSparring):
    """Outcomes arrive pair by pair; the set is complete with the last pair."""

    size = 5

    def begin(self):
        super().begin()
        self.places = min(5, self.k)
        self.pairs = []

    def compared(self, first, second, outcome):
        self.pairs.append((int(first), int(second), outcome))
        if len(self.pairs) == self.places * (self.places - 1) // 2:
            for place, (i, j, outcome) in enumerate(self.pairs):
                copies = [n for n, (a, b, _) in enumerate(self.pairs) if {a, b} == {i, j}]
                agreed = {self.pairs[n][2] if self.pairs[n][0] == i else -self.pairs[n][2] for n in copies}
                if i != j and len(agreed) == 1 and place in copies[:3]:
                    super().compared(i, j, outcome)
            if len({arm for i, j, _ in self.pairs for arm in (i, j)}) == 1:
                super().compared(first, second, 1)
            self.pairs = []
