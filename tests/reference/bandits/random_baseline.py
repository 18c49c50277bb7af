"""The policies that learn nothing: a random pair, or a random set."""

from tests.reference.bandits.walk import Literal


class RandomPair(Literal):
    def select(self, t):
        first = self.pick(range(self.k))
        return first, self.pick([k for k in range(self.k) if k != first])


class RandomSlate(Literal):
    def select(self, t):
        slate = []
        while not slate:
            slate = [k for k in range(self.k) if self.rng.random() < 0.5]
        return slate

    def compared(self, first, second, outcome):
        pass
