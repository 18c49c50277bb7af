"""The calls of a live experiment, its answers and refusals.

A refusal is one sentence without keys and paths of the server, so a client may see it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ltr_duel.core import InputError


class Decide(NamedTuple):
    """A search, which needs a page.

    Examples
    --------
    >>> Decide("red shoes", {"old": ["a", "b"], "new": ["b", "c"]}).user
    ''
    """

    query: str
    rankings: Mapping[str, Sequence[Hashable]]  # ranker -> document ids, best first
    user: str = ""  # empty for an unknown one
    offset: int = 0  # documents of the page above the part to show
    limit: int | None = None  # documents of the part; None for all that follow
    token: str = ""  # of a page to show again, or to continue
    context: Mapping[str, str] = MappingProxyType({})  # further facts, by the names of the settings
    joined: bool = False  # whether `Experiment.outside` has admitted it, so the switches are not applied again


class Record(NamedTuple):
    """The clicks on a page.

    Examples
    --------
    >>> Record("token", ["a"]).clicks
    ['a']
    """

    token: str
    clicks: Iterable[Any]  # ids of shown documents, in any order, or outcomes: {"document", "kind", "value", "id"}
    final: bool = True  # False: the page stays open until its deadline, and later reports add to it
    late: bool = False  # whether the page may be closed already; the outcomes are kept for the log alone


class Drop(NamedTuple):
    """A page was not delivered: it is closed without an outcome."""

    page: int  # number of the page


class Decision(NamedTuple):
    """A page to show.

    Examples
    --------
    >>> Decision(1, ("a", "b"), ("old", "new"), "token", 1800.0).shown
    ('a', 'b')
    """

    page: int  # number of the page, from 1; 0 outside of the experiment
    shown: tuple[Any, ...]  # document ids, from the top, or of the requested part
    rankers: tuple[str, ...]  # the rankers of its lists, in the policy's order; a single one is not compared
    token: str  # for `Record`
    expires: float  # its deadline: seconds of the experiment's clock
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
    """A token is not of this experiment: damaged, signed by another key, or made for another experiment.

    Examples
    --------
    >>> issubclass(TokenError, InputError)
    True
    """


class ExpiredError(InputError):
    """A page was closed before its clicks came: at its deadline, or to make room.

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
    """The store cannot be written now: the request has changed nothing, and may be repeated.

    Examples
    --------
    >>> issubclass(StoreError, InputError)
    True
    """
