"""The steps of a transaction: decide on a page, count clicks, close pages after their deadline."""

from __future__ import annotations

import json
from array import array
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from ltr_duel.core import InputError, coin, interpreted
from ltr_duel.interleaving import interleave
from ltr_duel.live.calls import (
    Decide,
    Decision,
    Drop,
    ExpiredError,
    Record,
    Recorded,
    StoreError,
    TokenError,
    UsedError,
)
from ltr_duel.live.contents import (
    Outcomes,
    depth_of,
    part_of,
    places_of,
    plain_list,
    require_ids,
    require_one_text,
    require_search,
)
from ltr_duel.live.memory import Memory, Steps
from ltr_duel.live.rows import (
    ALONE,
    CLICKED,
    DAMAGED,
    EXPIRED,
    UNCLICKED,
    Event,
    in_bytes,
    pack_page,
    read_ids,
    unpack_page,
    write_ids,
)
from ltr_duel.live.settings import MOST_OPEN, Settings
from ltr_duel.live.store import LiveStore, PageRow
from ltr_duel.live.switches import Switch, Switches, completed, switched
from ltr_duel.live.tokens import NO_PAGE, Claim, Keys, Marks
from ltr_duel.live.turns import Key
from ltr_duel.live.unsampled import Drafts

_SNAPSHOT_EVERY = 2000  # events between two snapshots; opening a store reads only the events after the last snapshot
_REPORTED = "was closed with the clicks reported until then, if any"
_PASSING = 20  # maximum number of overdue pages that a search closes before it gets a new page
_coin: Any = interpreted(coin)


class Actions:
    """Change the store and the memory together; a call that raises `InputError` has changed neither."""

    def __init__(self, settings: Settings, store: LiveStore, keys: Keys, mark: str, steps: Steps) -> None:
        self.memory, self._steps = Memory(settings, store, steps), steps
        self._settings, self._store = settings, store
        self.marks = Marks(store, keys, mark, self.memory.pages)
        self._drafts = Drafts(settings, store, self.marks, self.memory)
        self._outcomes = Outcomes(settings, store)
        self._chance = self.memory.chance()
        self._changes = store.changes

    def look(self, now: float) -> None:
        """Detect steps of the clock (see `Steps`), and switches that other processes have used."""
        memory = self.memory
        if self._steps.look(now, memory.pages, lambda: min(memory.waiting, default=memory.pages + 1)):
            memory.reorder()
        if self._changes != self._store.changes:
            self._changes = self._store.changes
            memory.switch()
            self._drafts.look()

    def answer(
        self, call: Decide | Record | Drop | Switch, now: float
    ) -> Decision | Recorded | Switches | InputError | None:
        """Return the result of a call, or its error; None if a search requests a later part of an unknown page."""
        try:
            if isinstance(call, Drop):
                return self.drop(call.page, now)
            if isinstance(call, Switch):
                return self.switch(call, now)
            if isinstance(call, Decide):
                return self.decide(call, now)
            return self.record(call, now)
        except InputError as error:
            return error.with_traceback(None)  # a traceback would keep all calls in memory

    def decide(self, call: Decide, now: float) -> Decision | None:
        """Make a page of the rankers that the policy requests, or show an earlier page again."""
        memory, settings, query, user = self.memory, self._settings, call.query, call.user
        rankings: Mapping[str, Sequence[Hashable]] = call.rankings
        require_search(call, settings)
        if settings.aa:
            rankings = dict.fromkeys(settings.rankers, rankings.get(settings.incumbent, ()))
        if (again := self._drafts.find(call, now)) or call.offset:
            return again
        self.expire(now, _PASSING)
        key = memory.turns.asked
        names = [settings.rankers[arm] for arm in dict.fromkeys(key)]
        for name in names:
            if name not in rankings:
                raise InputError(f"the policy requires ranker '{name}', whose list is missing")
            require_ids(name, rankings[name])
        require_one_text([rankings[name] for name in names])
        alone, before = memory.turns.is_alone(key), self._seen(user)
        ids: Sequence[Any]
        if alone:
            ids, sheet = plain_list(names[0], rankings[names[0]], settings.top), b""
        else:
            arms_of = zip(self._places_of(key), key, strict=True)
            given = {place: rankings[settings.rankers[arm]] for place, arm in arms_of}
            page = interleave(given, settings.method, outcome=settings.outcome, top=settings.top, rng=memory.lists)
            ids, sheet = page.shown, pack_page(page)
        if len(memory.waiting) >= MOST_OPEN:
            self._store.gather(self._close_first(now), b"")  # later clicks on this page are then late, not repeated
            memory.early += 1
        number, expires = memory.pages + 1, int((now + settings.deadline) * 1000)
        text, seen, depth = write_ids(tuple(ids)), None, depth_of(part_of(tuple(ids), call), call)
        self.marks.begin(number)
        if user and sheet and _counts(key):  # recorded now, because the order of reports depends on clicks
            seen = in_bytes(before) if before else None
            self._store.see(user, before | memory.tally.bits(key))
        chance = memory.turns.policy.chance()
        context = json.dumps(dict(call.context)) if call.context else None
        arms = array("H", key).tobytes()
        row = PageRow(number, now, query, user or None, arms, text, sheet, chance, context, depth)
        self._store.add_page(row, expires, seen)
        memory.show(number, key)
        memory.wait(number, expires, key)
        self._drafts.add(number, now, query, user)
        if alone:
            self._happen(Event(memory.events + 1, number, now, ALONE), key)
        return self._drafts.page(number, key[:1] if alone else key, read_ids(text), expires, call)

    def record(self, call: Record, now: float) -> Recorded:
        """Count the clicks of a report, and close the page if the report is final; only store a late report."""
        claim = self.marks.claim(call.token)
        if claim.page == NO_PAGE:
            return Recorded(NO_PAGE, (), {})
        closed = self._closed(claim, now)
        if closed and not call.late:
            raise closed
        try:
            clicks, outcomes = self._outcomes.read(claim.page, call)
            if closed:
                self._outcomes.require_in_time(claim.page, now)
            if call.late:
                recorded = Recorded(claim.page, (), {})
            elif call.final:
                recorded = self._close(claim.page, clicks, now)
            else:
                recorded = self._gather(claim.page, clicks)
            self._outcomes.keep(claim.page, outcomes, now)
        except InputError:
            raise
        except DAMAGED:
            raise StoreError("the page cannot be read from the store, so its clicks are not counted") from None
        return recorded

    def _closed(self, claim: Claim, now: float) -> InputError | None:
        """Return the reason why clicks of a page are no longer counted; None if the page is open."""
        if self.memory.is_over(claim.page, claim.expires, now):
            return ExpiredError(f"the deadline has passed, so the page {_REPORTED}")
        if claim.page not in self.memory.waiting:
            if self._store.has_gathered(claim.page):
                return ExpiredError(f"too many pages were open, so the page {_REPORTED}")
            return UsedError("the clicks of the page were counted already")
        if claim.expires != self.memory.waiting[claim.page][0]:
            raise TokenError("the token belongs to another page with the same number")
        return None

    def expire(self, now: float, most: int) -> int:
        """Close at most ``most`` pages whose deadline has passed; return the number of closed pages."""
        closed = 0
        while closed < most and (first := self.memory.first_due()) and first[0] <= now * 1000:
            self._close_first(now)
            closed += 1
        return closed

    def drop(self, page: int, now: float) -> Recorded:
        """Close a page without an outcome, because it was not delivered or is damaged."""
        if page not in self.memory.waiting:
            raise UsedError("the page is closed already")
        _, key = self.memory.waiting.pop(page)
        self._forget_gathered(page)
        self._drafts.forget(page)
        self._happen(Event(self.memory.events + 1, page, now, EXPIRED), key)
        return Recorded(page, self._rankers(key), {})

    def switch(self, call: Switch, now: float) -> Switches:
        """Use a switch."""
        memory = self.memory
        use = completed(call, memory.switches)
        switched(memory.switches, use, self._settings)
        self._store.add_switch(memory.pages, now, use)
        memory.switch()
        return memory.switches

    def _seen(self, user: str) -> int:
        """Return the pairs of rankers for which the user was shown a page, one bit per pair."""
        try:
            return self._store.seen(user) if user else 0
        except DAMAGED:
            raise StoreError("the row of the user cannot be read from the store") from None

    def _close_first(self, now: float) -> int:
        """Close the open page with the earliest deadline, with the clicks reported so far; return its number."""
        _, page = self.memory.first_due() or (0, 0)
        try:
            self._close(page, None, now)
        except DAMAGED:
            self.memory.damaged += bool(self.memory.waiting[page][1])  # `happen` counts pages with unknown rankers
            self.drop(page, now)
        return page

    def _gather(self, number: int, clicks: Iterable[Hashable]) -> Recorded:
        """Store the clicks of a page that stays open."""
        _, key = self.memory.waiting[number]
        text, sheet, _, depth = self._store.page(number)
        places = array("H", sorted(self._gathered(number) | set(places_of(read_ids(text)[:depth], clicks)))).tobytes()
        self.memory.gathered[number] = places
        self._store.gather(number, places)
        return Recorded(number, self._rankers(key) if sheet else (self._settings.rankers[key[0]],), {})

    def _gathered(self, number: int) -> set[int]:
        return set(array("H", self.memory.gathered.get(number, b"")))

    def _forget_gathered(self, number: int) -> None:
        if self.memory.gathered.pop(number, None) is not None:
            self._store.forget_gathered(number)

    def _close(self, number: int, clicks: Iterable[Hashable] | None, now: float) -> Recorded:
        """Close a page; ``clicks`` is None if its deadline or the limit of open pages, not a report, closes it."""
        _, key = self.memory.waiting[number]
        text, sheet, seen, depth = self._store.page(number)
        names = self._rankers(key) if sheet else (self._settings.rankers[key[0]],)
        ids = read_ids(text)
        places = [] if clicks is None else places_of(ids[:depth], clicks)
        if number in self.memory.gathered:
            places = sorted(self._gathered(number).union(places))
        kind = CLICKED if places else EXPIRED if clicks is None else UNCLICKED
        event = Event(self.memory.events + 1, number, now, kind, array("H", places).tobytes())
        credit: dict[tuple[str, str], float] = {}
        counts = bool(sheet) and _counts(key)
        if sheet:
            page = unpack_page(self._settings, self._places_of(key), ids, sheet)
            credit = page.credit([ids[place] for place in places])
            signs = [(y > 0) - (y < 0) for y in credit.values()]
            event = event._replace(
                credit=array("b", signs).tobytes() if counts else None,
                signs=array("b", [sign or _coin(self.memory.coins) for sign in signs]).tobytes(),
                seen=seen,
            )
        if not event.is_of(key):
            raise ValueError("the row of the page is damaged")
        del self.memory.waiting[number]
        self._forget_gathered(number)
        self._happen(event, key)
        return Recorded(number, names, credit if counts else {})

    def _rankers(self, key: Key) -> tuple[str, ...]:
        return tuple([self._settings.rankers[arm] for arm in key])

    def _places_of(self, key: Key) -> tuple[str, ...]:
        """Return distinct names for the arms of a page, which may contain an arm twice."""
        names = self._rankers(key)
        return tuple([f"{name}\0{k}" if name in names[:k] else name for k, name in enumerate(names)])

    def _happen(self, event: Event, key: Key) -> None:
        self._store.add_event(event, closes=event.kind != ALONE)
        self.memory.happen(event, key)

    def finish(self) -> None:
        """Write the states of the random streams, the steps of the clock and, at intervals, a snapshot."""
        chance = self.memory.chance()
        if chance != self._chance:
            self._store.set_about("chance", chance)
            self._chance = chance
        if self._steps.unsaved:
            self._store.set_about("steps", self._steps.text())
        if self.memory.events - self.memory.saved >= _SNAPSHOT_EVERY:
            self._store.save(self.memory.snapshot())
            self.memory.saved = self.memory.events


def _counts(key: Key) -> bool:
    """Whether a page counts for its pairs of rankers; only the policy uses a page that contains a ranker twice."""
    return len(set(key)) == len(key)
