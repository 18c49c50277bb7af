"""A live experiment, which answers searches with pages of interleaved lists and learns from the clicks.

    search -> plan -> page, a row of the store        events of the page -> rows of the store
    window of the page over -> credit -> outcome -> policy, in batches -> next plan

The window of a page is the time in which its events count. After a restart, the policy gets all stored outcomes again,
so that it makes the same plan as before.
"""

from __future__ import annotations

import dataclasses
import json
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ltr_duel.core import InputError
from ltr_duel.live.controls import Control, Controls, add_control, controls_in, fold, require_policy
from ltr_duel.live.counting import count_due
from ltr_duel.live.plan import Decision, LivePlan
from ltr_duel.live.planner import Outcome, Planner
from ltr_duel.live.settings import Settings, agreed, settings_text, with_seed
from ltr_duel.live.signing import Keys, TokenError
from ltr_duel.live.state import Counts, LiveState, state_of
from ltr_duel.live.store import Store, settings_in
from ltr_duel.live.validation import Report, Search, StoreError, read_events, require_search

_MOST_EVENTS = 1000  # of one page
_KEPT = ("shown", "method", "outcome", "policy", "propensity", "owners", "page")  # what a store keeps of a record
_ADD = """
INSERT OR IGNORE INTO exposures (impression, time, user, query, rankers, record, context) VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_EVENT = "INSERT OR IGNORE INTO events SELECT impression, ?, ?, ?, ?, ? FROM exposures WHERE impression = ?"


class Experiment:
    """A live experiment, which keeps its data in a store. Make it with `Experiment.open`. Several threads may use it.

    When a call returns, its changes are on disk. A call that raises an error has changed nothing.

    Parameters
    ----------
    store : Store
        An open store.
    settings : Settings
        The settings of the experiment, as they are in the store. They become the attribute ``settings``.
    keys : Keys
        The secret keys that sign the tokens of pages.
    clock : callable
        A function that returns the time in seconds since 1970.

    Attributes
    ----------
    plan : LivePlan
        The current plan, which decides the page that a search gets.
    controls : Controls
        The state of the experiment, for example paused. The attribute ``used`` lists all uses of controls.

    Examples
    --------
    >>> import tempfile
    >>> settings = Settings(name="shoes", rankers=("old", "new"), policy="random", window=60)
    >>> folder, lists = tempfile.TemporaryDirectory(), {"old": ["a", "b"], "new": ["b", "c"]}
    >>> clock = iter(range(0, 1000, 100)).__next__
    >>> with folder, Experiment.open(Path(folder.name) / "shoes.db", settings, clock=clock) as experiment:
    ...     page = experiment.decide("user 7", "red shoes", lists)
    ...     _ = experiment.report(page.token, [{"kind": "view"}])
    ...     _ = experiment.learn()
    ...     experiment.state().pages
    1
    """

    def __init__(self, store: Store, settings: Settings, keys: Keys, clock: Callable[[], float]) -> None:
        self.settings, self._store, self._keys, self._clock = settings, store, keys, clock
        self._lock, self._planning = threading.RLock(), threading.RLock()  # take the second before the first
        latest = store.rows("SELECT time FROM exposures ORDER BY n DESC LIMIT 1")
        self._latest = max([store.meta("clock"), *(row[0] for row in latest)])
        self._begin()

    @classmethod
    def open(
        cls, store: str | Path, settings: Settings | None = None, *, keys: Keys | None = None,
        clock: Callable[[], float] = time.time,
    ) -> Experiment:  # fmt: skip
        """Open the store of an experiment. If the store does not exist and you give settings, it is created.

        Parameters
        ----------
        store : path
        settings : Settings, optional
            The settings of the experiment. If the store exists, you may change only ``confidence``, ``margin`` and
            ``serve``.
        keys : Keys, optional
            The secret keys that sign the tokens of pages. By default, a random key is used. Tokens are then valid until
            the process ends.
        clock : callable, optional
            A function that returns the time in seconds since 1970; by default, the clock of the computer.

        Raises
        ------
        InputError
            If the store is missing, is in use, has other settings, or was made by another version of this package.
        """
        meta = None if settings is None else {"settings": settings_text(with_seed(settings))}
        opened = Store(store, meta)
        try:
            stored = settings_in(opened.db, opened.path)
            if settings is not None:
                stored = agreed(stored, settings, str(opened.path))
            return cls(opened, stored, keys or Keys({"process": secrets.token_bytes(32)}), clock)
        except BaseException:
            opened.close()
            raise

    def close(self) -> None:
        """Close the store. If the policy is learning, wait until it has finished."""
        with self._planning, self._lock:
            self._store.close()

    def __enter__(self) -> Experiment:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def decide(
        self, user: str, query: str, rankings: Mapping[str, Sequence[Any]], *,
        context: Mapping[str, str] = MappingProxyType({}),
    ) -> Decision:  # fmt: skip
        """Return the page to show for a search, with a token for reporting its events.

        A user who repeats the search gets the same page and token again, until the lists or the plan change.

        Parameters
        ----------
        user, query : str
            The id of the user or session, which should not change, and the text of the query. Neither may be empty.
        rankings : mapping of str to sequence
            The list of each ranker, as document ids with the best first. Only the lists of the rankers that
            ``plan.rankers(user, query)`` returns are required.
        context : mapping of str to str, optional
            More attributes of the search, such as the device. Their names must be in the settings.

        Raises
        ------
        InputError
            If a value is invalid or a required list is missing.
        StoreError
            If the store cannot be written.
        """
        return self._answer(Search(user, query, rankings, context))

    def report(self, token: str, events: Sequence[Any]) -> str:
        """Store events of a page, and return the name of its impression. A repeated report changes nothing.

        Parameters
        ----------
        token : str
            The token that `decide` returned with the page.
        events : sequence of Event or mapping
            What the user did. Events of the kind ``settings.credit`` decide which ranker wins, if they arrive within
            ``settings.window`` seconds after the page. Later events are only kept for the log.

        Raises
        ------
        TokenError
            If the token belongs to no page of this experiment.
        InputError
            If an event is invalid, or its document is not on the page.
        StoreError
            If the store cannot be written.
        """
        return self._answer(Report(token, events))

    def _answer(self, call: Search | Report) -> Any:
        (answer,) = self.answer([call])
        if isinstance(answer, InputError):
            raise answer
        return answer

    def answer(self, calls: Sequence[Search | Report]) -> list[Decision | str | InputError]:
        """Answer several searches and reports at once. Return a result or an error for each of them."""
        with self._lock:
            self._look()
            now, answers, writes = self._now(), list[Any](), list[tuple[str, Sequence[Any]]]()
            for call in calls:
                try:
                    act: Any = self._search if isinstance(call, Search) else self._report
                    answers.append(act(call, now, writes))
                except InputError as error:
                    answers.append(error.with_traceback(None))  # a traceback would keep all calls in memory
            if writes:
                with self._store.transaction():
                    for sql, values in writes:
                        self._store.db.execute(sql, values)
            return answers

    def _search(self, call: Search, now: float, writes: list[tuple[str, Sequence[Any]]]) -> Decision:
        require_search(call, self.settings.context)
        page = self.plan.decide(call.user, call.query, call.rankings, now=now)
        if not page.impression:
            return page
        record: Mapping[str, Any] = page.record or {"shown": [str(name) for name in page.page]}
        fields = json.dumps({name: record[name] for name in _KEPT if name in record})
        context = json.dumps(dict(call.context))
        writes.append((_ADD, (page.impression, now, call.user, call.query, json.dumps(page.rankers), fields, context)))
        return page._replace(token=self._keys.token(page.impression))

    def _report(self, call: Report, now: float, writes: list[tuple[str, Sequence[Any]]]) -> str:
        impression = self._keys.verified(call.token)
        sql = "SELECT record, time, seen OR learned FROM exposures WHERE impression = ?"
        rows = self._store.rows(sql, (impression,))
        if not rows:
            raise TokenError("the page of the token is not in the store of this experiment")
        ((record, shown_at, marked),) = rows
        values = read_events(call.events, json.loads(record)["shown"])
        sql = "SELECT kind, position, id FROM events WHERE impression = ?"
        if len(values.keys() | self._store.rows(sql, (impression,))) > _MOST_EVENTS:
            raise InputError(f"a page has at most {_MOST_EVENTS:,} events")
        for (kind, position, name), value in values.items():
            writes.append((_EVENT, (kind, position, name, value, now, impression)))
        if values and not marked and now - shown_at <= self.settings.window:
            writes.append(("UPDATE exposures SET seen = 1 WHERE impression = ?", (impression,)))
        return impression

    def learn(self) -> int:
        """Let the policy learn from all pages whose time for events is over. Return the number of these pages."""
        return sum(iter(self.learn_some, 0))

    def learn_some(self) -> int:
        """Learn from at most 50 pages, so that searches need not wait long. Return the number of these pages."""
        with self._planning:
            with self._lock, self._store.transaction():
                self._look()
                now = self._now()
                due, new = count_due(self._store, self.settings, now)
                if due:
                    self._store.set_meta("clock", now)
                left = set(self.controls.left(self.settings))
                if left == self._left:
                    new = [outcome for outcome in new if left.issuperset(outcome[0])]
                    self._reserve(self._planned() + (len(self._untold) + len(new)) // self.settings.batch)
            if left == self._left:
                self._tell(new)
            else:
                self._begin()
            return due

    def _begin(self) -> None:
        with self._lock, self._store.transaction():
            self.used = controls_in(self._store.db)
            self.controls = fold(self.used, self.settings)
            left, first = set(self.controls.left(self.settings)), self.controls.version
            rows = self._store.rows("SELECT arms, signs FROM outcomes ORDER BY n")
            stored = [(tuple[int, ...](json.loads(arms)), signs) for arms, signs in rows]
            outcomes = [outcome for outcome in stored if left.issuperset(outcome[0])]
            self._reserve(first + 1 + len(outcomes) // self.settings.batch)
        self._planner, self._untold = Planner(self.settings, sorted(left)), list[Outcome]()
        self._left, self._first = left, first
        self._tell(outcomes)

    def _reserve(self, version: int) -> None:
        # The version of a plan is stored before the plan is used, so that no later plan gets this version.
        if version > self._store.meta("version"):
            self._store.set_meta("version", version)

    def _tell(self, outcomes: Sequence[Outcome]) -> None:
        self._untold += outcomes
        batch = self.settings.batch
        while len(self._untold) >= batch:
            self._planner.learn(self._untold[:batch])
            del self._untold[:batch]
        with self._lock:
            self.plan: LivePlan = self._controlled(self._planner.plan(self._planned()))

    def _planned(self) -> int:
        return self._first + self._planner.version  # also increases when a ranker is dropped

    def control(
        self, action: str, ranker: str = "", *, share: float | None = None, holdback: float | None = None, who: str = ""
    ) -> Controls:
        """Use a control, for example to pause or to end the experiment.

        Parameters
        ----------
        action : {"pause", "resume", "share", "drop", "winner", "end"}
        ranker : str
            The ranker that "drop" removes from the experiment, or that "winner" shows to users from now on.
        share, holdback : float, optional
            The new shares for "share": the share of users who take part, and the share of users who always get the
            incumbent's list. By default, a share stays unchanged.
        who : str
            The name of the operator, which is stored.

        Returns
        -------
        Controls
            The new state of the experiment.

        Raises
        ------
        InputError
            If the control is not possible now, or would change nothing.
        """
        control = Control(action, ranker, share, holdback, who, self._clock())
        require_policy(self.settings, self.controls, control)
        with self._lock:
            with self._store.transaction():
                add_control(self._store.db, self.settings, control)
            self._take_controls()
            after = self.controls
        if action == "drop":
            with suppress(StoreError):  # the ranker is dropped; the next call of `learn` makes the plan
                self.learn_some()
        return after

    def _look(self) -> None:
        if self._store.changed():  # by another process
            self._take_controls()

    def _take_controls(self) -> None:
        self.used = controls_in(self._store.db)
        self.controls = fold(self.used, self.settings)
        self.plan = self._controlled(self.plan)

    def _controlled(self, plan: LivePlan) -> LivePlan:
        names = ("mode", "winner", "share", "holdback")
        return dataclasses.replace(plan, **{name: getattr(self.controls, name) for name in names})

    def state(self) -> LiveState:
        """Return the results so far: what the clicks say about the rankers."""
        with self._lock:
            self._look()
            ahead = self._latest - self._clock()
            parts = Counts.read(self._store), self.controls, self.used, self.plan, len(self._untold), ahead
        return state_of(self.settings, *parts)  # without the lock, so that searches need not wait

    def _now(self) -> float:
        self._latest = max(self._latest, self._clock())
        return self._latest
