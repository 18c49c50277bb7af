"""What an experiment is while it runs: an open store, what is known of it, and transactions of calls."""

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
from ltr_duel.live.marks import Marks
from ltr_duel.live.memory import Counts, counts_of
from ltr_duel.live.outside import AWAY, LATER, Outside
from ltr_duel.live.schema import SIDES
from ltr_duel.live.settings import Settings
from ltr_duel.live.steps import Steps
from ltr_duel.live.store import Store
from ltr_duel.live.switches import Switch, Switches
from ltr_duel.live.tokens import Keys
from ltr_duel.live.users import Users

_PAUSE = 1.0  # seconds after a failure before the store is tried again
_LOOK = 1.0  # seconds between two looks for switches that other processes used


class Running:
    """An experiment that runs; see `Experiment`, which derives from it. Threads may share it."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        keys: Keys,
        users: Users,
        clock: Callable[[], float],
        monotonic: Callable[[], float] | None = None,
    ) -> None:
        self.settings, self._store, self._keys, self._clock = settings, store, keys, clock
        self._mark, self._users = Marks.new(), users
        self._lock, self._closed, self._retry, self._looked = threading.RLock(), False, -math.inf, -math.inf
        self._actions: Actions | None = None
        with store.reading():
            self._started, used = store.about("started"), store.latest()
            self._used = self._started if used is None else used
            self._steps = Steps(store.about("steps") or "[]", used, monotonic)
            sides = bytes.fromhex(store.about(SIDES))
        actions = self._ready()
        self._outside = Outside(settings, actions.marks, sides, clock)
        self._now(actions)  # from here on time passes for the pages
        self._publish(actions)

    def close(self) -> None:
        """Let go of the file. What waits for clicks goes on waiting in the store."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._store.close(self._clock())

    def outside(self, call: Decide | Record, *, away: bool = False) -> Decision | Recorded | None:
        """Answer a search that takes no part in the experiment, or the clicks of its page; from memory, without a wait.

        away: whether the store is away, so no search can take part: it gets the incumbent's list.

        Returns None for a search that takes part, and for the clicks of its page.

        Raises `TokenError` if a token is none of this experiment's, and `InputError` for a list that cannot be shown.
        """
        if isinstance(call, Record):
            return self._outside.record(call)
        if self._outside.switches.idle and not away:
            return None
        return self._outside.decide(call._replace(user=self._users.kept(call.user)), AWAY if away else "")

    @property
    def needed(self) -> tuple[str, ...]:
        """The rankers whose lists a search may need, by the switches."""
        return self._outside.needed

    @property
    def switches(self) -> Switches:
        """What the switches say, as of the last transaction."""
        return self._outside.switches

    def retain(self) -> Generator[int, None, bool]:
        """Forget users and queries of pages older than ``keep_days``; other calls may happen between two parts.

        Where the clock is more than two days ahead of the look before, nothing is forgotten until a look a day later
        finds it still there: one start under a wrong clock must not forget everybody.

        Yields how many pages a part had. Returns whether the clock was believed.

        Raises `StoreError` if the store cannot be written.
        """
        if not self.settings.keep_days:
            return True
        return (yield from retain(self._store.path, self.settings.keep_days, self.now, self._used))

    def try_store(self) -> None:
        """Write something to the store.

        Raises `StoreError` if it cannot be written.
        """
        with self._changing() as actions:
            self._store.say("tried", self._now(actions))

    @property
    def delay(self) -> float:
        """Seconds that the clock has stepped, with those while the store was closed: deadlines moved by as much."""
        return self._steps.delay

    @property
    def now(self) -> float:
        """The time of the experiment's clock."""
        return self._clock()

    @property
    def counts(self) -> Counts:
        """The counters, as they were after the last transaction; this waits neither for the store nor for a lock."""
        return self._counts

    @property
    def asked(self) -> tuple[str, ...]:
        """The rankers that the policy wants to compare now; one that is to be shown alone stands alone."""
        with self._lock:
            return tuple([self.settings.rankers[arm] for arm in dict.fromkeys(self._ready().memory.turns.asked)])

    @property
    def open_pages(self) -> int:
        """Pages that wait for their clicks."""
        with self._lock:
            return len(self._ready().memory.waiting)

    @property
    def pages(self) -> int:
        """Pages shown."""
        with self._lock:
            return self._ready().memory.pages

    def _answers(self, calls: Sequence[Decide | Record | Drop | Switch]) -> list[Any]:
        """Answer calls in one transaction; searches that take no part are answered without the store too."""
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
        """Return a search with the user as the store keeps users."""
        try:
            return call._replace(user=self._users.kept(call.user))
        except InputError as error:
            return error

    def _plain(self, call: Any) -> Any:
        """Return the answer to a search that takes no part, and to what was wrong before."""
        if isinstance(call, InputError):
            return call
        if self._outside.switches.idle or not isinstance(call, Decide) or call.joined:
            return None
        return self._of_incumbent(call)

    def _of_incumbent(self, call: Any, otherwise: str = "") -> Any:
        """Return the page of a search outside of the experiment, or what is wrong with it."""
        try:
            return self._outside.decide(call, otherwise)
        except InputError as error:
            return error

    def _now(self, actions: Actions) -> float:
        """Return the time, and see what has changed around the experiment."""
        now = self._clock()
        actions.look(now)
        return now

    @contextmanager
    def _changing(self) -> Iterator[Actions]:
        """Let things happen that are durable at the end, or have not happened."""
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
        """Let what can be read without the lock be as after the last transaction."""
        self._counts, self._outside.switches = counts_of(actions.memory), actions.memory.switches
        self._outside.marks = actions.marks
        self._looked = time.monotonic()

    def _ready(self) -> Actions:
        """Return what is known; after a failure it is read from the store again, though not all the time."""
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
            except InputError as error:  # of the snapshot: no fault of a caller
                raise StoreError(f"the store cannot be read: {error}") from error
        return self._actions
