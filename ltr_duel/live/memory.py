"""What an experiment knows while it runs, all of which can be read from its store again."""

from __future__ import annotations

import heapq
import json
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits import LivePolicy
from ltr_duel.core import IntVector
from ltr_duel.live.policies import kept_policy, live_policy, live_streams, policy_without
from ltr_duel.live.rows import Event, Snapshot
from ltr_duel.live.schema import BEFORE
from ltr_duel.live.settings import Settings
from ltr_duel.live.steps import Steps
from ltr_duel.live.store import Store
from ltr_duel.live.switches import Switches, left_of, switches_of
from ltr_duel.live.tally import ALONE, Tally
from ltr_duel.live.turns import MOST_HELD, Key, Turns
from ltr_duel.simulation import AS_GIVEN

_FEW = 1000  # deadlines of closed pages that may be kept


class Memory:
    """What is known, from the latest snapshot and what has happened since.

    steps: of the clock, by which deadlines have moved.
    """

    def __init__(self, settings: Settings, store: Store, steps: Steps) -> None:
        self._settings, self._store, self._steps = settings, store, steps
        n_arms = len(settings.rankers)
        streams = live_streams(settings)
        self.lists, self.coins = streams.lists, streams.feedback
        chance = store.about("chance")
        if chance is not None:
            self.lists.bit_generator.state, self.coins.bit_generator.state = json.loads(chance)
        found = store.snapshot() or Snapshot(0, 0, {}, "[]")
        if found.arrays:
            policy, left = kept_policy(settings, found.arrays)
        else:  # a store that does not say which labels it has began when arms kept their numbers
            policy, left = live_policy(settings, labels=store.about("labels") or AS_GIVEN), tuple(range(n_arms))
        self.turns = self._turns(policy, left)
        self.tally = Tally(n_arms)
        self.turns.wait_again(found.lines)
        if found.arrays:
            self.turns.pulls[...] = found.arrays["pulls"]
            self.tally.take(found.arrays)
        self.early = self.damaged = 0  # pages closed to make room, and pages and events that could not be read
        self.pages, self.events, self.saved = found.pages, found.events, float(found.events)
        for page, key in store.pages_since(found.pages, n_arms):
            self.show(page, key)
        for event, key in store.events_since(found.events, n_arms):
            self.happen(event, key)
        self.waiting: dict[int, tuple[int, Key]] = {
            page: (expires, key) for page, expires, key in store.waiting(n_arms)
        }
        self.pages = max(self.pages, *self.waiting, 0)  # the row of a page may be missing
        self.gathered = store.gathered()  # clicked places of open pages, two bytes each
        self.reorder()
        self.switch()

    def _turns(self, policy: LivePolicy, left: tuple[int, ...]) -> Turns:
        settings = self._settings
        slates = settings.policy_component.feedback == "slate"
        return Turns(policy, len(settings.rankers), slates=slates, in_order=settings.order == "shown", left=left)

    def switch(self) -> None:
        """Read what other programs change; a policy that has a ranker which is dropped makes room for another one."""
        settings, about = self._settings, self._store.about
        self.forgot = (about(BEFORE) or -math.inf) > (about("started") or -math.inf) and self._store.has_users()
        self.switched = self._store.switches()
        self.switches: Switches = switches_of(self.switched, settings)
        left = left_of(self.switches, settings)
        if set(left) < set(self.turns.left):
            self.turns = self._turns(policy_without(settings, left), left)
            told, in_order = 0, settings.order == "shown"
            for page, key, signs in self._store.told(len(settings.rankers), by_page=in_order):
                if told == MOST_HELD:
                    break
                if key and set(key) <= set(left):
                    told += 1
                    if signs is None:
                        self.turns.opened(page, key)
                    else:
                        self.turns.closed(page, key, signs)
            self.saved = -math.inf  # `Actions.finish` writes a snapshot, so this is done once

    def reorder(self) -> None:
        """Order the open pages by their deadlines, which have moved."""
        self._due = [(expires + self._steps.moved(page), page) for page, (expires, _) in self.waiting.items()]
        heapq.heapify(self._due)

    def wait(self, page: int, expires: int, key: Key) -> None:
        """Let a page wait for its clicks."""
        self.waiting[page] = (expires, key)
        if len(self._due) > 2 * len(self.waiting) + _FEW:  # most of them are closed already
            self.reorder()
        else:
            heapq.heappush(self._due, (expires, page))

    def is_over(self, page: int, expires: float, now: float) -> bool:
        """Whether a time of a page has passed, in milliseconds, whether or not it is open."""
        return now * 1000 >= expires + self._steps.moved(page)

    def first_due(self) -> tuple[int, int] | None:
        """Return deadline and number of the open page whose deadline is the earliest."""
        while self._due and self._due[0][1] not in self.waiting:
            heapq.heappop(self._due)
        return self._due[0] if self._due else None

    def show(self, page: int, key: Key) -> None:
        """Take note of a page; one without rankers is damaged."""
        self.pages = page
        if not key:
            return
        self.tally.show(key)
        if not self.turns.is_alone(key):
            self.turns.opened(page, key)

    def happen(self, event: Event, key: Key) -> None:
        """Take note of an event; one without rankers is damaged."""
        self.events = event.event
        if not key:
            self.damaged += 1
            self.turns.forget(event.page)
            return
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
        arrays["left"] = np.array(self.turns.left)
        return Snapshot(self.events, self.pages, arrays, self.turns.waiting())


def _state(rng: Generator) -> Any:
    return rng.bit_generator.state


class Counts(NamedTuple):
    """The counters of a live experiment, as they were after its last transaction.

    Pages are those of the whole experiment. `steps`, `held` and `pulls` are those of the present policy: dropping a
    ranker begins a new one, which receives the stored outcomes of the remaining rankers as far as it asks for them.
    """

    pages: int  # shown
    open: int  # of these, waiting for their clicks
    plain: int  # shown with one ranker alone
    clicked: int  # closed with clicks
    unclicked: int  # closed, as seen without clicks
    expired: int  # closed by their deadline
    compared: int  # closed, and of several rankers
    steps: int  # comparisons whose outcome reached the present policy, and arms that it showed alone
    held: int  # outcomes that wait until the present policy asks for their rankers again
    early: int  # since the start: closed before their deadline, to make room
    damaged: int  # since the start: closed without an outcome, as the store holds no such page any more
    oldest: float  # the earliest deadline of an open page, seconds of the clock; infinite where none is open
    pulls: IntVector  # (K,) in these steps; an arm against itself counts twice


def counts_of(memory: Memory) -> Counts:
    """Copy the counters."""
    turns, first = memory.turns, memory.first_due()
    plain, clicked, unclicked, expired, compared = memory.tally.events.tolist()
    return Counts(
        memory.pages,
        len(memory.waiting),
        plain,
        clicked,
        unclicked,
        expired,
        compared,
        turns.policy.steps,
        turns.held,
        memory.early,
        memory.damaged,
        first[0] / 1000 if first else math.inf,
        turns.pulls.copy(),
    )
