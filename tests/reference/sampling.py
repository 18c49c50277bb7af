"""The exact distribution of a sampler, from its own code: all choices are enumerated, uniform numbers are bisected."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np

from ltr_duel.core import interpreted
from ltr_duel.interleaving.methods import probabilistic


class Chooser:
    """Replaces a random generator in samplers that choose one of n: follows a path, and records the sizes."""

    def __init__(self, path):
        self.path, self.sizes = path, []

    def choose(self, n):
        if n == 1:
            return 0
        self.sizes.append(n)
        k = len(self.sizes) - 1
        return self.path[k] if k < len(self.path) else 0


def choose_below(n, rng):
    """Replace `random_below`."""
    return rng.choose(int(n))


def enumerate_choices(run):
    """{result: probability} of ``run(chooser)``, whose only randomness is `choose_below`."""
    law: dict = {}
    paths = [()]
    while paths:
        path = paths.pop()
        chooser = Chooser(path)
        result = run(chooser)
        law[result] = law.get(result, 0.0) + 1 / np.prod(chooser.sizes or [1])
        taken = [*path, *[0] * (len(chooser.sizes) - len(path))]
        for k in range(len(path), len(chooser.sizes)):
            paths += [(*taken[:k], c) for c in range(1, chooser.sizes[k])]
    return law


class Scripted:
    """Replaces a random generator: returns given numbers, and signals when more are needed."""

    def __init__(self, numbers):
        self.numbers = list(numbers)

    def random(self):
        if not self.numbers:
            raise IndexError
        return self.numbers.pop(0)


def bisect_softmax(draw, page, used, length, size, shortest):
    """{list: probability} of probabilistic multileaving by ``size`` rankers, by bisecting its uniform numbers.

    The choice of the contributor and its document is a step function of one number; the lengths of its steps are the
    probabilities. No step is shorter than ``shortest``. A rejected document is drawn again from the same ranker.
    """

    def shown_after(prefix):
        """(document, owner) of the last position; -1 if the document was rejected and another number is required."""
        k = len(prefix) - 1
        page.shown[k] = -1
        try:
            draw(Scripted(prefix))
        except IndexError:
            used[:] = 0
        return int(page.shown[k]), int(page.owner[k])

    def steps(prefix):
        """All (answer, low, high) of the next uniform number: a grid finer than any step, then bisection."""
        grid = np.linspace(0, 1, int(2 / shortest) + 2)[:-1]
        answers = [known_owner(prefix, u) for u in grid]
        edges, low = [], 0.0
        for k in range(1, len(grid)):
            if answers[k] != answers[k - 1]:
                inside, outside = grid[k - 1], grid[k]
                while np.nextafter(inside, 2) < outside:
                    middle = (inside + outside) / 2
                    same = known_owner(prefix, middle) == answers[k - 1]
                    inside, outside = (middle, outside) if same else (inside, middle)
                edges.append((answers[k - 1], low, outside))
                low = outside
        return [*edges, (answers[-1], low, 1.0)]

    def known_owner(prefix, u):
        document, owner = shown_after([*prefix, u])
        return document, int(size * u) if document < 0 else owner

    lists: dict[tuple[int, ...], float] = {}

    def extend(prefix, shown, p):
        if len(shown) == length:
            lists[shown] = lists.get(shown, 0.0) + p
            return
        edges = steps(prefix)
        accepted = [sum(high - low for (d, o), low, high in edges if d >= 0 and o == who) for who in range(size)]
        for (document, owner), low, high in edges:
            if document >= 0:
                extend([*prefix, low], (*shown, document), p * (high - low) / accepted[owner] / size)

    # compiled code accepts no scripted numbers
    plain = {name: interpreted(getattr(probabilistic, name)) for name in ("draw_list", "draw_document")}
    with patch.multiple(probabilistic, **plain):
        extend([], (), 1.0)
    return lists
