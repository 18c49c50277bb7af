"""Write and read the rows of a store: pages, events, users, switches and the snapshot."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.live.rows import Event, Snapshot, in_bytes, key_of, snapshot_in
from ltr_duel.live.schema import ENDED
from ltr_duel.live.switches import ADD, Switch, Switched, pack_switch, switches_in
from ltr_duel.live.transactions import Transactions
from ltr_duel.live.turns import Key


class PageRow(NamedTuple):
    """A row of the table ``pages``."""

    page: int
    at: float
    query: str
    user: str | None
    arms: bytes
    shown: str  # document ids as JSON
    sheet: bytes
    chance: float | None
    context: str | None
    depth: int  # number of documents, from the top, that the user has seen


class LiveStore(Transactions):
    """The rows of an open store."""

    def add_page(self, row: PageRow, expires: int, seen: bytes | None) -> None:
        """Write a page, which is open from now on; for ``seen``, see `page`."""
        self._db.execute("INSERT INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        self._db.execute("INSERT INTO waiting VALUES (?, ?, ?)", (row.page, expires, seen))
        self._last, self._rows = (row.page, self._last[1]), self._rows + 1

    def recent(self, most: int) -> Iterator[tuple[int, Any, str, str]]:
        """Yield number, time, query and user of the latest delivered pages with a user."""
        yield from self._db.execute(
            "SELECT page, at, query, user FROM pages"
            " WHERE page > ? AND user IS NOT NULL AND depth IS NOT 0 ORDER BY page",
            (self._last[0] - most,),
        )

    def deepen(self, page: int, depth: int) -> None:
        """Write how many documents of a page, from the top, its user has seen."""
        self._db.execute("UPDATE pages SET depth = ? WHERE page = ?", (depth, page))
        self._rows += 1

    def shown(self, page: int) -> tuple[Any, ...]:
        """Return time, query, arms, ids, sheet and depth of a page. Raises `TypeError` if it is missing."""
        words = "SELECT at, query, arms, shown, sheet, depth FROM pages WHERE page = ?"
        return (*self._db.execute(words, (page,)).fetchone(),)

    def asked(self, page: int) -> tuple[str, str]:
        """Return query and user of a page, or empty strings."""
        row = self._db.execute("SELECT query, user FROM pages WHERE page = ?", (page,)).fetchone() or ("", "")
        query, user = (one if isinstance(one, str) else "" for one in row)
        return query, user

    def page(self, page: int) -> tuple[str, bytes, bytes | None, int]:
        """Return ids, sheet, ``seen`` and depth of an open page.

        ``seen`` contains the pairs of rankers for which the user was shown an earlier page, see `Event`.
        """
        row: tuple[str, bytes, bytes | None, int] = self._db.execute(
            "SELECT shown, sheet, seen, depth FROM pages JOIN waiting USING (page) WHERE page = ?", (page,)
        ).fetchone()
        return row

    def add_event(self, event: Event, *, closes: bool) -> None:
        """Write an event, and remove the page from the open pages if the event closes it."""
        self._db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?)", event)
        self._last, self._rows = (self._last[0], event.event), self._rows + 1
        if closes:
            self._db.execute("DELETE FROM waiting WHERE page = ?", (event.page,))

    def gather(self, page: int, clicks: bytes) -> None:
        """Write the clicked positions of an open page, two bytes each."""
        self._db.execute("INSERT OR REPLACE INTO gathered VALUES (?, ?)", (page, clicks))

    def has_gathered(self, page: int) -> bool:
        """Whether ``gathered`` has a row of the page; for a closed page, the row means that it was closed early."""
        return self._db.execute("SELECT 1 FROM gathered WHERE page = ?", (page,)).fetchone() is not None

    def forget_gathered(self, page: int) -> None:
        """Remove the clicked positions of a closed page."""
        self._db.execute("DELETE FROM gathered WHERE page = ?", (page,))

    def gathered(self) -> dict[int, bytes]:
        """Return the clicked positions of the open pages with clicks."""
        return dict(self._db.execute("SELECT page, clicks FROM gathered JOIN waiting USING (page)"))

    def add_outcome(self, page: int, outcome: tuple[int, str, str, float], at: float) -> None:
        """Write an outcome: position, kind, name and value."""
        self._db.execute("INSERT OR IGNORE INTO outcomes VALUES (?, ?, ?, ?, ?, ?)", (page, *outcome, at))
        self._rows += 1

    def outcomes(self, page: int) -> list[tuple[int, str, str]]:
        """Return position, kind and name of the outcomes of a page."""
        return self._db.execute("SELECT place, kind, name FROM outcomes WHERE page = ?", (page,)).fetchall()

    def seen(self, user: str) -> int:
        """Return the pairs of rankers for which a user was shown a page, one bit per pair."""
        row = self._db.execute("SELECT seen FROM users WHERE user = ?", (user,)).fetchone()
        return int.from_bytes(row[0], "little") if row else 0

    def has_users(self) -> bool:
        """Whether any page with a user was shown."""
        return self._db.execute("SELECT 1 FROM users LIMIT 1").fetchone() is not None

    def see(self, user: str, seen: int) -> None:
        """Write the pairs of rankers for which a user was shown a page, one bit per pair."""
        self._db.execute("INSERT OR REPLACE INTO users VALUES (?, ?)", (user, in_bytes(seen)))

    def waiting(self, n_arms: int) -> Iterator[tuple[int, int, Key]]:
        """Yield the open pages with their deadlines and arms; the arms are () if a row is damaged."""
        for page, expires, arms in self._db.execute(
            "SELECT page, expires, arms FROM waiting LEFT JOIN pages USING (page) ORDER BY page"
        ):
            whole = isinstance(expires, int)
            yield page, expires if whole else 0, key_of(arms, n_arms) if whole else ()

    def pages_since(self, page: int, n_arms: int) -> Iterator[tuple[int, Key]]:
        """Yield the pages after ``page`` with their arms, which are () if they are damaged."""
        rows = self._db.execute("SELECT page, arms FROM pages WHERE page > ? ORDER BY page", (page,))
        return ((page, key_of(arms, n_arms)) for page, arms in rows)

    def events_since(self, event: int, n_arms: int) -> Iterator[tuple[Event, Key]]:
        """Yield the events after ``event`` with the arms of their pages; the arms are () if a row is damaged."""
        for *row, arms in self._db.execute(
            "SELECT events.*, arms FROM events LEFT JOIN pages USING (page) WHERE event > ? ORDER BY event", (event,)
        ):
            happened, key = Event(*row), key_of(arms, n_arms)
            yield happened, key if happened.is_of(key) else ()

    def outcomes_in_order(self, n_arms: int, *, by_page: bool) -> Iterator[tuple[int, Key, bytes | None]]:
        """Yield page, arms and outcome, in the order of arrival or of pages; an open page has the outcome None."""
        order = "page" if by_page else "event"
        for page, arms, is_open, *row in self._db.execute(
            "SELECT page, arms, waiting.page IS NOT NULL, events.* FROM pages LEFT JOIN events USING (page)"
            f" LEFT JOIN waiting USING (page) WHERE length(sheet) > 0 ORDER BY {order}, page"
        ):
            happened, key = Event(*row), key_of(arms, n_arms)
            if is_open and by_page:
                yield page, key, None
            elif key and happened.is_of(key) and happened.signs is not None:
                yield page, key, happened.signs

    def latest(self) -> float | None:
        """Return the time at which the store was last used, or None if it has no page."""
        ended = self.about(ENDED)
        if ended:
            return float(ended)
        times = [
            self._db.execute(f"SELECT at FROM {one}s ORDER BY {one} DESC LIMIT 1").fetchone()
            for one in ("page", "event")
        ]
        return max((row[0] for row in times if row and isinstance(row[0], float)), default=None)

    def add_switch(self, page: int, at: float, switch: Switch) -> None:
        """Record the use of a switch."""
        self._db.execute(ADD, (page, at, *pack_switch(switch)))

    def switches(self) -> list[Switched | None]:
        """Return the uses of switches; None for a damaged row."""
        return list(switches_in(self._db))

    def snapshot(self) -> Snapshot | None:
        """Return the snapshot, or None if no snapshot was made."""
        return snapshot_in(self._db)

    def save(self, snapshot: Snapshot) -> None:
        """Write a snapshot, which replaces the previous snapshot."""
        file, arrays = io.BytesIO(), dict[str, Any](snapshot.arrays)
        np.savez(file, **arrays)
        row = (snapshot.events, snapshot.pages, file.getvalue(), snapshot.lines)
        self._db.execute("INSERT OR REPLACE INTO snapshot VALUES (1, ?, ?, ?, ?)", row)
