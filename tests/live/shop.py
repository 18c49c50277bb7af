"""A search page for tests: five rankers, one query, users who click by a rule, a manually set clock."""

import numpy as np

from ltr_duel.live import Experiment, Keys, Settings

NAMES = ("a", "b", "c", "d", "e")
DOCUMENTS = [f"doc{k}" for k in range(12)]
RANKINGS = {name: DOCUMENTS[k:] + DOCUMENTS[:k] for k, name in enumerate(NAMES)}
KEYS = Keys({"one": bytes(range(32))})


class Clock:
    """A clock that the test sets."""

    def __init__(self):
        self.now = 1_000_000.0

    def __call__(self):
        return self.now


class Watched:
    """A policy that records its path and outcomes."""

    def __init__(self, policy):
        self.policy, self.path, self.outcomes = policy, [], []

    def __getattr__(self, name):
        return getattr(self.policy, name)

    def tell(self, *outcome):
        self.path.append(self.policy.ask())
        self.outcomes.append(outcome)
        self.policy.tell(*outcome)

    def pulls(self, steps, arms):
        """Return how often each arm was compared in the first steps."""
        return np.bincount(np.concatenate(self.path[:steps]), minlength=arms).tolist()


def settings(**other):
    return Settings(**{"name": "shop", "rankers": NAMES, "policy": "rucb", "deadline": 60.0, "seed": 0} | other)


def opened(folder, given=None, *, keys=KEYS, clock=None, **how):
    return Experiment.open(
        folder / "shop.db", settings() if given is None else given, keys=keys, clock=clock or Clock(), **how
    )
