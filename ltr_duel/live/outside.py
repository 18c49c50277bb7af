"""Searches that take no part in the experiment: one ranker's list, from memory alone, at any state of the store."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Callable, Mapping

from ltr_duel.core import InputError
from ltr_duel.live.calls import Decide, Decision, Record, Recorded
from ltr_duel.live.lists import part_of, plain_list, require_search, require_text
from ltr_duel.live.marks import Marks
from ltr_duel.live.settings import Settings
from ltr_duel.live.switches import ENDED, PAUSED, RUNS, WINNER, Switches, side_of
from ltr_duel.live.tokens import NO_PAGE

AWAY = "away"
LATER = "later"  # a later part of a page that is not known: a page counts from its top


class Outside:
    """Answers by the switches; it neither waits nor fails with the store.

    marks: that tell tokens of the experiment from others.
    side_key: by which users are hashed, see `side_of`.
    clock: returns the time, in seconds.
    """

    def __init__(self, settings: Settings, marks: Marks, side_key: bytes, clock: Callable[[], float]) -> None:
        self._settings, self.marks, self._side_key, self._clock = settings, marks, side_key, clock
        self._strangers, self._mark = itertools.count(), secrets.token_hex(8)
        self.switches = Switches()

    @property
    def needed(self) -> tuple[str, ...]:
        """The rankers whose lists a search may need."""
        now, incumbent = self.switches, self._settings.incumbent
        if now.mode == RUNS:
            return tuple([name for name in self._settings.rankers if name not in now.dropped])
        return tuple(dict.fromkeys((incumbent, (now.mode != PAUSED and now.winner) or incumbent)))

    def decide(self, call: Decide, otherwise: str = "") -> Decision | None:
        """Return the page of a search outside of the experiment, None for a search that takes part.

        otherwise: why no search can take part, so that it gets the incumbent's list; empty if it can.

        Raises `TokenError` if its token is none of this experiment's, also where no search takes part.
        """
        served = self._served(call, self.marks.claim(call.token).page if call.token else None)
        if not served and otherwise:
            served = self._settings.incumbent, otherwise
        if not served:
            return None
        name, why = served
        if call.offset and isinstance(call.rankings, Mapping) and name not in call.rankings:
            name, why = self._settings.incumbent, LATER
        require_search(call, self._settings)
        if name not in call.rankings:
            raise InputError(f"ranker '{name}' is served, whose list is not given")
        shown = plain_list(name, call.rankings[name], self._settings.top)
        expires = int((self._clock() + self._settings.deadline) * 1000)
        token = self.marks.token(NO_PAGE, expires)
        return Decision(NO_PAGE, part_of(shown, call), (name,), token, expires / 1000, why, len(shown))

    def record(self, call: Record) -> Recorded | None:
        """Accept the clicks of such a page, which are not counted; None for a page of the experiment."""
        return None if self.marks.claim(call.token).page else Recorded(NO_PAGE, (), {})

    def _served(self, call: Decide, page: int | None) -> tuple[str, str] | None:
        """Return the ranker that a search with the token of a page is served in place of the experiment, and why.

        A later part is of the page of its token, whatever the switches say meanwhile. A search without a user falls on
        the side of its token, if it has one.
        """
        now, incumbent = self.switches, self._settings.incumbent
        if now.mode == PAUSED:
            return incumbent, PAUSED
        if now.idle:
            return None
        require_text("the user", user := call.user)
        if page and (call.offset or (now.mode == RUNS and not user)):
            return None
        if page == NO_PAGE and now.mode == RUNS and not user:
            return incumbent, "share"
        side = side_of(self._side_key, user or f"\0{self._mark}{next(self._strangers)}")
        if side >= 1 - now.holdback:
            return incumbent, "holdback"
        if now.mode in (WINNER, ENDED):
            return now.winner or incumbent, now.mode
        return None if side < now.share else (incumbent, "share")
