"""Outcomes beyond clicks: of which kind, on which document, worth how much; reported with the clicks, or days later.

The rankers of a page are credited with one kind of outcome, by default clicks, while the page is open. All other
outcomes, and those of a page that is closed, are kept for the log and change neither the policy nor the state. An
outcome is known by its page, document, kind and id, so a report that is repeated adds nothing.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple

from ltr_duel.core import InputError, errors
from ltr_duel.live.calls import ExpiredError, Record
from ltr_duel.live.lists import places_of, require_text
from ltr_duel.live.rows import read_ids
from ltr_duel.live.schema import BEFORE, NAMELESS
from ltr_duel.live.settings import Settings
from ltr_duel.live.store import Store

CLICK = "click"
_KEYS = ("kind", "document", "value", "id")
_KIND = re.compile(r"[a-z][a-z0-9_]{0,31}")
_LONGEST_ID, _LARGEST = 100, 1e12
_MOST = 200  # outcomes of a page
_DAY = 86_400.0


class Outcome(NamedTuple):
    """A row of ``outcomes``."""

    place: int  # of the document, from 0; -1 if it is of the page as a whole
    kind: str
    name: str
    value: float


class Outcomes:
    """Reads reports and keeps the outcomes in them."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings, self._store = settings, store

    def read(self, page: int, call: Record) -> tuple[Iterable[Hashable], list[Outcome]]:
        """Return the credited documents of a report, and the outcomes to keep that are not kept yet.

        Raises `InputError` for an outcome that there cannot be, or too many of them, and `ExpiredError` for one with an
        id, of a page that was forgotten.
        """
        items = call.clicks
        if items is None:
            raise InputError("clicks are a list of document ids, not None")
        if isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
            raise InputError(f"clicks are a list of document ids, not {errors.shown(items)}")
        items = list(items)
        if not (call.late or self._settings.credit != CLICK or any(isinstance(one, Mapping) for one in items)):
            return items, []
        *_, text, _, depth = self._store.shown(page)
        ids = read_ids(text)[:depth]
        clicks, kept = [], {one[:3] for one in self._store.outcomes(page)}
        new: dict[tuple[int, str, str], Outcome] = {}
        for one in items:
            plain = not isinstance(one, Mapping)
            outcome = _read({"kind": CLICK, "document": one} if plain else one, ids)
            if not call.late and outcome.kind == self._settings.credit and outcome.place >= 0 and outcome.value > 0:
                clicks.append(ids[outcome.place])
                if plain:
                    continue
            if outcome[:3] not in kept:
                new.setdefault(outcome[:3], outcome)
        if len(kept) + len(new) > _MOST:
            raise InputError(f"a page has at most {_MOST} outcomes beside its clicks")
        if any(one.name for one in new.values()):
            self._require_known(page)
        return clicks, list(new.values())

    def _require_known(self, page: int) -> None:
        """Refuse ids of a page that was forgotten: nothing would forget them, nor tell those that it had already."""
        query, user = self._store.asked(page)
        at, before = self._store.shown(page)[0], self._store.about(BEFORE) or 0.0
        if (not query and user.startswith(NAMELESS)) or not isinstance(at, float) or at < before:
            raise ExpiredError(
                "user and query of the page were forgotten: an outcome with an 'id' is not kept any more"
            )

    def keep(self, page: int, outcomes: list[Outcome], now: float) -> None:
        """Write outcomes."""
        for one in outcomes:
            self._store.add_outcome(page, one, now)

    def require_in_time(self, page: int, now: float) -> None:
        """Refuse outcomes of a page that was shown too long ago."""
        if now > self._store.shown(page)[0] + self._settings.late_days * _DAY:
            raise ExpiredError(f"the page was shown more than {self._settings.late_days:g} days ago")


def _read(given: Mapping[str, Any], ids: tuple[Any, ...]) -> Outcome:
    for key in given:
        if key not in _KEYS:
            raise InputError(f"an outcome has no key {errors.shown(key)} ({', '.join(_KEYS)})")
    kind, value, name = given.get("kind", ""), given.get("value", 1.0), given.get("id", "")
    if not isinstance(kind, str) or not _KIND.fullmatch(kind):
        raise InputError("the 'kind' of an outcome is a word of up to 32 letters a to z, digits and '_'")
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _LARGEST:
        raise InputError(f"the 'value' of an outcome is a number from {-_LARGEST:g} to {_LARGEST:g}")
    require_text("the 'id' of an outcome", name)
    if len(name) > _LONGEST_ID:
        raise InputError(f"the 'id' of an outcome has at most {_LONGEST_ID} characters")
    (place,) = places_of(ids, [given["document"]]) if "document" in given else (-1,)
    return Outcome(place, kind, name, float(value))
