"""Check the contents of searches and reports: ids, strings, outcomes. Values that a log cannot contain are refused.

One kind of outcome, by default clicks, credits the rankers of a page while the page is open. All other outcomes, and
outcomes of closed pages, are stored for the log and change neither the policy nor the state. An outcome is identified
by its page, document, kind and id, so a repeated report adds nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import InputError, errors
from ltr_duel.live.calls import Decide, ExpiredError, Record
from ltr_duel.live.rows import read_ids
from ltr_duel.live.schema import BEFORE, NAMELESS
from ltr_duel.live.settings import Settings
from ltr_duel.live.store import LiveStore

CLICK = "click"
_LONGEST_TEXT = 10_000  # characters of a query, or of a user
_LONGEST_CONTEXT = 100
_KEYS = ("kind", "document", "value", "id")
_KIND = re.compile(r"[a-z][a-z0-9_]{0,31}")
_LONGEST_ID, _LARGEST = 100, 1e12
_MOST = 200  # maximum number of outcomes of a page
_DAY = 86_400.0
_LATE_DAYS = 30  # days after a page was shown during which its other outcomes are accepted


def require_text(what: str, text: str) -> None:
    """Raise `InputError` unless the value is a string that a store can contain."""
    if not isinstance(text, str):
        raise InputError(f"{what} must be a string, not {errors.shown(text)}")
    if len(text) > _LONGEST_TEXT:
        raise InputError(f"{what} must have at most {_LONGEST_TEXT:,} characters, not {len(text):,}")
    _require_unicode(what, text)


def _require_unicode(what: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{what} is not valid Unicode: it contains an unpaired surrogate") from None


def require_ids(name: str, ids: Any) -> None:
    """Refuse a list of ids that a log cannot contain; `interleave` and `plain_list` check lists for other errors."""
    if not isinstance(ids, list | tuple | np.ndarray):
        raise InputError(f"the list of ranker '{name}' is not a list but {errors.shown(ids)}")
    kinds = set(map(type, ids))
    if str in kinds:
        texts = ids if len(kinds) == 1 else [one for one in ids if isinstance(one, str)]
        _require_unicode(f"an id of ranker '{name}'", "".join(texts))
    for kind in kinds - {str, int}:
        for one in ids:
            if type(one) is kind and (kind is bool or not _is_finite(one)):
                raise InputError(f"a document id is a string or a finite number, not {errors.shown(one)}")


def require_one_text(lists: Sequence[Sequence[Any]]) -> None:
    """Refuse ids that become equal strings in a log, such as 1 and "1"."""
    if len(set().union(*(map(type, ids) for ids in lists))) > 1:
        ids = set().union(*lists)
        texts = Counter(map(str, ids))
        if len(texts) < len(ids):
            text = texts.most_common(1)[0][0]
            raise InputError(f"the lists contain document {errors.shown(text)} as a string and as a number")


def _is_finite(one: Any) -> bool:
    return isinstance(one, str) or (isinstance(one, int | float | np.number) and bool(np.isfinite(one)))


def plain_list(name: str, ids: Any, top: int) -> tuple[Any, ...]:
    """Return the documents that a page of one ranker shows; refuse the lists that `interleave` refuses."""
    require_ids(name, ids)
    given = ids.tolist() if isinstance(ids, np.ndarray) else ids
    if not given:
        raise InputError(f"the list of ranker '{name}' is empty")
    if len(set(given)) < len(given):
        twice = next(one for one, count in Counter(given).items() if count > 1)
        raise InputError(f"document {twice!r} appears twice on the list of ranker '{name}'")
    return tuple(given[:top])


def require_search(call: Decide, settings: Settings) -> None:
    """Refuse an invalid search, whether the search is in the experiment or outside of it."""
    require_text("the query", call.query)
    if not call.query:  # an empty query stands for a forgotten query
        raise InputError("the query must not be empty")
    require_text("the user", call.user)
    errors.require_whole("the offset", call.offset, 0)
    if call.limit is not None:
        errors.require_whole("the limit", call.limit, 1)
    _require_context(call.context, settings.context)
    if not isinstance(call.rankings, Mapping):
        raise InputError(f"rankings must be a mapping of names to lists, not {errors.shown(call.rankings)}")
    for name in call.rankings:
        if name not in settings.rankers:
            raise errors.unknown_name("ranker", name, settings.rankers)


def _require_context(context: Mapping[str, str], names: Sequence[str]) -> None:
    if not isinstance(context, Mapping):
        raise InputError(f"the context is a mapping of names to strings, not {errors.shown(context)}")
    for name, value in context.items():
        if name not in names:
            raise InputError(f"the settings define no context {errors.shown(name)} ({', '.join(names) or 'none'})")
        require_text(f"the context '{name}'", value)
        if len(value) > _LONGEST_CONTEXT:
            raise InputError(f"the context '{name}' has at most {_LONGEST_CONTEXT} characters")


def part_of(ids: tuple[Any, ...], call: Decide) -> tuple[Any, ...]:
    """Return the part of a page that a search requests."""
    return ids[call.offset :][: call.limit]


def depth_of(part: tuple[Any, ...], call: Decide) -> int:
    """Return the number of documents from the top of a page to the end of a part; 0 for an empty part."""
    return call.offset + len(part) if part else 0


def places_of(ids: Sequence[Any], clicks: Iterable[Hashable]) -> list[int]:
    """Return the clicked positions, from 0, ascending."""
    place = {one: k for k, one in enumerate(ids)}
    found = set()
    for one in clicks:
        try:
            found.add(place[one])
        except (KeyError, TypeError):
            raise InputError(f"the clicked document {errors.shown(one)} is not on the page") from None
    return sorted(found)


class Outcome(NamedTuple):
    """A row of ``outcomes``."""

    place: int  # position of the document, from 0; -1 for the whole page
    kind: str
    name: str
    value: float


class Outcomes:
    """Read reports and store their outcomes."""

    def __init__(self, settings: Settings, store: LiveStore) -> None:
        self._settings, self._store = settings, store

    def read(self, page: int, call: Record) -> tuple[Iterable[Hashable], list[Outcome]]:
        """Return the credited documents of a report, and its outcomes that the store does not contain yet.

        Raises `ExpiredError` for an outcome with an id if the page was forgotten.
        """
        items = call.clicks
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
            raise InputError(f"a page has at most {_MOST} outcomes in addition to its clicks")
        if any(one.name for one in new.values()):
            self._require_known(page)
        return clicks, list(new.values())

    def _require_known(self, page: int) -> None:
        """Refuse outcomes with ids for a forgotten page.

        If they were stored, new ids would never be forgotten, because a page is forgotten only once. A repeated outcome
        would be stored again, because forgetting has replaced its id.
        """
        query, user = self._store.asked(page)
        at, before = self._store.shown(page)[0], self._store.about(BEFORE) or 0.0
        if (not query and user.startswith(NAMELESS)) or not isinstance(at, float) or at < before:
            raise ExpiredError(
                "user and query of the page were forgotten: an outcome with an 'id' is no longer accepted"
            )

    def keep(self, page: int, outcomes: list[Outcome], now: float) -> None:
        """Write outcomes to the store."""
        for one in outcomes:
            self._store.add_outcome(page, one, now)

    def require_in_time(self, page: int, now: float) -> None:
        """Refuse outcomes of a page that was shown too long ago."""
        if now > self._store.shown(page)[0] + _LATE_DAYS * _DAY:
            raise ExpiredError(f"the page was shown more than {_LATE_DAYS} days ago")


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
