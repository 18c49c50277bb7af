"""The controls with which an operator steers an experiment: pause, resume, share, drop, winner, end.

The store keeps each use of a control. `fold` finds from all uses the state of the experiment (`Controls`), for example
that it is paused. If a ranker is dropped, a new policy for the other rankers starts, and learns from their earlier
outcomes. The other controls do not change the pages of users who stay in the experiment.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from ltr_duel.core import InputError, errors
from ltr_duel.live.planner import Planner
from ltr_duel.live.settings import Settings, require_shares
from ltr_duel.live.store import connected, reading, settings_in
from ltr_duel.live.validation import StoreError, require_text

ACTIONS = ("pause", "resume", "share", "drop", "winner", "end")
RUNS, PAUSED, WINNER, ENDED = "experiment", "paused", "winner", "ended"


class Control(NamedTuple):
    """One use of a control: what an operator did, and when."""

    action: str  # one of `ACTIONS`
    ranker: str = ""  # for "drop" and "winner"
    share: float | None = None  # for "share": the share of users in the experiment; None leaves it unchanged
    holdback: float | None = None  # for "share": the share of users who always get the incumbent's list
    who: str = ""  # name of the operator
    time: float = 0.0  # seconds since 1970
    version: int = 0  # version of the plan at that time

    def row(self) -> tuple[float, str, str, str]:
        """Return this use of a control as a row for the store."""
        value = {"ranker": self.ranker, "share": self.share, "holdback": self.holdback, "version": self.version}
        return self.time, self.action, json.dumps(value), self.who

    @classmethod
    def of_row(cls, time: float, action: str, value: str, who: str) -> Control:
        """Read the use of a control from a row of the store."""
        return cls(action, who=who, time=time, **json.loads(value))


class Controls(NamedTuple):
    """The state of an experiment as its operators have set it: running or paused, for which users, which rankers."""

    mode: str = RUNS  # "experiment", "paused", "winner" or "ended"
    winner: str | None = None  # the ranker served instead of the experiment; while paused, "resume" will serve it again
    share: float = 1.0  # share of the users in the experiment
    holdback: float = 0.0  # share of the users who always get the incumbent's list
    dropped: tuple[str, ...] = ()
    version: int = 0  # version of the plan when the last ranker was dropped

    @property
    def words(self) -> str:
        """The state in words, for a person who reads it."""
        mode = {
            RUNS: "running, with all users" if self.share == 1 else f"running, with {self.share:.3g} of the users",
            PAUSED: f"paused; 'resume' serves {self.winner}" if self.winner else "paused",
            WINNER: f"{self.winner} is served",
            ENDED: f"ended; {self.winner} is served" if self.winner else "ended",
        }[self.mode]
        held = f"; {self.holdback:.3g} held back" if self.holdback and self.mode != ENDED else ""
        return mode + held + (f"; dropped: {', '.join(self.dropped)}" if self.dropped else "")

    def left(self, settings: Settings) -> tuple[int, ...]:
        """Return the numbers of the rankers that are not dropped."""
        return tuple(k for k, name in enumerate(settings.rankers) if name not in self.dropped)

    def after(self, control: Control, settings: Settings) -> Controls:
        """Return the state after a control is used. Raises `InputError` if the use is invalid or changes nothing."""
        action, ranker = control.action, control.ranker
        errors.require_one_of("control", action, ACTIONS)
        if self.mode == ENDED:
            raise InputError("the experiment has ended; use another store to start again")
        if action in ("drop", "winner"):
            errors.require_one_of("ranker", ranker, settings.rankers)
            if ranker in self.dropped:
                raise InputError(f"ranker '{ranker}' is dropped{' already' if action == 'drop' else ', so not served'}")
        after: Controls = getattr(self, f"_{action}")(control, settings)
        if after == self:
            raise InputError(f"'{action}' changes nothing: {self.words}")
        return after

    def _pause(self, control: Control, settings: Settings) -> Controls:
        return self._replace(mode=PAUSED)

    def _resume(self, control: Control, settings: Settings) -> Controls:
        back_to_winner = self.mode == PAUSED and self.winner
        return self._replace(mode=WINNER) if back_to_winner else self._replace(mode=RUNS, winner=None)

    def _winner(self, control: Control, settings: Settings) -> Controls:
        return self._replace(mode=WINNER, winner=control.ranker)

    def _end(self, control: Control, settings: Settings) -> Controls:
        return self._replace(mode=ENDED, winner=None if self.mode == PAUSED else self.winner)

    def _share(self, control: Control, settings: Settings) -> Controls:
        share = self.share if control.share is None else control.share
        holdback = self.holdback if control.holdback is None else control.holdback
        require_shares(share, holdback)
        return self._replace(share=float(share), holdback=float(holdback))

    def _drop(self, control: Control, settings: Settings) -> Controls:
        ranker = control.ranker
        if ranker == settings.incumbent:
            raise InputError(f"ranker '{ranker}' is the incumbent, which is served outside of the experiment")
        if self.mode == WINNER and ranker == self.winner:
            raise InputError(f"ranker '{ranker}' is served as the winner; resume first")
        if len(settings.rankers) - len(self.dropped) <= 2:
            raise InputError("at least two rankers must remain; to serve one ranker, use 'winner'")
        winner = None if ranker == self.winner else self.winner
        return self._replace(winner=winner, dropped=(*self.dropped, ranker), version=control.version)


def fold(controls: Iterable[Control], settings: Settings) -> Controls:
    """Return the state of an experiment after its controls were used in this order."""
    state = Controls(share=settings.share, holdback=settings.holdback)
    for control in controls:
        state = state.after(control, settings)
    return state


def controls_in(db: sqlite3.Connection) -> list[Control]:
    """Return all uses of controls that a store contains."""
    return [Control.of_row(*row) for row in db.execute("SELECT time, action, value, who FROM controls ORDER BY n")]


def add_control(db: sqlite3.Connection, settings: Settings, control: Control) -> Controls:
    """Store the use of a control, and return the new state. The caller begins and ends the transaction."""
    require_text("the name of the operator", control.who, 100, empty=True)
    if control.action != "share" and (control.share, control.holdback) != (None, None):
        raise InputError(f"'{control.action}' takes no share and no holdback")
    if control.ranker and control.action not in ("drop", "winner"):
        raise InputError(f"'{control.action}' takes no ranker")
    (version,) = db.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()
    control = control._replace(version=version)
    after = fold(controls_in(db), settings).after(control, settings)
    db.execute("INSERT INTO controls (time, action, value, who) VALUES (?, ?, ?, ?)", control.row())
    return after


def require_policy(settings: Settings, before: Controls, control: Control) -> None:
    """Raise `InputError` if a ranker is to be dropped, but the policy cannot work without this ranker."""
    if control.action == "drop":
        Planner(settings, before.after(control, settings).left(settings))  # too slow for a transaction


def control_store(store: str | Path, control: Control) -> Controls:
    """Use a control of an experiment, and return the new state. Another process may serve the experiment."""
    with closing(connected(store)) as db:
        try:
            settings = settings_in(db, store)
            require_policy(settings, fold(controls_in(db), settings), control)
            db.execute("BEGIN IMMEDIATE")
            after = add_control(db, settings, control._replace(time=time.time()))
            db.execute("COMMIT")
        except sqlite3.Error as error:
            raise StoreError(f"{store}: cannot be written now: {error}") from None
    return after


def read_controls(store: str | Path) -> tuple[Controls, list[Control]]:
    """Read the state of an experiment (running, paused and so on) from its store, and all uses of controls."""
    with reading(store) as db:
        used = controls_in(db)
        return fold(used, settings_in(db, store)), used
