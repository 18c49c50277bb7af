"""A running experiment: its open store, its memory, and its transactions."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ltr_duel.core import InputError
from ltr_duel.live.actions import Actions
from ltr_duel.live.calls import Decide, Decision, Drop, Record, Recorded, StoreError
from ltr_duel.live.forgetting import retain
from ltr_duel.live.memory import Counts, Steps, counts_of
from ltr_duel.live.opening import Opened
from ltr_duel.live.schema import SIDES
from ltr_duel.live.switches import Switch, Switches
from ltr_duel.live.tokens import Keys, Marks
from ltr_duel.live.unsampled import AWAY, LATER, Outside

_PAUSE = 1.0  # minimum number of seconds between a failure and the next use of the store
_LOOK = 1.0  # seconds between two checks for switches used by other processes


class Running:
    """Base class of `Experiment`: locks, transactions, and recovery after a failure. Threads may share an instance."""

    def __init__(
        self,
        opened: Opened,
        keys: Keys,
        clock: Callable[[], float],
        monotonic: Callable[[], float] | None = None,
    ) -> None:
        self._store, self.settings, self._users, self.accepted = opened
        store = opened.store
        self._keys, self._clock, self._mark = keys, clock, Marks.new()
        self._lock, self._closed, self._retry, self._looked = threading.RLock(), False, -math.inf, -math.inf
        self._actions: Actions | None = None
        with store.reading():
            self._started, used = store.about("started"), store.latest()
            self._used = self._started if used is None else used
            self._steps = Steps(store.about("steps") or "[]", used, monotonic)
            sides = bytes.fromhex(store.about(SIDES))
        actions = self._ready()
        self._outside = Outside(self.settings, actions.marks, sides, clock)
        self._now(actions)  # from now on, steps of the clock are detected
        self._publish(actions)

    def close(self) -> None:
        """Close the store. Open pages stay open in its file."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._store.close(self._clock())

    def outside(self, call: Decide | Record, *, away: bool = False) -> Decision | Recorded | None:
        """Answer a search, or the clicks of its page, from memory; None if the search belongs to the experiment.

        A search is outside of the experiment if the switches assign one ranker's list to it. If ``away``, the store
        cannot be used, so all other searches get the incumbent's list.
        """
        if isinstance(call, Record):
            return self._outside.record(call)
        if self._outside.switches.idle and not away:
            return None
        return self._outside.decide(call._replace(user=self._users.kept(call.user)), AWAY if away else "")

    @property
    def needed(self) -> tuple[str, ...]:
        """The rankers whose lists a search may require."""
        return self._outside.needed

    @property
    def switches(self) -> Switches:
        """The state of the switches after the last transaction."""
        return self._outside.switches

    def retain(self) -> Generator[int, None, bool]:
        """Forget users and queries of pages older than ``keep_days``, in parts; other calls may run between parts.

        Yields the number of pages of each part. Returns whether the time was accepted, see `forgetting.retain`.
        """
        if not self.settings.keep_days:
            return True
        return (yield from retain(self._store.path, self.settings.keep_days, self.now, self._used))

    def try_store(self) -> None:
        """Write a test value to the store, or raise `StoreError`."""
        with self._changing() as actions:
            self._store.set_about("tried", self._now(actions))

    @property
    def delay(self) -> float:
        """Seconds by which steps of the clock have moved deadlines; the time when no service ran counts as a step."""
        return self._steps.delay

    @property
    def now(self) -> float:
        """The time of the experiment's clock."""
        return self._clock()

    @property
    def counts(self) -> Counts:
        """The counters after the last transaction, without locking."""
        return self._counts

    @property
    def asked(self) -> tuple[str, ...]:
        """The rankers that the policy currently requests."""
        with self._lock:
            return tuple([self.settings.rankers[arm] for arm in dict.fromkeys(self._ready().memory.turns.asked)])

    @property
    def open_pages(self) -> int:
        """Number of open pages."""
        with self._lock:
            return len(self._ready().memory.waiting)

    @property
    def pages(self) -> int:
        """Number of pages shown."""
        with self._lock:
            return self._ready().memory.pages

    def _answers(self, calls: Sequence[Decide | Record | Drop | Switch]) -> list[Any]:
        """Answer calls in one transaction; searches outside of the experiment use the store at most once a second."""
        calls = [self._kept(call) if isinstance(call, Decide) else call for call in calls]
        plain = [self._plain(call) for call in calls]
        if None not in plain and time.monotonic() < self._looked + _LOOK:
            return plain
        try:
            with self._changing() as actions:
                now = self._now(actions)
                answers = [
                    actions.answer(call, now) if known is None else known
                    for call, known in zip(calls, plain, strict=True)
                ]
            return [
                self._of_incumbent(call, LATER) if answer is None else answer
                for call, answer in zip(calls, answers, strict=True)
            ]
        except StoreError:
            if None in plain:
                raise
            self._looked = time.monotonic()
            return plain

    def _kept(self, call: Decide) -> Any:
        """Return a search with the stored form of its user, or the error."""
        try:
            return call._replace(user=self._users.kept(call.user))
        except InputError as error:
            return error

    def _plain(self, call: Any) -> Any:
        """Return the answer to a search outside of the experiment, or an earlier error; None for other calls."""
        if isinstance(call, InputError):
            return call
        if self._outside.switches.idle or not isinstance(call, Decide) or call.joined:
            return None
        return self._of_incumbent(call)

    def _of_incumbent(self, call: Any, otherwise: str = "") -> Any:
        """Return the page of a search outside of the experiment, or its error."""
        try:
            return self._outside.decide(call, otherwise)
        except InputError as error:
            return error

    def _now(self, actions: Actions) -> float:
        """Return the time, after reading the changes of other processes."""
        now = self._clock()
        actions.look(now)
        return now

    @contextmanager
    def _changing(self) -> Iterator[Actions]:
        """Make all changes of the ``with`` block durable, or undo all of them."""
        with self._lock:
            actions = self._ready()
            try:
                with self._store.transaction():
                    yield actions
                    actions.finish()
                self._steps.unsaved = False
                self._publish(actions)
            except BaseException:
                self._actions, self._retry = None, time.monotonic() + _PAUSE
                raise

    def _publish(self, actions: Actions) -> None:
        """Update the values that are read without the lock."""
        self._counts, self._outside.switches = counts_of(actions.memory), actions.memory.switches
        self._outside.marks = actions.marks
        self._looked = time.monotonic()

    def _ready(self) -> Actions:
        """Return the actions; after a failure, read their memory again from the store, at most once a second."""
        if self._closed:
            raise InputError("the experiment is closed")
        if self._actions is None:
            if time.monotonic() < self._retry:
                raise StoreError("the store could not be written a moment ago; try again")
            try:
                with self._store.reading():
                    self._actions = Actions(self.settings, self._store, self._keys, self._mark, self._steps)
            except StoreError:
                raise
            except InputError as error:  # an error of the snapshot, not of a call
                raise StoreError(f"the store cannot be read: {error}") from error
        return self._actions
