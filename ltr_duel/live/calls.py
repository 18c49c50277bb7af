"""What is asked of a live experiment, what it answers, and why it refuses.

A refusal is one sentence that holds no key and no path of the server: a client may be told.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ltr_duel.core import InputError


class Decide(NamedTuple):
    """A search was made; which list is to be shown is asked.

    Examples
    --------
    >>> Decide("red shoes", {"old": ["a", "b"], "new": ["b", "c"]}).user
    ''
    """

    query: str
    rankings: Mapping[str, Sequence[Hashable]]  # ranker -> document ids, best first
    user: str = ""  # who asked; empty if nobody knows
    offset: int = 0  # documents of the page above the part that is to be shown
    limit: int | None = None  # documents of the part; all that follow if not given
    token: str = ""  # of a page that is to be shown again, or continued
    context: Mapping[str, str] = MappingProxyType({})  # what else is known of the search, by the names of the settings
    joined: bool = False  # whether `Experiment.outside` has let it in, so the switches are not looked at again


class Record(NamedTuple):
    """A page was seen, and this was clicked.

    Examples
    --------
    >>> Record("token", ["a"]).clicks
    ['a']
    """

    token: str
    clicks: Iterable[Any]  # ids of shown documents, in any order, or outcomes: {"document", "kind", "value", "id"}
    final: bool = (
        True  # whether that is all; if not, the page stays open until its deadline, and later reports add to it
    )
    late: bool = False  # whether the page may be closed already; the outcomes are kept for the log alone


class Drop(NamedTuple):
    """A page was not delivered: it is closed, and says nothing about its rankers."""

    page: int  # number of the page


class Decision(NamedTuple):
    """A page to show.

    Examples
    --------
    >>> Decision(1, ("a", "b"), ("old", "new"), "token", 1800.0).shown
    ('a', 'b')
    """

    page: int  # number of the page, from 1; 0 outside of the experiment
    shown: tuple[Any, ...]  # document ids, from the top, or of the part that was asked for
    rankers: tuple[str, ...]  # whose lists are on it, in the policy's order; one alone is not compared
    token: str  # for `Record`
    expires: float  # when it counts as seen without clicks: seconds of the experiment's clock
    served: str = "experiment"  # or why the search takes no part: paused, winner, ended, share, holdback, away, later
    total: int = 0  # documents of the whole page


class Recorded(NamedTuple):
    """Clicks that were counted.

    Examples
    --------
    >>> Recorded(1, ("old", "new"), {("old", "new"): -1.0}).credit
    {('old', 'new'): -1.0}
    """

    page: int
    rankers: tuple[str, ...]
    credit: dict[tuple[str, str], float]  # who won: +1 the first, -1 the second, 0 a tie; nothing of one ranker alone


class TokenError(InputError):
    """A token is none of this experiment's: damaged, signed by nobody who may, or made for another experiment.

    Examples
    --------
    >>> issubclass(TokenError, InputError)
    True
    """


class ExpiredError(InputError):
    """A page was closed before these clicks came: at its deadline, or to make room.

    Examples
    --------
    >>> issubclass(ExpiredError, InputError)
    True
    """


class UsedError(InputError):
    """The clicks of a page were counted already.

    Examples
    --------
    >>> issubclass(UsedError, InputError)
    True
    """


class BusyError(InputError):
    """More requests wait than the settings of a service allow."""


class StoreError(InputError):
    """The store cannot be written now: nothing of the request happened, and it may be repeated.

    Examples
    --------
    >>> issubclass(StoreError, InputError)
    True
    """
