"""The memory of a running experiment, which can be restored completely from its store."""

from __future__ import annotations

import heapq
import json
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import FloatVector, IntMatrix, IntVector
from ltr_duel.live.rows import ALONE, Event, Snapshot
from ltr_duel.live.schema import BEFORE
from ltr_duel.live.settings import Settings
from ltr_duel.live.store import LiveStore
from ltr_duel.live.switches import Switches, left_of, switches_of
from ltr_duel.live.turns import MOST_HELD, Key, Turns, kept_turns, live_policy, live_streams, policy_without
from ltr_duel.logs import Sequences

_FEW = 1000  # the heap may contain this many more deadlines of closed pages than of open pages
_SLACK = 5.0  # seconds by which the difference between the clocks may change before the change counts as a step
_KEPT = 50  # number of latest steps to keep, because closed pages can be shown again until their deadlines


class Steps:
    """Steps of the clock. They do not change the remaining time of open pages.

    Deadlines are times of the clock. The clock steps when the machine is suspended or the clock is adjusted; the
    time during which no service runs is also a step. A step of s seconds moves the deadlines of all earlier pages by s.
    ``monotonic`` returns seconds of a clock that never jumps, for comparison; without it, no steps are detected.
    """

    def __init__(self, kept: str, latest: float | None, monotonic: Callable[[], float] | None) -> None:
        self._monotonic, self._latest = monotonic, latest
        self._steps: list[tuple[int, int]] = [(page, step) for page, step in json.loads(kept)]
        self._apart: float | None = None  # the difference of the clocks after the latest step
        self.delay = 0.0  # seconds that the clock has stepped since the last use of the store
        self.unsaved = False  # whether the store lacks a step

    def look(self, now: float, pages: int, first_open: Callable[[], int]) -> bool:
        """Compare the clocks; return whether the clock has stepped. ``pages`` is the number of the last page."""
        if self._monotonic is None:
            return False
        apart = now - self._monotonic()
        if self._apart is not None:
            step = apart - self._apart
        else:
            step, self._apart = 0.0 if self._latest is None else now - self._latest, apart
        if abs(step) <= _SLACK:  # small steps add up, because `_apart` is unchanged
            return False
        self._apart = apart
        first = first_open()
        old = [one for one in self._steps[:-_KEPT] if one[0] >= first]  # other old steps affect no open page
        self._steps = [*old, *self._steps[-_KEPT:], (pages, round(step * 1000))]
        self.delay += step
        self.unsaved = True
        return True

    def moved(self, page: int) -> int:
        """Return the number of milliseconds by which the deadline of a page has moved."""
        return sum(step for last, step in self._steps if page <= last)

    def text(self) -> str:
        """Return the steps as JSON."""
        return json.dumps(self._steps)


class Tally:
    """Counts of impressions and outcomes, for K rankers and their P = K (K - 1) / 2 pairs.

    As in `ltr_duel.logs`, ``fresh`` counts, for each user and pair, only the page that was shown first.
    """

    def __init__(self, n_arms: int) -> None:
        first, second = np.triu_indices(n_arms, 1)
        self.pairs: IntMatrix = np.stack([first, second], axis=1)
        self._number = np.zeros((n_arms, n_arms), np.int64)
        self._number[first, second] = self._number[second, first] = np.arange(len(first))
        self.events: IntVector = np.zeros(5, np.int64)  # events of each kind, and closed pages of several rankers
        self.exposure: FloatVector = np.zeros(n_arms)  # impressions; a page of s rankers adds 1/s to each
        self.score: IntMatrix = np.zeros((3, len(first)), np.int64)  # ties, wins, losses of each pair's first ranker
        self.fresh: IntMatrix = np.zeros_like(self.score)  # the same, only for the first page of each user and pair

    def show(self, key: Key) -> None:
        """Count an impression."""
        for arm in key:
            self.exposure[arm] += 1 / len(key)

    def bits(self, key: Key) -> int:
        """Return the pairs of a page, one bit per pair."""
        return sum(1 << int(self._number[a, b]) for k, a in enumerate(key) for b in key[k + 1 :])

    def happen(self, kind: int, key: Key, credit: bytes | None, seen: int = 0) -> None:
        """Count an event; bit p of ``seen`` is set if the user had been shown an earlier page of pair p."""
        self.events[kind] += 1
        if credit is not None:
            self.events[-1] += 1
            signs = iter(np.frombuffer(credit, np.int8).tolist())
            for k, a in enumerate(key):
                for b in key[k + 1 :]:
                    p, sign = int(self._number[a, b]), next(signs)
                    y = sign if a < b else -sign
                    self.score[y, p] += 1
                    if not seen >> p & 1:
                        self.fresh[y, p] += 1

    def sequences(self) -> Sequences:
        """Return the counts of `fresh` in the form that `ltr_duel.logs` requires."""
        ties, wins, losses = self.fresh.astype(np.float64)
        none = np.zeros_like(ties)
        return Sequences(wins, losses, ties, none, none, none)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the counts by name."""
        return {"events": self.events, "exposure": self.exposure, "score": self.score, "fresh": self.fresh}

    def take(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore the counts from `arrays`. Raises `ValueError` if a size differs."""
        for name, mine in self.arrays().items():
            if arrays[name].shape != mine.shape:
                raise ValueError(f"the counts '{name}' belong to other rankers")
            mine[...] = arrays[name]


class Memory:
    """The state of an experiment, computed from its latest snapshot and all later events."""

    def __init__(self, settings: Settings, store: LiveStore, steps: Steps) -> None:
        self._settings, self._store, self._steps = settings, store, steps
        n_arms = len(settings.rankers)
        streams = live_streams(settings)
        self.lists, self.coins = streams.lists, streams.feedback
        chance = store.about("chance")
        if chance is not None:
            self.lists.bit_generator.state, self.coins.bit_generator.state = json.loads(chance)
        found = store.snapshot() or Snapshot(0, 0, {}, "[]")
        self.tally = Tally(n_arms)
        if found.arrays:
            self.turns = kept_turns(settings, found.arrays, found.lines)
            self.tally.take(found.arrays)
        else:
            self.turns = Turns(settings, live_policy(settings))
        self.early = self.damaged = 0  # pages closed at the limit of open pages; damaged pages and events
        self.pages, self.events, self.saved = found.pages, found.events, float(found.events)
        for page, key in store.pages_since(found.pages, n_arms):
            self.show(page, key)
        for event, key in store.events_since(found.events, n_arms):
            self.happen(event, key)
        self.waiting: dict[int, tuple[int, Key]] = {
            page: (expires, key) for page, expires, key in store.waiting(n_arms)
        }
        self.pages = max(self.pages, *self.waiting, 0)  # the row of a page may be missing
        self.gathered = store.gathered()  # clicked positions of open pages, two bytes each
        self.reorder()
        self.switch()

    def switch(self) -> None:
        """Read the state of the switches (see `switches`), and replace a policy that contains a dropped ranker.

        Also find out whether users were forgotten.
        """
        settings, about = self._settings, self._store.about
        self.forgot = (about(BEFORE) or -math.inf) > (about("started") or -math.inf) and self._store.has_users()
        self.switched = self._store.switches()
        self.switches: Switches = switches_of(self.switched, settings)
        left = left_of(self.switches, settings)
        if set(left) < set(self.turns.left):
            self.turns = Turns(settings, policy_without(settings, left), left)
            count, in_order = 0, settings.order == "shown"
            for page, key, signs in self._store.outcomes_in_order(len(settings.rankers), by_page=in_order):
                if count == MOST_HELD:
                    break
                if key and set(key) <= set(left):
                    count += 1
                    if signs is None:
                        self.turns.opened(page, key)
                    else:
                        self.turns.closed(page, key, signs)
            self.saved = -math.inf  # `Actions.finish` then writes a snapshot, so reopening skips the loop

    def reorder(self) -> None:
        """Sort the open pages again after their deadlines have moved."""
        self._due = [(expires + self._steps.moved(page), page) for page, (expires, _) in self.waiting.items()]
        heapq.heapify(self._due)

    def wait(self, page: int, expires: int, key: Key) -> None:
        """Add an open page."""
        self.waiting[page] = (expires, key)
        if len(self._due) > 2 * len(self.waiting) + _FEW:  # most of the pages are closed already
            self.reorder()
        else:
            heapq.heappush(self._due, (expires, page))

    def is_over(self, page: int, expires: float, now: float) -> bool:
        """Whether the deadline ``expires`` (milliseconds) of a page, open or closed, has passed."""
        return now * 1000 >= expires + self._steps.moved(page)

    def first_due(self) -> tuple[int, int] | None:
        """Return the earliest deadline of an open page and the number of the page, or None if no page is open."""
        while self._due and self._due[0][1] not in self.waiting:
            heapq.heappop(self._due)
        return self._due[0] if self._due else None

    def show(self, page: int, key: Key) -> None:
        """Count a page; an empty ``key`` stands for a damaged page."""
        self.pages = page
        if not key:
            return
        self.tally.show(key)
        if not self.turns.is_alone(key):
            self.turns.opened(page, key)

    def happen(self, event: Event, key: Key) -> None:
        """Count an event; an empty ``key`` stands for a damaged event."""
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
        """Return the states of the random streams, as JSON."""
        return json.dumps([rng.bit_generator.state for rng in (self.lists, self.coins)])

    def snapshot(self) -> Snapshot:
        """Return the parts of the memory that take long to recompute."""
        arrays = {**self.turns.policy.snapshot(), **self.tally.arrays(), "pulls": self.turns.pulls}
        arrays["left"] = np.array(self.turns.left)
        return Snapshot(self.events, self.pages, arrays, self.turns.waiting())


class Counts(NamedTuple):
    """The counters of a live experiment after its last transaction.

    `steps`, `held` and `pulls` describe the current policy; dropping a ranker starts a new policy, which receives the
    stored outcomes of the remaining rankers.
    """

    pages: int  # pages shown
    open: int  # pages shown that are still open
    plain: int  # pages shown with a single ranker
    clicked: int  # pages closed with clicks
    unclicked: int  # pages closed by a final report, without any clicks
    expired: int  # pages closed without a final report and without clicks
    compared: int  # closed pages of several rankers
    steps: int  # outcomes that the current policy received, plus the pages of a single ranker that it requested
    held: int  # outcomes held until the current policy requests their rankers again
    early: int  # pages closed early, at the limit of open pages, since the store was opened
    damaged: int  # damaged pages and events found since the store was opened; they have no outcome
    oldest: float  # earliest deadline of all open pages, in seconds of the clock; infinite if no page is open
    pulls: IntVector  # (K,) how often the `steps` used each arm; an arm against itself counts twice


def counts_of(memory: Memory) -> Counts:
    """Copy the counters."""
    turns, first = memory.turns, memory.first_due()
    oldest = first[0] / 1000 if first else math.inf
    so_far = turns.policy.steps, turns.held, memory.early, memory.damaged, oldest, turns.pulls.copy()
    return Counts._make((memory.pages, len(memory.waiting), *memory.tally.events.tolist(), *so_far))
