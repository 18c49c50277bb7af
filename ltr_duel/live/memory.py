"""What an experiment knows while it runs, all of which can be read from its store again."""

from __future__ import annotations

import heapq
import json
from typing import Any

from numpy.random import Generator

from ltr_duel.bandits import LivePolicy
from ltr_duel.live.settings import Settings, live_policy, live_streams
from ltr_duel.live.store import Event, Snapshot, Store
from ltr_duel.live.tally import ALONE, Tally
from ltr_duel.live.turns import Key, Turns
from ltr_duel.simulation import AS_GIVEN

_FEW = 1000  # deadlines of closed pages that may be kept


class Memory:
    """What is known, from the latest snapshot and what has happened since.

    Parameters
    ----------
    settings : Settings
    store : Store
    """

    def __init__(self, settings: Settings, store: Store) -> None:
        n_arms = len(settings.rankers)
        streams = live_streams(settings)
        self.lists, self.coins = streams.lists, streams.feedback
        chance = store.about("chance")
        if chance is not None:
            self.lists.bit_generator.state, self.coins.bit_generator.state = json.loads(chance)
        found = store.snapshot() or Snapshot(0, 0, {}, "[]")
        if found.arrays:
            policy = LivePolicy.restore(settings.policy, found.arrays, accept_new_code=True)  # `code` checked it
        else:  # a store that does not say which labels it has began when arms kept their numbers
            policy = live_policy(settings, labels=store.about("labels") or AS_GIVEN)
        slates = settings.policy_component.feedback == "slate"
        self.turns = Turns(policy, n_arms, slates=slates, in_order=settings.order == "shown")
        self.tally = Tally(n_arms)
        self.turns.wait_again(found.lines)
        if found.arrays:
            if found.arrays["pulls"].shape != (n_arms,) or int(found.arrays["n_arms"][0]) != n_arms:
                raise ValueError("the snapshot is that of another number of rankers")
            self.turns.pulls[...] = found.arrays["pulls"]
            self.tally.take(found.arrays)
        self.pages, self.events, self.saved = found.pages, found.events, found.events
        for page, key in store.pages_since(found.pages):
            self.show(page, key)
        for event, key in store.events_since(found.events):
            self.happen(event, key)
        self.waiting: dict[int, tuple[int, Key]] = {page: (expires, key) for page, expires, key in store.waiting()}
        self.gathered = store.gathered()  # clicked places of open pages, two bytes each
        self.early = self.damaged = 0  # pages closed to make room, and pages closed as they could not be read
        self._due = [(expires, page) for page, (expires, _) in self.waiting.items()]  # a heap: they are in order

    def wait(self, page: int, expires: int, key: Key) -> None:
        """Let a page wait for its clicks."""
        self.waiting[page] = (expires, key)
        if len(self._due) > 2 * len(self.waiting) + _FEW:  # most of them are closed already
            self._due = sorted((expires, page) for page, (expires, _) in self.waiting.items())
        else:
            heapq.heappush(self._due, (expires, page))

    def first_due(self) -> tuple[int, int] | None:
        """Return deadline and number of the open page whose deadline is the earliest."""
        while self._due and self._due[0][1] not in self.waiting:
            heapq.heappop(self._due)
        return self._due[0] if self._due else None

    def show(self, page: int, key: Key) -> None:
        """Take note of a page."""
        self.pages = page
        self.tally.show(key)
        if not self.turns.is_alone(key):
            self.turns.opened(page, key)

    def happen(self, event: Event, key: Key) -> None:
        """Take note of an event."""
        self.events = event.event
        self.tally.happen(event.kind, key, event.credit, int.from_bytes(event.seen or b"", "little"))
        if event.kind == ALONE:
            self.turns.alone(key)
        elif event.signs is not None:
            self.turns.closed(event.page, key, event.signs)
        else:
            self.turns.dropped(event.page, key)

    def chance(self) -> str:
        """Return where the random streams are."""
        return json.dumps([_state(self.lists), _state(self.coins)])

    def snapshot(self) -> Snapshot:
        """Return all that cannot be counted anew in a moment."""
        arrays = {**self.turns.policy.snapshot(), **self.tally.arrays(), "pulls": self.turns.pulls}
        return Snapshot(self.events, self.pages, arrays, self.turns.waiting())


def _state(rng: Generator) -> Any:
    return rng.bit_generator.state
