"""A search page for tests: five rankers, users who click by a rule, a clock that the test sets."""

from ltr_duel.live import Experiment, Keys, Settings

NAMES = "a", "b", "c", "d", "e"
DOCUMENTS = [f"doc{k}" for k in range(12)]
LISTS = {name: DOCUMENTS[k:] + DOCUMENTS[:k] for k, name in enumerate(NAMES)}
KEYS = Keys({"one": bytes(range(32))})


class Clock:
    """A clock that the test sets."""

    def __init__(self):
        self.now = 1_700_000_000.0

    def __call__(self):
        return self.now


def settings(**other):
    return Settings(
        **{"name": "shop", "rankers": NAMES, "policy": "random", "window": 60.0, "batch": 20, "seed": 0} | other
    )


def opened(folder, given=None, *, keys=KEYS, clock=None, durable=False):
    """Open the store of a shop; tests that kill no process do not wait for the disk."""
    made = Experiment.open(
        folder / "shop.db", settings() if given is None else given, keys=keys, clock=clock or Clock()
    )
    if not durable:
        made._store.db.execute("PRAGMA synchronous = OFF")
    return made


def learn(experiment):
    """Count all pages whose window is over."""
    experiment.learn()


def click(page, position=1, **other):
    """Return a report of a click at a position."""
    return page.token, [{"kind": "click", "document": page.page[position - 1], **other}]
