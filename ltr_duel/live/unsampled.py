"""Pages made without sampling: pages outside of the experiment, and pages that are shown again."""

from __future__ import annotations

import hashlib
import itertools
import secrets
from collections.abc import Callable, Mapping
from typing import Any

from ltr_duel.core import InputError
from ltr_duel.live.calls import Decide, Decision, Record, Recorded
from ltr_duel.live.contents import depth_of, part_of, plain_list, require_search, require_text
from ltr_duel.live.memory import Memory
from ltr_duel.live.rows import DAMAGED, read_ids, read_key
from ltr_duel.live.schema import FORGOT
from ltr_duel.live.settings import MOST_OPEN, Settings
from ltr_duel.live.store import LiveStore
from ltr_duel.live.switches import ENDED, PAUSED, RUNS, WINNER, Switches, side_of
from ltr_duel.live.tokens import NO_PAGE, Marks
from ltr_duel.live.turns import Key

AWAY = "away"
LATER = "later"  # the search requests a later part of an unknown page; pages of the experiment start at the top


class Outside:
    """Serve searches outside of the experiment: the switches choose the ranker whose list is served. Needs no store.

    ``side_key`` hashes users, see `side_of`.
    """

    def __init__(self, settings: Settings, marks: Marks, side_key: bytes, clock: Callable[[], float]) -> None:
        self._settings, self.marks, self._side_key, self._clock = settings, marks, side_key, clock
        self._strangers, self._mark = itertools.count(), secrets.token_hex(8)
        self.switches = Switches()

    @property
    def needed(self) -> tuple[str, ...]:
        """The rankers whose lists a search may require."""
        now, incumbent = self.switches, self._settings.incumbent
        if now.mode == RUNS:
            return tuple([name for name in self._settings.rankers if name not in now.dropped])
        return tuple(dict.fromkeys((incumbent, (now.mode != PAUSED and now.winner) or incumbent)))

    def decide(self, call: Decide, otherwise: str = "") -> Decision | None:
        """Return the page of a search outside of the experiment, or None for a search inside.

        ``otherwise``, if not empty, is the reason why all searches are outside. An invalid token is always refused.
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
            raise InputError(f"ranker '{name}' is to be served, but its list is missing")
        shown = plain_list(name, call.rankings[name], self._settings.top)
        expires = int((self._clock() + self._settings.deadline) * 1000)
        token = self.marks.token(NO_PAGE, expires)
        return Decision(NO_PAGE, part_of(shown, call), (name,), token, expires / 1000, why, len(shown))

    def record(self, call: Record) -> Recorded | None:
        """Accept, without counting them, the clicks of a page outside of the experiment; None for a page inside."""
        return None if self.marks.claim(call.token).page else Recorded(NO_PAGE, (), {})

    def _served(self, call: Decide, page: int | None) -> tuple[str, str] | None:
        """Return the ranker served outside of the experiment, and the reason; ``page`` is the page of the token.

        Unless the experiment is paused, a later part belongs to the page of its token, even if the switches changed.
        While the experiment runs, a search without a user but with a token is in the experiment if and only if the page
        of its token is.
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


class Drafts:
    """Pages that searches get again: after a reload, after going back, or for a later part.

    A repeated search with a token belongs to the page of the token, until the deadline of that page. Without a token,
    it belongs to the page that its user was shown for the same query less than ``sticky`` seconds ago. Repeated
    searches sample and count nothing. So a page is one observation, with the clicks on all its parts, and repeats
    change neither the policy nor the intervals.
    """

    def __init__(self, settings: Settings, store: LiveStore, marks: Marks, memory: Memory) -> None:
        self._settings, self._store, self._marks, self._memory = settings, store, marks, memory
        self.recall()

    def look(self) -> None:
        """Read the pages again if another program called `forget`; `retain` forgets only pages that are old."""
        if self._forgot != self._store.about(FORGOT):
            self.recall()

    def recall(self) -> None:
        """Read the recent pages of users and queries from the store."""
        self._forgot = self._store.about(FORGOT)
        self._latest: dict[bytes, tuple[int, float]] = {}  # digest of user and query -> page and its time
        if self._settings.sticky:
            for page, at, query, user in self._store.recent(MOST_OPEN):
                if isinstance(at, float):
                    self.add(page, at, query, user)

    def add(self, page: int, at: float, query: str, user: str) -> None:
        """Add a page; remove pages older than ``sticky`` seconds, and the oldest if more than `MOST_OPEN` remain."""
        if user and self._settings.sticky:
            place = _place(query, user)
            self._latest.pop(place, None)
            self._latest[place] = page, at
            while len(self._latest) > MOST_OPEN or self._is_over(*next(iter(self._latest.values())), at):
                del self._latest[next(iter(self._latest))]

    def forget(self, page: int) -> None:
        """Remove a page that was not delivered."""
        self._store.deepen(page, 0)
        query, user = self._store.asked(page)
        if self._latest and user and self._latest.get(_place(query, user), (0, 0.0))[0] == page:
            del self._latest[_place(query, user)]

    def find(self, call: Decide, now: float) -> Decision | None:
        """Return the part of an earlier page that a search requests, or None. An invalid token is refused."""
        number = self._by_token(call.token, now) if call.token else self._by_user(call, now)
        if not number:
            return None
        try:
            at, query, arms, text, sheet, depth = self._store.shown(number)
            key, ids, depth = read_key(arms, len(self._settings.rankers)), read_ids(text), int(depth)
            expires = int((at + self._settings.deadline) * 1000)
        except DAMAGED:
            return None
        if query not in ("", call.query):  # a forgotten query is empty
            raise InputError("the token belongs to a page of another query")
        if not query or not set(key) <= set(self._memory.turns.left):  # a ranker of the page was dropped
            return None
        if number in self._memory.waiting:
            expires, _ = self._memory.waiting[number]
        if depth < (deeper := depth_of(part_of(ids, call), call)):
            self._store.deepen(number, deeper)
        return self.page(number, key if sheet else key[:1], ids, expires, call)

    def page(self, number: int, key: Key, ids: tuple[Any, ...], expires: int, call: Decide) -> Decision:
        """Return the part of a page that a search requests."""
        token = self._marks.token(number, expires)
        rankers = tuple([self._settings.rankers[arm] for arm in key])
        return Decision(number, part_of(ids, call), rankers, token, expires / 1000, total=len(ids))

    def _by_token(self, token: str, now: float) -> int:
        claim = self._marks.claim(token)
        is_over = claim.page == NO_PAGE or self._memory.is_over(claim.page, claim.expires, now)
        return 0 if is_over else claim.page

    def _by_user(self, call: Decide, now: float) -> int:
        if not call.user or not self._latest:
            return 0
        page, at = self._latest.get(_place(call.query, call.user), (0, 0.0))
        return 0 if self._is_over(page, at, now) else page

    def _is_over(self, page: int, at: float, now: float) -> bool:
        """Whether a page, shown at time ``at``, is older than ``sticky`` seconds."""
        return self._memory.is_over(page, (at + self._settings.sticky) * 1000, now)


def _place(query: str, user: str) -> bytes:
    said = f"{len(user)} {user}{query}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(said, digest_size=16).digest()
