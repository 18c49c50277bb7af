"""Check what a search page sends: searches, and reports of events.

Error messages contain no secrets and no paths, so the service may send them to clients.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ltr_duel.core import InputError, errors

LONGEST_TEXT = 10_000  # largest number of characters of a query or of a user's id
FORGOTTEN = "forgotten-"  # prefix of the random names of forgotten users
_LONGEST_CONTEXT = _LONGEST_ID = 100
_MOST_EVENTS, _LARGEST_VALUE = 200, 1e12
_KIND = re.compile(r"[a-z][a-z0-9_]{0,31}")


class StoreError(InputError):
    """The store cannot be read or written now. The call has changed nothing, and you may repeat it.

    Examples
    --------
    >>> issubclass(StoreError, InputError)
    True
    """


class Event(NamedTuple):
    """What a user did on a page. If two events of a page have the same kind, document and id, the second is ignored.

    Parameters
    ----------
    kind : str
        What happened, as a word of up to 32 letters a to z, digits and ``_``. For example, ``view`` says that the page
        was displayed.
    document : str or int, optional
        The id of a document on the page. By default, the event concerns the whole page.
    value : float
        A number such as a price; 1 by default. Only events with a positive value influence which ranker wins.
    id : str
        A text that distinguishes events of the same kind on the same document, such as the id of an order.

    Examples
    --------
    >>> Event("click", "d7").value
    1.0
    """

    kind: str
    document: Any = None
    value: float = 1.0
    id: str = ""


class Search(NamedTuple):
    """A request for the page of a search, with the parameters of `Experiment.decide`."""

    user: str
    query: str
    rankings: Mapping[str, Sequence[Any]]
    context: Mapping[str, str] = MappingProxyType({})


class Report(NamedTuple):
    """A report of events, with the parameters of `Experiment.report`."""

    token: str
    events: Sequence[Any]


def require_text(name: str, text: Any, longest: int = LONGEST_TEXT, *, empty: bool = False) -> None:
    """Raise `InputError` if a value is not a string, is too long or empty, or is not valid Unicode."""
    if not isinstance(text, str):
        raise InputError(f"{name} must be a string, not {errors.shown(text)}")
    if len(text) > longest:
        raise InputError(f"{name} must have at most {longest:,} characters, not {len(text):,}")
    if not (text or empty):
        raise InputError(f"{name} must not be empty")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{name} is not valid Unicode: it contains an unpaired surrogate") from None


def require_search(call: Search, names: Sequence[str]) -> None:
    """Raise `InputError` if a search is invalid. ``names`` lists the attributes that its context may have."""
    require_text("the user", call.user)
    require_text("the query", call.query)
    if call.user.startswith(FORGOTTEN):
        raise InputError(f"the user must not begin with '{FORGOTTEN}', as forgotten users do")
    context: Any = call.context
    if not isinstance(context, Mapping):
        raise InputError(f"the context is a mapping of names to strings, not {errors.shown(context)}")
    for name, value in context.items():
        if name not in names:
            raise InputError(f"the settings define no context {errors.shown(name)} ({', '.join(names) or 'none'})")
        require_text(f"the context '{name}'", value, _LONGEST_CONTEXT, empty=True)


def read_events(events: Any, shown: Sequence[str]) -> dict[tuple[str, int, str], float]:
    """Check events, and return the value of each event by its kind, position and id.

    The position is the place of the document in ``shown``, from 1, or 0 if the event has no document. If an event is
    repeated, its first value is used.
    """
    if isinstance(events, str | bytes | Mapping) or not isinstance(events, Iterable):
        raise InputError(f"events are a list, not {errors.shown(events)}")
    values: dict[tuple[str, int, str], float] = {}
    for event in events:
        kind, document, value, name = event if isinstance(event, Event) else _event(event)
        if not isinstance(kind, str) or not _KIND.fullmatch(kind):
            raise InputError("the 'kind' of an event is a word of up to 32 letters a to z, digits and '_'")
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not abs(value) <= _LARGEST_VALUE or math.isnan(value):
            raise InputError(f"the 'value' of an event is a number from {-_LARGEST_VALUE:g} to {_LARGEST_VALUE:g}")
        require_text("the 'id' of an event", name, _LONGEST_ID, empty=True)
        try:
            position = 0 if document is None else 1 + shown.index(str(document))
        except ValueError:
            raise InputError(f"document {errors.shown(document)} is not on the page") from None
        values.setdefault((kind, position, name), float(value))
    if len(values) > _MOST_EVENTS:
        raise InputError(f"a report has at most {_MOST_EVENTS} events")
    return values


def _event(value: Any) -> Event:
    if not isinstance(value, Mapping):
        raise InputError(f"an event is an object with a 'kind', not {errors.shown(value)}")
    for key in value:
        if key not in Event._fields:
            raise InputError(f"an event has no key {errors.shown(key)} ({', '.join(Event._fields)})")
    return Event(**{"kind": "", **value})
