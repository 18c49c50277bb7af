"""A search page for tests: five rankers, one query, users who click by a rule, a clock that is set by hand."""

from ltr_duel.live import Experiment, Keys, Settings

NAMES = ("a", "b", "c", "d", "e")
DOCUMENTS = [f"doc{k}" for k in range(12)]
RANKINGS = {name: DOCUMENTS[k:] + DOCUMENTS[:k] for k, name in enumerate(NAMES)}
KEYS = Keys({"one": bytes(range(32))})


class Clock:
    """The time, as a test wants it."""

    def __init__(self):
        self.now = 1_000_000.0

    def __call__(self):
        return self.now


def settings(**other):
    return Settings(**{"name": "shop", "rankers": NAMES, "policy": "rucb", "deadline": 60.0} | other)


def opened(folder, given=None, *, keys=KEYS, clock=None):
    return Experiment.open(
        folder / "shop.db", settings() if given is None else given, keys=keys, clock=clock or Clock()
    )


def shown(state):
    """Return a state without what has to do with when it was asked for."""
    return state.to_json()
