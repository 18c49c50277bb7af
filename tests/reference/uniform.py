"""The exact distribution of code that uses uniform numbers: each number is an interval that comparisons split.

Policies use such numbers only as ``rng.random() < p`` and ``int(rng.random() * n)``, so a walk through all answers with
their probabilities is a finite enumeration.
"""

from __future__ import annotations


class Tree:
    """One walk: follows a path of answers, then takes the first possible answer each time; records all alternatives."""

    def __init__(self, path):
        self.path, self.shares, self.taken = path, [], []

    def random(self):
        """Replace a generator."""
        return Uniform(self)

    def answer(self, shares):
        """Return the number of an answer; ``shares`` are the probabilities of all answers."""
        k = len(self.taken)
        chosen = self.path[k] if k < len(self.path) else 0
        self.shares.append(shares)
        self.taken.append(chosen)
        return chosen


class Uniform:
    """A number in an interval."""

    def __init__(self, tree):
        self.tree, self.low, self.high = tree, 0.0, 1.0

    def __lt__(self, level):
        level = float(level)
        if level <= self.low or level >= self.high:
            return level >= self.high
        share = (level - self.low) / (self.high - self.low)
        below = self.tree.answer([share, 1 - share]) == 0
        self.low, self.high = (self.low, level) if below else (level, self.high)
        return below

    def __ge__(self, level):
        return not self < level

    def __mul__(self, n):
        return Cells(self, int(n))


class Cells:
    """A uniform number times n, used by its whole part."""

    def __init__(self, number, n):
        assert (number.low, number.high) == (0.0, 1.0)
        self.tree, self.n = number.tree, n

    def __int__(self):
        return self.tree.answer([1 / self.n] * self.n)


def law_of(run):
    """{result: probability} of ``run(rng)``."""
    law, paths = {}, [()]
    while paths:
        path = paths.pop()
        tree = Tree(path)
        result, p = run(tree), 1.0
        for chosen, shares in zip(tree.taken, tree.shares, strict=True):
            p *= shares[chosen]
        law[result] = law.get(result, 0.0) + p
        for k in range(len(path), len(tree.taken)):
            paths += [(*tree.taken[:k], other) for other in range(1, len(tree.shares[k]))]
    return law
