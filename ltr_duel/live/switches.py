"""The switches of an experiment: pause, resume, serve a winner, set the share of users, drop a ranker, end.

Each use of a switch adds a row to the store. Rows never change; in order, they determine the state of the switches.
A keyed hash assigns each user a number from 0 to 1, which is fixed for a store. Users with a number below the share are
in the experiment; users with a number of at least 1 - holdback always get the incumbent's list. So users in the
experiment stay in it when the share grows.

A damaged, missing or invalid row may have excluded a ranker or users from the experiment. Therefore all searches after
such a row are outside of the experiment, whatever rows follow. "resume" is then refused; "winner" and "end" still work.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ltr_duel.core import InputError, errors
from ltr_duel.live.schema import used_store
from ltr_duel.live.settings import Settings, settings_in
from ltr_duel.live.turns import policy_without

WHAT = ("pause", "resume", "winner", "share", "drop", "end")
RUNS, PAUSED, WINNER, ENDED = "experiment", "paused", "winner", "ended"
_PATIENCE = 10.0  # seconds to wait for the end of a service's transaction
_SEEN = "SELECT count(*), (SELECT value FROM about WHERE key = 'settings') FROM switches"  # to detect changes
ADD = "INSERT INTO switches (page, at, what, value, who) VALUES (?, ?, ?, ?, ?)"


class Switch(NamedTuple):
    """The use of a switch."""

    what: str  # "pause", "resume", "winner", "share", "drop" or "end"
    ranker: str = ""  # the ranker to serve or drop; for "resume" see `completed`
    share: float = 1.0  # share of users in the experiment; for "share"
    holdback: float | None = None  # share of users who always get the incumbent's list; None: unchanged
    by: str = ""  # name of the operator

    def to_json(self) -> dict[str, Any]:
        """Return the use for JSON; the shares are included only if the switch is "share"."""
        said = self._asdict()
        return said if self.what == "share" else {key: said[key] for key in ("what", "ranker", "by")}


class Switched(NamedTuple):
    """A use of a switch: a row of the store."""

    at: float  # seconds of the clock
    page: int  # the last page before the use
    switch: Switch


class Switches(NamedTuple):
    """The state of the switches."""

    mode: str = RUNS  # "experiment", "paused", "winner" or "ended"
    winner: str = ""  # the ranker served instead of the experiment; while paused, the ranker that "resume" will serve
    share: float = 1.0
    holdback: float = 0.0
    dropped: tuple[str, ...] = ()
    damaged: bool = False  # whether a row is damaged, so the experiment cannot be resumed

    @property
    def words(self) -> str:
        """The state in words."""
        mode = {
            RUNS: "the experiment is running, with all users"
            if self.share == 1
            else f"{self.share:.3g} of the users are in the experiment",
            PAUSED: f"paused; 'resume' serves {self.winner}" if self.winner else "paused",
            WINNER: f"{self.winner} is served",
            ENDED: f"ended; {self.winner} is served" if self.winner else "ended",
        }[self.mode]
        held = f"; {self.holdback:.3g} held back" if self.holdback and self.mode != ENDED else ""
        lost = "; cannot be resumed, because a row of the switches is damaged" if self.damaged else ""
        return mode + held + (f"; dropped: {', '.join(self.dropped)}" if self.dropped else "") + lost

    @property
    def idle(self) -> bool:
        """Whether all searches are in the experiment."""
        return self.mode == RUNS and self.share == 1


def completed(switch: Switch, before: Switches) -> Switch:
    """Return a use with its missing values filled in, so that its row of the store is complete."""
    if switch.what == "resume":
        return switch._replace(ranker=before.winner if before.mode == PAUSED else "")
    if switch.what == "share" and switch.holdback is None:
        return switch._replace(holdback=before.holdback)
    return switch


def switched(before: Switches, switch: Switch, settings: Settings) -> Switches:
    """Return the state after a completed use. Raises `InputError` for an invalid use, or one without effect."""
    if before.damaged and switch.what == "resume":
        raise InputError(
            "a row of the switches is damaged or missing; it may have dropped a ranker or limited the share, so the"
            " experiment cannot be resumed; restore a backup, or start a new experiment with another store"
        )
    if nothing := _nothing_changes(before, switch):
        raise InputError(nothing)
    if switch.what == "drop" and switch.ranker == settings.incumbent:
        raise InputError(
            f"ranker '{switch.ranker}' is the incumbent, which is served outside of the experiment, so it must stay"
        )
    return _after(before, switch, settings)


def _nothing_changes(before: Switches, switch: Switch) -> str:
    """Return the reason why a use changes nothing, or "". Stores may contain such uses, so `_after` accepts them."""
    if switch.what == "pause" and before.mode == PAUSED:
        return "the experiment is paused already"
    if switch.what == "resume" and before.mode == RUNS:
        return "the experiment is not paused, and no winner is served, so there is nothing to resume"
    if switch.what == "winner" and (before.mode, before.winner) == (WINNER, switch.ranker):
        return f"ranker '{switch.ranker}' is served as the winner already"
    if switch.what == "share" and before.mode != ENDED and switch[2:4] == (before.share, before.holdback):
        return f"the share is {before.share:g} already, with a holdback of {before.holdback:g}"
    return ""


def _after(before: Switches, switch: Switch, settings: Settings, *, builds: bool = True) -> Switches:
    """Return the state after a use. The state depends only on settings that cannot change in a store."""
    what, ranker = switch.what, switch.ranker
    if what not in WHAT:
        raise errors.unknown_name("switch", what, WHAT)
    if before.mode == ENDED:
        raise InputError("the experiment has ended, so switches have no effect; use another store to start again")
    if what in ("winner", "drop"):
        if ranker not in settings.rankers:
            raise errors.unknown_name("ranker", ranker, settings.rankers)
        if ranker in before.dropped:
            raise InputError(f"ranker '{ranker}' is dropped{' already' if what == 'drop' else ', so it is not served'}")
    if what == "pause":
        return before._replace(mode=PAUSED)
    if what == "resume":
        if ranker not in ("", before.winner):
            raise InputError(f"ranker '{ranker}' was not served before")
        return before._replace(mode=PAUSED if before.damaged else WINNER if ranker else RUNS, winner=ranker)
    if what == "winner":
        return before._replace(mode=WINNER, winner=ranker)
    if what == "end":
        return before._replace(mode=ENDED, winner="" if before.mode == PAUSED else before.winner)
    if what == "drop":
        return _without(before, ranker, settings, builds=builds)
    errors.require_between("the share of the users in the experiment", switch.share, 0, 1)
    holdback = before.holdback if switch.holdback is None else switch.holdback
    errors.require_between("the share of the users held back", holdback, 0, 1)
    if switch.share + holdback > 1:
        raise InputError(
            f"a share of {switch.share:g} and a holdback of {holdback:g} sum to more than 1:"
            f" the share is at most {1 - holdback:g}"
        )
    return before._replace(share=float(switch.share), holdback=float(holdback))


def _without(before: Switches, ranker: str, settings: Settings, *, builds: bool) -> Switches:
    after = before._replace(dropped=(*before.dropped, ranker))
    if len(settings.rankers) - len(after.dropped) < 2:
        raise InputError("at least two rankers must remain; to serve one ranker, use 'winner'")
    if before.winner == ranker:
        if before.mode == WINNER:
            raise InputError(f"ranker '{ranker}' is served as the winner; resume first")
        after = after._replace(winner="")
    if builds:
        policy_without(settings, left_of(after, settings))
    return after


def left_of(now: Switches, settings: Settings) -> tuple[int, ...]:
    """Return the numbers of the rankers that are not dropped."""
    return tuple([k for k, name in enumerate(settings.rankers) if name not in now.dropped])


def switches_of(rows: Iterable[Switched | None], settings: Settings, *, builds: bool = True) -> Switches:
    """Return the state after all rows; a row that is None or invalid pauses the experiment permanently.

    ``builds``: whether to check that the policy can be built for the remaining rankers, which loads a compiler.
    """
    now = Switches()
    for after, _ in replayed(rows, settings, builds=builds):
        now = after
    return now


def replayed(
    rows: Iterable[Switched | None], settings: Settings, *, builds: bool = True
) -> Iterator[tuple[Switches, str]]:
    """Yield the state after each row, and the error of the row or an empty string."""
    now, wrong = Switches(), ""
    for row in rows:
        try:
            if row is None:
                raise InputError("the row is damaged or missing")
            now, wrong = _after(now, row.switch, settings, builds=builds), ""
        except InputError as error:
            wrong = str(error)
            now = now if now.mode == ENDED else now._replace(mode=PAUSED, winner="", damaged=True)
        yield now, wrong


def pack_switch(switch: Switch) -> tuple[str, str, str]:
    """Return the cells of a row: the switch, its value as JSON, and the operator."""
    value: list[Any] = [switch.share, switch.holdback] if switch.what == "share" else [switch.ranker]
    return switch.what, json.dumps(value if all(one != "" for one in value) else []), switch.by


def _unpacked(what: Any, value: Any, by: Any) -> Switch:
    given = json.loads(value)
    if what in ("winner", "drop") or (what == "resume" and given):
        (ranker,) = given
        return Switch(what, str(ranker), by=str(by))
    if what == "share":
        share, holdback = map(float, given)
        return Switch(what, share=share, holdback=holdback, by=str(by))
    if what not in WHAT:
        raise ValueError("the switch is damaged")
    return Switch(what, by=str(by))


def switches_in(db: sqlite3.Connection) -> Iterator[Switched | None]:
    """Yield the uses of switches; None for a damaged row, and for a gap of missing rows."""
    last = 0
    rows = db.execute("SELECT switch, page, at, what, value, who FROM switches ORDER BY switch")
    for number, page, at, *cells in rows:
        if number != last + 1:
            yield None
        last = number
        try:
            yield Switched(float(at), int(page), _unpacked(*cells))
        except (LookupError, TypeError, ValueError, OverflowError, RecursionError):
            yield None


def switch_store(store: str | Path, switch: Switch) -> Switches:
    """Use a switch of an experiment; a running service applies it within a second."""
    with used_store(store, writes=True) as (path, db):
        db.execute(f"PRAGMA busy_timeout = {int(1000 * _PATIENCE)}")
        while True:
            seen, settings = db.execute(_SEEN).fetchone(), settings_in(db, path)
            use = completed(switch, before := switches_of(switches_in(db), settings, builds=False))
            now = switched(before, use, settings)  # may take seconds, so it runs before the transaction
            db.execute("BEGIN IMMEDIATE")
            if db.execute(_SEEN).fetchone() == seen:
                break
            db.execute("ROLLBACK")
        (page,) = db.execute("SELECT coalesce(max(page), 0) FROM pages").fetchone()
        db.execute(ADD, (page, time.time(), *pack_switch(use)))
        db.execute("COMMIT")
    return now


def read_switches(store: str | Path) -> tuple[Switches, list[Switched]]:
    """Return the state of the switches of a store, and all their uses; the experiment may be running."""
    with used_store(store) as (path, db):
        rows = list(switches_in(db))
        return switches_of(rows, settings_in(db, path), builds=False), [one for one in rows if one]


def side_of(key: bytes, user: str) -> float:
    """Return the number assigned to a user: uniform from 0 to 1, and unpredictable without the key."""
    return int.from_bytes(hashlib.blake2b(user.encode(), key=key, digest_size=7).digest()) / 2**56
