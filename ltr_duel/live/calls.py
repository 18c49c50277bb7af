"""The calls of a live experiment, with their answers and errors.

Messages of errors contain no keys and no paths of the server, so they may be sent to clients.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ltr_duel.core import InputError


class Decide(NamedTuple):
    """A search, for which a page is requested.

    Examples
    --------
    >>> Decide("red shoes", {"old": ["a", "b"], "new": ["b", "c"]}).user
    ''
    """

    query: str
    rankings: Mapping[str, Sequence[Hashable]]  # ranker -> document ids, best first
    user: str = ""  # empty for an unknown user
    offset: int = 0  # number of documents above the part to show
    limit: int | None = None  # number of documents in the part; None: all that follow
    token: str = ""  # token of a page to show again or to continue
    context: Mapping[str, str] = MappingProxyType({})  # further attributes, named in the settings
    joined: bool = False  # whether `Experiment.outside` has found that the search is in the experiment


class Record(NamedTuple):
    """The clicks on a page.

    Examples
    --------
    >>> Record("token", ["a"]).clicks
    ['a']
    """

    token: str
    clicks: Iterable[Any]  # ids of shown documents, in any order, or outcomes: {"document", "kind", "value", "id"}
    final: bool = True  # False: the page stays open until its deadline, and later reports add clicks
    late: bool = False  # True: the page may already be closed, and the outcomes are stored for the log only


class Drop(NamedTuple):
    """Close a page without an outcome, because the page was not delivered."""

    page: int  # number of the page


class Decision(NamedTuple):
    """A page to show.

    Examples
    --------
    >>> Decision(1, ("a", "b"), ("old", "new"), "token", 1800.0).shown
    ('a', 'b')
    """

    page: int  # number of the page, from 1; 0 outside of the experiment
    shown: tuple[Any, ...]  # document ids of the page or of the requested part, from the top
    rankers: tuple[str, ...]  # the rankers of the page, in the policy's order; a single ranker is not compared
    token: str  # for `Record`
    expires: float  # deadline in seconds of the experiment's clock
    served: str = "experiment"  # or why the page is outside of it: paused, winner, ended, share, holdback, away, later
    total: int = 0  # number of documents on the whole page


class Recorded(NamedTuple):
    """The result of a report of clicks.

    Examples
    --------
    >>> Recorded(1, ("old", "new"), {("old", "new"): -1.0}).credit
    {('old', 'new'): -1.0}
    """

    page: int
    rankers: tuple[str, ...]
    credit: dict[tuple[str, str], float]  # +1: the first ranker won, -1: the second, 0: tie; empty if no pair counts


class TokenError(InputError):
    """A token belongs to no page of this experiment: it is damaged, signed by another key, or of another experiment.

    Examples
    --------
    >>> issubclass(TokenError, InputError)
    True
    """


class ExpiredError(InputError):
    """A page was closed before its clicks arrived, at its deadline or at the limit of open pages.

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
    """More requests are queued than the settings of a service allow."""


class StoreError(InputError):
    """The store cannot be read or written now; the request has changed nothing and may be repeated.

    Examples
    --------
    >>> issubclass(StoreError, InputError)
    True
    """
