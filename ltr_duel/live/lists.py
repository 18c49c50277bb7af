"""The lists of ids that a call brings: what a log could not hold is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ltr_duel.core import InputError, errors
from ltr_duel.live.calls import Decide
from ltr_duel.live.settings import Settings

_LONGEST_TEXT = 10_000  # characters of a query, or of a user
_LONGEST_CONTEXT = 100


def require_text(what: str, text: str) -> None:
    """Refuse what is no text that a store can hold."""
    if not isinstance(text, str):
        raise InputError(f"{what} must be a text, not {errors.shown(text)}")
    if len(text) > _LONGEST_TEXT:
        raise InputError(f"{what} must have at most {_LONGEST_TEXT:,} characters, not {len(text):,}")
    _require_unicode(what, text)


def require_query(text: str) -> None:
    """Refuse what is no text of a search; an empty one stands for a query that was forgotten."""
    require_text("the query", text)
    if not text:
        raise InputError("the query must not be empty")


def _require_unicode(what: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{what} is no text of Unicode: it holds half a character") from None


def require_ids(name: str, ids: Any) -> None:
    """Refuse ids that a log could not hold; interleaving checks the rest."""
    if not isinstance(ids, list | tuple | np.ndarray):
        raise InputError(f"the list of ranker '{name}' is not a list but {errors.shown(ids)}")
    kinds = set(map(type, ids))
    if str in kinds:
        texts = ids if len(kinds) == 1 else [one for one in ids if isinstance(one, str)]
        _require_unicode(f"an id of ranker '{name}'", "".join(texts))
    for kind in kinds - {str, int}:
        for one in ids:
            if type(one) is kind and (kind is bool or not _is_finite(one)):
                raise InputError(f"a document id is a text or a finite number, not {errors.shown(one)}")


def require_one_text(lists: Sequence[Sequence[Any]]) -> None:
    """Refuse ids that are the same in a log, which holds texts, as 1 and "1"."""
    if len(set().union(*(map(type, ids) for ids in lists))) > 1:
        ids = set().union(*lists)
        texts = Counter(map(str, ids))
        if len(texts) < len(ids):
            text = texts.most_common(1)[0][0]
            raise InputError(f"the lists hold document {errors.shown(text)} as a text and as a number")


def _is_finite(one: Any) -> bool:
    return isinstance(one, str) or (isinstance(one, int | float | np.number) and bool(np.isfinite(one)))


def plain_list(name: str, ids: Any, top: int) -> tuple[Any, ...]:
    """Return the documents shown of one ranker alone.

    Raises `InputError` for what `interleave` would refuse too.
    """
    require_ids(name, ids)
    given = ids.tolist() if isinstance(ids, np.ndarray) else ids
    if not given:
        raise InputError(f"the list of ranker '{name}' is empty")
    if len(set(given)) < len(given):
        twice = next(one for one, count in Counter(given).items() if count > 1)
        raise InputError(f"document {twice!r} is twice on the list of ranker '{name}'")
    return tuple(given[:top])


def require_context(context: Mapping[str, str], names: Sequence[str]) -> None:
    """Refuse a context with other names than these, or with other values than short texts."""
    if not isinstance(context, Mapping):
        raise InputError(f"the context is a mapping of names to texts, not {errors.shown(context)}")
    for name, value in context.items():
        if name not in names:
            raise InputError(f"the settings name no context {errors.shown(name)} ({', '.join(names) or 'none'})")
        require_text(f"the context '{name}'", value)
        if len(value) > _LONGEST_CONTEXT:
            raise InputError(f"the context '{name}' has at most {_LONGEST_CONTEXT} characters")


def require_search(call: Decide, settings: Settings) -> None:
    """Refuse a search that there cannot be, whether or not it takes part in the experiment."""
    require_query(call.query)
    require_text("the user", call.user)
    require_part(call)
    require_context(call.context, settings.context)
    if not isinstance(call.rankings, Mapping):
        raise InputError(f"rankings are a mapping of names to lists, not {errors.shown(call.rankings)}")
    for name in call.rankings:
        if name not in settings.rankers:
            raise errors.unknown_name("ranker", name, settings.rankers)


def require_part(call: Decide) -> None:
    """Refuse a part of a page that there cannot be."""
    errors.require_whole("the offset", call.offset, 0)
    if call.limit is not None:
        errors.require_whole("the limit", call.limit, 1)


def part_of(ids: tuple[Any, ...], call: Decide) -> tuple[Any, ...]:
    """Return the documents of a page that a search asks for."""
    return ids[call.offset :][: call.limit]


def depth_of(part: tuple[Any, ...], call: Decide) -> int:
    """Return how many documents of a page a user has seen to the end of a part."""
    return call.offset + len(part) if part else 0


def places_of(ids: Sequence[Any], clicks: Iterable[Hashable]) -> list[int]:
    """Return the clicked places from 0, ascending."""
    if isinstance(clicks, str | bytes | Mapping) or not isinstance(clicks, Iterable):
        raise InputError(f"clicks are a list of document ids, not {errors.shown(clicks)}")
    place = {one: k for k, one in enumerate(ids)}
    found = set()
    for one in clicks:
        try:
            found.add(place[one])
        except (KeyError, TypeError):
            raise InputError(f"the clicked document {errors.shown(one)} is not on the page") from None
    return sorted(found)
