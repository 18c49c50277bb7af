"""UCB1, Thompson sampling and Exp3, and policies on them by Ailon et al. (ICML 2014) and Wolfenfeld's survey."""

from math import ceil, log, sqrt

import numpy as np

from ltr_duel.core.draws import beta_draw
from tests.reference.bandits.walk import Literal


class Ucb1:
    def __init__(self, k, alpha, policy):
        self.rewards, self.alpha, self.policy = [[] for _ in range(k)], alpha, policy

    def advance(self, t):
        fresh = [i for i, r in enumerate(self.rewards) if not r]
        if fresh:
            return self.policy.pick(fresh)
        total = sum(len(r) for r in self.rewards)
        index = [sum(r) / len(r) + sqrt(self.alpha * log(total) / len(r)) for r in self.rewards]
        # arms with equal counts must tie exactly, so rounding removes effects of the order of operations
        return self.policy.argmax(np.round(index, 12))

    def feedback(self, arm, reward):
        self.rewards[arm].append(reward)


class Thompson:
    def __init__(self, k, policy):
        self.success, self.fails, self.policy = np.zeros(k), np.zeros(k), policy

    def advance(self, t):
        pairs = zip(self.success, self.fails, strict=True)
        return int(np.argmax([beta_draw(s + 1.0, f + 1.0, self.policy.rng) for s, f in pairs]))

    def feedback(self, arm, reward):
        self.success[arm] += reward
        self.fails[arm] += 1 - reward


class Exp3:
    def __init__(self, k, settle, policy):
        self.k, self.settle, self.policy, self.log_w = k, settle, policy, np.zeros(k)

    def advance(self, t):
        self.g = min(1.0, sqrt(self.k * log(self.k) / max(t, self.settle)))
        w = np.exp(self.log_w - self.log_w.max())
        self.p = (1 - self.g) * w / w.sum() + self.g / self.k
        return min(int(np.searchsorted(np.cumsum(self.p), self.policy.rng.random(), side="right")), self.k - 1)

    def feedback(self, arm, reward):
        self.log_w[arm] += self.g * reward / (self.k * self.p[arm])


class Sparring(Literal):
    def box(self):
        return Ucb1(self.k, self.alpha, self)

    def begin(self):
        self.left, self.right = self.box(), self.box()

    def select(self, t):
        return self.left.advance(t), self.right.advance(t)

    def update(self, t, x, y, outcome):
        b = self.b(outcome)
        self.left.feedback(x, 1 - b)
        self.right.feedback(y, b)

    def b(self, outcome):
        """Return 1 if the right arm won; a coin for an arm against itself."""
        return int((outcome or self.coin()) < 0)


class ThompsonSparring(Sparring):
    def box(self):
        return Thompson(self.k, self)


class Exp3Sparring(Sparring):
    def box(self):
        return Exp3(self.k, self.settle, self)


class MultiSbm(Sparring):
    def begin(self):
        self.boxes = [Ucb1(self.k, self.alpha, self) for _ in range(self.k)]
        self.y = None

    def select(self, t):
        x = self.pick(range(self.k)) if self.y is None else self.y
        return x, self.boxes[x].advance(t)

    def update(self, t, x, y, outcome):
        self.boxes[x].feedback(y, self.b(outcome))
        self.y = y


class Doubler(Sparring):
    """Algorithm 8, with epochs of 1, 2, 4, ... steps."""

    forgets = True

    def begin(self):
        self.multiset, self.played, self.bs, self.f, self.s = None, [], [], 0.0, self.box()

    def select(self, t):
        if t & (t - 1) == 0:
            self.new_epoch(t)
        return self.draw_left(), self.s.advance(t)

    def draw_left(self):
        return self.pick(self.multiset)

    def new_epoch(self, t):
        self.multiset = sorted(self.played) or [self.pick(range(self.k))]
        if self.bs:
            self.f += sum(self.bs) / len(self.bs) - 0.5
        self.played, self.bs = [], []
        if self.forgets:
            self.s = self.box()

    def update(self, t, x, y, outcome):
        b = self.b(outcome)
        self.s.feedback(y, self.reward(b))
        self.played.append(y)
        self.bs.append(b)

    def reward(self, b):
        return b


class ImprovedDoubler(Doubler):
    """Algorithm 9."""

    forgets = False

    def reward(self, b):
        return b + self.f


class ThompsonDoubler(Doubler):
    """Algorithm 10."""

    forgets = False

    def box(self):
        return Thompson(self.k, self)


class BalancedDoubler(Doubler):
    """Algorithm 11; before the first epoch that is long enough for a hot start, Algorithm 8."""

    def box(self):
        return Ucb1(self.k, 0.5, self)

    def begin(self):
        super().begin()
        self.m, self.epochs = ceil(self.k / self.gap), []  # for each balanced epoch and arm, the b of its plays

    def new_epoch(self, t):
        super().new_epoch(t)
        self.start, self.balanced = t, t >= 2 * self.m * self.k
        if self.balanced:
            self.epochs.append([[] for _ in range(self.k)])

    def select(self, t):
        if t & (t - 1) == 0:
            self.new_epoch(t)
        x, since = self.draw_left(), t - self.start
        if not self.balanced:
            return x, self.s.advance(t)
        if since < self.m * self.k:
            return x, since % self.k
        index = [self.index(i, t) for i in range(self.k)]
        return x, self.argmax(np.round(index, 12))

    def index(self, i, t):
        mean = sum(sum(e[i]) / len(e[i]) for e in self.epochs) / len(self.epochs)
        return mean + sqrt(self.alpha * log(t) * sum(1 / len(e[i]) for e in self.epochs) / len(self.epochs) ** 2)

    def update(self, t, x, y, outcome):
        b = self.b(outcome)
        if self.balanced:
            self.epochs[-1][y].append(b)
        else:
            self.s.feedback(y, b)
        if not self.balanced or t - self.start >= self.m * self.k:
            self.played.append(y)
