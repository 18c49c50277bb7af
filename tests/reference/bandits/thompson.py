"""RCS, D-TS, Self-Sparring and MergeDTS, which sample all Betas, and MergeRUCB, which has the same batches."""

from math import log

import numpy as np

from ltr_duel.core.draws import beta_draw
from tests.reference.bandits.walk import Literal, upper_bounds


def full_sample(policy):
    """theta_ij ~ Beta(w_ij + 1, w_ji + 1) for i < j, theta_ji = 1 - theta_ij, theta_ii = 1/2."""
    theta = np.full((policy.k, policy.k), 0.5)
    for i in range(policy.k):
        for j in range(i + 1, policy.k):
            theta[i, j] = beta_draw(policy.w[i, j] + 1.0, policy.w[j, i] + 1.0, policy.rng)
            theta[j, i] = 1 - theta[i, j]
    return theta


class Rcs(Literal):
    """Algorithm 4 of Wolfenfeld's survey."""

    def begin(self):
        self.chosen = np.zeros(self.k, dtype=int)

    def select(self, t):
        theta = full_sample(self)
        winners = [i for i in range(self.k) if (theta[i] >= 0.5).all()]
        c = winners[0] if winners else self.argmin(self.chosen)
        self.chosen[c] += 1
        u = upper_bounds(self.w, self.alpha, log(t))[:, c]
        ties = list(np.flatnonzero(u == u.max()))
        if len(ties) > 1 and c in ties:
            ties.remove(c)
        return c, self.pick(ties)


class DoubleThompson(Literal):
    """Algorithm 1 of Wu and Liu, NIPS 2016."""

    def select(self, t):
        u = upper_bounds(self.w, self.alpha, log(t))
        lower = 1 - u.T
        scores = [sum(u[i, j] > 0.5 for j in range(self.k) if j != i) for i in range(self.k)]
        candidates = [i for i in range(self.k) if scores[i] == max(scores)]
        first = self.first(candidates)
        theta = np.full(self.k, 0.5)
        for i in range(self.k):
            if i != first and lower[i, first] <= 0.5:
                theta[i] = beta_draw(self.w[i, first] + 1.0, self.w[first, i] + 1.0, self.rng)
        eligible = [i for i in range(self.k) if i == first or lower[i, first] <= 0.5]
        return first, max(eligible, key=lambda i: theta[i])

    def first(self, candidates):
        theta = full_sample(self)
        wins = [sum(theta[i] > 0.5) for i in range(self.k)]
        most = max(wins[i] for i in candidates)
        return self.pick([i for i in candidates if wins[i] == most])


class SelfSparring(Literal):
    places = 2

    def begin(self):
        self.s, self.f = np.zeros(self.k), np.zeros(self.k)

    def sample(self):
        return int(np.argmax([beta_draw(s + 1.0, f + 1.0, self.rng) for s, f in zip(self.s, self.f, strict=True)]))

    def select(self, t):
        return tuple(self.sample() for _ in range(self.places))

    def update(self, t, first, second, outcome):
        self.compared(first, second, outcome or 1)

    def compared(self, first, second, outcome):
        winner, loser = (first, second) if outcome > 0 else (second, first)
        self.s[winner] += 1
        self.f[loser] += 1


class MultiSelfSparring(SelfSparring):
    def begin(self):
        super().begin()
        self.places = min(self.size, self.k)


class MergeRucb(Literal):
    """Zoghi et al., WSDM 2015."""

    def begin(self):
        a = self.alpha
        self.w[:] = 1
        self.c = ((4 * a - 1) * self.k**2 / ((2 * a - 1) * self.delta)) ** (1 / (2 * a - 1))
        self.stage, self.since, self.batches = 1, 0, None

    def log_time(self, t):
        return log(t + self.c)

    def select(self, t):
        if t == 1:
            arms = self.shuffled(range(self.k))
            self.batches = [arms[i : i + self.batch] for i in range(0, self.k, self.batch)]
        m = (t - 1) % len(self.batches)
        while len(self.batches[m]) == 1 and any(len(b) > 1 for b in self.batches):
            m = (m + 1) % len(self.batches)
        return self.pair(self.batches[m], t)

    def prune(self, batch, log_t):
        u = upper_bounds(self.w, self.alpha, log_t)
        beaten = [i for i in batch if any(u[i, j] < 0.5 for j in batch)]
        while beaten:
            batch.remove(beaten[0])
            beaten = [i for i in batch if any(u[i, j] < 0.5 for j in batch)]
        return u

    def pair(self, batch, t):
        u = self.prune(batch, self.log_time(t))
        c = self.pick(batch)
        rivals = [j for j in batch if j != c]
        if not rivals:
            return c, c
        return c, self.pick([j for j in rivals if u[j, c] == max(u[k, c] for k in rivals)])

    def update(self, t, first, second, outcome):
        self.count(first, second, outcome)
        alive = sum(map(len, self.batches))
        if alive <= self.k / 2**self.stage + 1 and len(self.batches) > 1:
            self.merge()
            if min(map(len, self.batches)) <= self.batch / 2 and len(self.batches) > 1:
                self.merge()
            self.stage += 1
            self.since = t

    def merge(self):
        order = sorted(self.shuffled(range(len(self.batches))), key=lambda m: len(self.batches[m]))
        merged = []
        while order:
            large = self.batches[order.pop()]
            if order and len(self.batches[order[0]]) + len(large) <= 1.5 * self.batch:
                large = large + self.batches[order.pop(0)]
            merged.append(large)
        self.batches = merged


class MergeDts(MergeRucb):
    """Li et al., TOIS 2020."""

    def begin(self):
        self.w[:] = 1
        self.stage, self.since, self.batches = 1, 0, None

    def select(self, t):
        if t == 1:
            arms = self.shuffled(range(self.k))
            self.batches = [arms[i : i + self.batch] for i in range(0, self.k, self.batch)]
        if self.batches == [self.batches[0][:1]]:
            return self.batches[0][0], self.batches[0][0]
        m = (t - 1) % len(self.batches)
        self.prune(self.batches[m], log(t - self.since + self.head_start))
        if len(self.batches[m]) == 1 and len(self.batches) > 1:
            m = min(m, len(self.batches) - 2)
            self.batches[m : m + 2] = [self.batches[m] + self.batches[m + 1]]
        batch = self.batches[m]
        if len(batch) == 1:
            return batch[0], batch[0]
        theta = {}
        for a, i in enumerate(batch):
            for j in batch[a + 1 :]:
                theta[i, j] = beta_draw(float(self.w[i, j]), float(self.w[j, i]), self.rng)
                theta[j, i] = 1 - theta[i, j]
        wins = [sum(theta[i, j] > 0.5 for j in batch if j != i) for i in batch]
        c = batch[self.argmax(wins)]
        fresh = {i: beta_draw(float(self.w[i, c]), float(self.w[c, i]), self.rng) for i in batch if i != c}
        return c, min(fresh, key=fresh.get)
