"""Searches that see a page again: loaded again, come back to, or continued further down.

Such a search belongs to the page of its token, until the deadline of that page, or to the page that its user was shown
for the same query less than ``sticky`` seconds ago. It draws nothing and counts nothing. So a page stays one
observation, of the clicks on all its parts, and neither the policy nor the intervals can tell a search that is repeated
from one that is not.
"""

from __future__ import annotations

import hashlib
from typing import Any

from ltr_duel.core import InputError
from ltr_duel.live.calls import Decide, Decision
from ltr_duel.live.lists import depth_of, part_of
from ltr_duel.live.marks import Marks
from ltr_duel.live.memory import Memory
from ltr_duel.live.rows import DAMAGED, read_ids, read_key
from ltr_duel.live.schema import FORGOT
from ltr_duel.live.settings import Settings
from ltr_duel.live.store import Store
from ltr_duel.live.tokens import NO_PAGE
from ltr_duel.live.turns import Key


class Drafts:
    """The pages that searches may see again."""

    def __init__(self, settings: Settings, store: Store, marks: Marks, memory: Memory) -> None:
        self._settings, self._store, self._marks, self._memory = settings, store, marks, memory
        self.recall()

    def look(self) -> None:
        """See whether another program has made the store forget pages of users; those of `retain` are long past."""
        if self._forgot != self._store.about(FORGOT):
            self.recall()

    def recall(self) -> None:
        """Read from the store which users saw a page of which query."""
        self._forgot = self._store.about(FORGOT)
        self._latest: dict[bytes, tuple[int, float]] = {}  # user and query -> page, and when it was shown
        if self._settings.sticky:
            for page, at, query, user in self._store.recent(self._settings.max_open):
                if isinstance(at, float):
                    self.add(page, at, query, user)

    def add(self, page: int, at: float, query: str, user: str) -> None:
        """Take note of a page; forget those whose window is over, and more than may be open."""
        if user and self._settings.sticky:
            place = _place(query, user)
            self._latest.pop(place, None)
            self._latest[place] = page, at
            while len(self._latest) > self._settings.max_open or self._is_over(*next(iter(self._latest.values())), at):
                del self._latest[next(iter(self._latest))]

    def forget(self, page: int) -> None:
        """Forget a page that was not delivered."""
        self._store.deepen(page, 0)
        query, user = self._store.asked(page)
        if self._latest and user and self._latest.get(_place(query, user), (0, 0.0))[0] == page:
            del self._latest[_place(query, user)]

    def find(self, call: Decide, now: float) -> Decision | None:
        """Return the part that a search asks for of a page that was shown before, None if it belongs to none.

        Raises `TokenError` if its token is none of this experiment's, and `InputError` if its token is of a page of
        another query.
        """
        number = self._by_token(call.token, now) if call.token else self._by_user(call, now)
        if not number:
            return None
        try:
            at, query, arms, text, sheet, depth = self._store.shown(number)
            key, ids = read_key(arms, len(self._settings.rankers)), read_ids(text)
            expires = int((at + self._settings.deadline) * 1000)
        except DAMAGED:
            return None
        if query not in ("", call.query):  # it is empty once it was forgotten
            raise InputError("the token is of a page of another query")
        if not query or not set(key) <= set(self._memory.turns.left):  # a ranker was dropped since
            return None
        if number in self._memory.waiting:
            expires, _ = self._memory.waiting[number]
        if depth is not None and depth < (deeper := depth_of(part_of(ids, call), call)):
            self._store.deepen(number, deeper)
        return self.page(number, key if sheet else key[:1], ids, expires, call)

    def page(self, number: int, key: Key, ids: tuple[Any, ...], expires: int, call: Decide) -> Decision:
        """Return the part of a page that a search asks for."""
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
        """Whether the window of a page that was shown then is over."""
        return self._memory.is_over(page, (at + self._settings.sticky) * 1000, now)


def _place(query: str, user: str) -> bytes:
    said = f"{len(user)} {user}{query}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(said, digest_size=16).digest()
