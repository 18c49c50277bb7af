"""What an interleaving method is, and one comparison from the query to the outcome.

    query --draw--> shown list, owners --click model--> clicks --credit--> who won

A method is a NamedTuple of constants and scratch arrays with implementations of `draw_pair` and `credit_pair`, or of
`draw_slate` and `credit_slate`, or of both pairs. Building the list and scoring the clicks are separate, so that
each can be tested against enumeration.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.clicks.model import ClickModel, simulate_clicks
from ltr_duel.core.arrays import FloatVector, IntVector, SignMatrix, SmallIntMatrix, SmallIntVector
from ltr_duel.core.errors import InputError, unknown_name
from ltr_duel.core.jit import dispatched, kernel
from ltr_duel.core.registry import Registry
from ltr_duel.rankers.rankings import Rankings


class Lists(NamedTuple):
    """The rankings as kernels see them; query q is columns ``query_ptr[q]:query_ptr[q + 1]``."""

    order: SmallIntMatrix  # (K, n_docs) positions, best first
    rank: SmallIntMatrix  # (K, n_docs) 1 = best
    query_ptr: IntVector  # (n_queries + 1,)


class Page(NamedTuple):
    """One shown list, as scratch: room for ``top`` documents."""

    shown: IntVector  # (top,) document positions, from the top
    owner: IntVector  # (top,) who contributed the document: 0, 1, ... within the pair or slate; -1 for nobody
    clicks: IntVector  # (top,) places of the list that were clicked, ascending


@dispatched
def draw_pair(
    method: Any, lists: Lists, query: int, first: int, second: int, page: Page, rng: np.random.Generator
) -> int:
    """Interleave two rankers: fill ``page.shown`` and ``page.owner``, and return the length of the list."""
    raise TypeError("this method does not compare two rankers")


@dispatched
def credit_pair(
    method: Any, lists: Lists, query: int, first: int, second: int, page: Page, length: int, n_clicks: int
) -> float:
    """Score the clicks: +1 if ``first`` won, -1 if ``second`` did, 0 for a tie, or a number between by the rule."""
    raise TypeError("this method does not compare two rankers")


@dispatched
def draw_slate(
    method: Any, lists: Lists, query: int, slate: IntVector, size: int, page: Page, rng: np.random.Generator
) -> int:
    """Multileave ``slate[:size]``: fill ``page.shown`` and ``page.owner``, and return the length of the list."""
    raise TypeError("this method does not compare sets of rankers")


@dispatched
def credit_slate(
    method: Any,
    lists: Lists,
    query: int,
    slate: IntVector,
    size: int,
    page: Page,
    length: int,
    n_clicks: int,
    won: SignMatrix,
) -> None:
    """Score the clicks: for places a < b of the slate, ``won[a, b]`` is +1 if ``slate[a]`` won, -1 if lost, else 0."""
    raise TypeError("this method does not compare sets of rankers")


@dataclass(frozen=True)
class Method:
    """A registered way of comparing rankers.

    Parameters
    ----------
    name : str
    pairs, slates : bool
        Whether it compares two rankers, and whole sets of them.
    outcomes : tuple of str
        Its outcome rules for pairs, the default first.
    open : callable
        ``open(top, longest_query, n_rankers, outcome) -> NamedTuple`` with scratch of its own.
    kind : type
        The class of that NamedTuple.
    reference : str
    """

    name: str
    pairs: bool
    slates: bool
    outcomes: tuple[str, ...]
    open: Callable[[int, int, int, str], Any] = field(repr=False)
    kind: type = field(repr=False)
    reference: str = field(repr=False)


METHODS: Registry[Method] = Registry("comparison method", "ltr_duel.interleaving")


class Comparison(NamedTuple):
    """Everything one worker needs to compare rankers on simulated users. The page and the method are scratch."""

    lists: Lists
    relevance: SmallIntVector  # (n_docs,)
    p_click: FloatVector  # (grades,)
    p_stop: FloatVector  # (grades,)
    method: Any
    page: Page


@dataclass(frozen=True)
class Comparer:
    """A choice of rankings, click model, method and outcome rule: how rankers are to be compared.

    Parameters
    ----------
    rankings : Rankings
    clicks : ClickModel
        Must be defined for the grades of the corpus.
    method : str
        A name in `METHODS`.
    outcome : str, optional
        Its outcome rule; the method's default if not given.
    top : int
        Documents shown, at most 1,000.

    Raises
    ------
    InputError
        For an unknown method or rule, a wrong number of grades, or a corpus without any relevant document.
    """

    rankings: Rankings
    clicks: ClickModel
    method: str = "probabilistic"
    outcome: str = ""
    top: int = 10

    def __post_init__(self) -> None:
        method = METHODS[self.method]
        if not self.outcome:
            object.__setattr__(self, "outcome", method.outcomes[0])
        if self.outcome not in method.outcomes:
            raise unknown_name(f"outcome rule of {self.method} called", self.outcome, method.outcomes)
        if not 1 <= self.top <= 1000:
            raise InputError(f"the number of documents shown must be between 1 and 1000, not {self.top}")
        corpus = self.rankings.provenance.get("corpus", "the corpus")
        if self.clicks.grades != self.rankings.grades:
            raise InputError(
                f"click model '{self.clicks.name}' has {self.clicks.grades} grades; {corpus} has {self.rankings.grades}"
            )
        if not self.rankings.relevance.any():
            raise InputError(f"{corpus}: no document has a grade above 0, so clicks can tell nothing about rankers")

    @property
    def provenance(self) -> dict[str, Any]:
        """Everything that determines the law of an outcome, as JSON."""
        return {
            **self.rankings.provenance,
            "clicks": self.clicks.name,
            "p_click": list(self.clicks.p_click),
            "p_stop": list(self.clicks.p_stop),
            "stop_on": "click",
            "method": self.method,
            "outcome": self.outcome,
            "top": self.top,
            "queries": self.rankings.n_queries,
            "documents": len(self.rankings.relevance),
        }

    def open(self) -> Comparison:
        """Return what kernels need, with scratch of its own."""
        rankings = self.rankings
        return Comparison(
            Lists(rankings.order, rankings.rank, rankings.query_ptr),
            rankings.relevance,
            np.asarray(self.clicks.p_click, np.float64),
            np.asarray(self.clicks.p_stop, np.float64),
            METHODS[self.method].open(self.top, rankings.longest_query, len(rankings), self.outcome),
            Page(*(np.zeros(self.top, np.int64) for _ in Page._fields)),
        )


@kernel
def compare_pair(
    comparison: Comparison,
    query: int,
    first: int,
    second: int,
    lists_rng: np.random.Generator,
    clicks_rng: np.random.Generator,
) -> float:
    """Show one interleaved list to one user: the outcome, from -1 (``second`` won) to +1 (``first`` won)."""
    c = comparison
    length = draw_pair(c.method, c.lists, query, first, second, c.page, lists_rng)
    start = c.lists.query_ptr[query]
    n_clicks = simulate_clicks(c.p_click, c.p_stop, c.relevance, start, c.page.shown, length, c.page.clicks, clicks_rng)
    if n_clicks == 0:
        return 0.0
    return credit_pair(c.method, c.lists, query, first, second, c.page, length, n_clicks)


@kernel
def compare_slate(
    comparison: Comparison,
    query: int,
    slate: IntVector,
    size: int,
    won: SignMatrix,
    lists_rng: np.random.Generator,
    clicks_rng: np.random.Generator,
) -> int:
    """Show one multileaved list to one user; fills ``won`` for places a < b (0 = tie) and returns the clicks."""
    c = comparison
    length = draw_slate(c.method, c.lists, query, slate, size, c.page, lists_rng)
    start = c.lists.query_ptr[query]
    n_clicks = simulate_clicks(c.p_click, c.p_stop, c.relevance, start, c.page.shown, length, c.page.clicks, clicks_rng)
    if n_clicks == 0:
        for a in range(size):
            for b in range(a + 1, size):
                won[a, b] = 0
    else:
        credit_slate(c.method, c.lists, query, slate, size, c.page, length, n_clicks, won)
    return n_clicks
