"""Simulate comparisons of rankers: draw a list, simulate the clicks of a user on it, and decide which ranker won.

Usually, documents with equal scores (tied documents) are put into an order once, before all comparisons. Two tie rules
draw a new random order in each comparison. The rule ``resample`` uses the new order for the list and for the credit.
The rule ``redraw_at_inference`` draws one order for the list and another order for the credit. A ranker may then get no
credit for a document that it contributed. ``redraw_at_inference`` repeats a mistake of a public implementation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.clicks import CLICK_NUMBERS, ClickModel, Users, simulate_clicks, users_of
from ltr_duel.core import (
    InputError,
    IntVector,
    MarkMatrix,
    SignMatrix,
    SmallIntVector,
    as_writable,
    components,
    errors,
    inlined,
    kernel,
    mapped,
    numbered,
    random_below,
)  # fmt: skip
from ltr_duel.interleaving.hooks import Lists, Shown, Size, credit_pair, credit_slate, draw_pair, draw_slate
from ltr_duel.interleaving.method import METHODS, Method
from ltr_duel.rankers import REDRAWING, Rankings, require_rankings

FIXED, RESAMPLED, REDRAWN = range(3)  # tied documents: one order for all comparisons, `resample`, `redraw_at_inference`
COMPARISON_NUMBERS = 1  # version number; it is raised if a seed gives other outcomes with the same method and users


class Comparison(NamedTuple):
    """Working memory for simulated comparisons. Make it with `Comparer.open`, once for each thread."""

    lists: Lists
    relevance: SmallIntVector  # (n_docs,)
    users: Users
    ties: int  # FIXED, RESAMPLED or REDRAWN
    tied: MarkMatrix  # (K, n_docs) 1 if the document at this position of the order ties with the document above it
    method: Any  # state of the method
    rows: IntVector  # (rankers,) 0, 1, ...: the rows of `current` for a set of rankers, if ties are redrawn
    page: Shown
    current: Lists  # the orders to use: `lists`, or the newest random orders of one query, (rankers, longest)
    pair: IntVector  # (2,) the two rankers of a pair, as an array


@dataclass(frozen=True)
class Comparer:
    """The settings of simulated comparisons: the rankers, the users and the comparison method.

    Parameters
    ----------
    rankings : Rankings
        The rankers to compare.
    clicks : ClickModel
        The model of the simulated users. It must have as many relevance grades as the corpus.
    method : str or Method
        The comparison method. Give its name, with parameters if you like (``probabilistic:tau=1``), or a `Method`.
    outcome : str, optional
        The rule that decides who won (the outcome rule); by default, the first rule of the method.
    top : int
        Number of documents in a list, at most 1,000.

    Raises
    ------
    InputError
        If a setting is invalid, or if the corpus has no relevant document.

    Examples
    --------
    >>> from ltr_duel.clicks import click_model
    >>> from ltr_duel.core import stream
    >>> from ltr_duel.data import make_corpus
    >>> from ltr_duel.rankers import feature_rankers
    >>> rankings = feature_rankers(make_corpus(queries=4, documents=20, features=10))
    >>> comparer = Comparer(rankings, click_model("perfect", grades=5), "team_draft")
    >>> compare_pair(comparer.open(), 0, 1, 2, stream(0, "lists"), stream(0, "clicks")) in (-1.0, 0.0, 1.0)
    True
    """

    rankings: Rankings
    clicks: ClickModel
    method: str | Method = "probabilistic"
    outcome: str = ""
    top: int = 10
    configured: components.Configured[Method] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        require_rankings(self.rankings)
        if not isinstance(self.clicks, ClickModel):
            raise InputError(f"clicks must be a ClickModel, not {errors.shown(self.clicks)}")
        object.__setattr__(self, "configured", METHODS.configure(self.method))
        method = self.configured.component
        object.__setattr__(self, "outcome", self.outcome or method.default_outcome())
        method.require_outcome(self.outcome)
        object.__setattr__(self, "top", errors.require_whole("the number of documents shown", self.top, 1, 1000))
        ties, corpus = self.rankings.provenance.get("ties"), self.rankings.provenance.get("corpus") or "the corpus"
        if self.clicks.grades != self.rankings.grades:
            grades = f"{self.clicks.grades} grades; {corpus} has {self.rankings.grades}"
            raise InputError(f"click model '{self.clicks.name}' has {grades}")
        if not method.compiled and ties in REDRAWING:
            raise InputError(
                f"method '{method.name}' solves one program for each query, so it cannot be used with the tie rule"
                f" '{ties}', which orders ties again in each comparison"
            )
        if not self.rankings.relevance.any():
            raise InputError(f"{corpus}: no document has a grade above 0, so clicks are not informative")

    @property
    def compiled(self) -> bool:
        """Whether numba compiles the functions of the method."""
        return self.configured.component.compiled

    @property
    def provenance(self) -> dict[str, Any]:
        """All settings on which outcomes depend, as values that JSON can store."""
        (_, method, params), clicks = self.configured, self.clicks
        optional = {"p_leave": list(clicks.p_leave), "p_notice": list(clicks.p_notice)}
        settings = {
            **self.rankings.provenance,
            "clicks": clicks.name, "p_click": list(clicks.p_click), "p_stop": list(clicks.p_stop),
            "stop_on": clicks.stop_on, "position_bias": clicks.position_bias,
            **{name: values for name, values in optional.items() if values},
            "method": method.name, "method_parameters": params._asdict(), "outcome": self.outcome, "top": self.top,
            "queries": self.rankings.n_queries, "documents": len(self.rankings.relevance),
        }  # fmt: skip
        return numbered(settings, method=method.version, comparison=COMPARISON_NUMBERS, clicks=CLICK_NUMBERS)

    def open(self) -> Comparison:
        """Return the arrays that `compare_pair` and `compare_slate` need. Each thread needs arrays of its own."""
        rankings, (_, method, params) = self.rankings, self.configured
        mapped.expect_few_reads((rankings.order, rankings.rank))
        size = Size(self.top, rankings.longest_query, max(2, len(rankings)))
        rules = {"resample": RESAMPLED, "redraw_at_inference": REDRAWN}
        ties = rules.get(str(rankings.provenance.get("ties")), FIXED)
        query_ptr = as_writable(rankings.query_ptr)
        lists = current = Lists(as_writable(rankings.order), as_writable(rankings.rank), query_ptr)
        if ties != FIXED:
            order, rank = np.zeros((2, size.rankers, size.longest), np.int16)
            current = Lists(order, rank, np.zeros(2, np.int64))
        return Comparison(
            lists,
            as_writable(rankings.relevance),
            users_of(self.clicks, self.top),
            ties,
            as_writable(rankings.tied),
            method.init(size, params, self.outcome),
            np.arange(size.rankers),
            Shown(*np.zeros((3, self.top), np.int64)),
            current,
            np.zeros(2, np.int64),
        )


@inlined
def compare_pair(
    comparison: Comparison, query: int, first: int, second: int, lists_rng: Generator, clicks_rng: Generator
) -> float:
    """Show one interleaved list to one simulated user, and return who won.

    Parameters
    ----------
    comparison : Comparison
        The result of `Comparer.open`.
    query, first, second : int
        The indices of the query and of the two rankers in ``rankings``.
    lists_rng, clicks_rng : numpy.random.Generator
        Random generators, one to draw the list and one to simulate the clicks.

    Returns
    -------
    float
        The outcome, from -1 (``second`` won) to +1 (``first`` won).

    Examples
    --------
    See `Comparer`.

    >>> callable(compare_pair)
    True
    """
    c = comparison
    row, i, j = query, first, second  # rows of the query and the rankers in `current`
    if c.ties != FIXED:
        c.pair[0] = first
        c.pair[1] = second
        redraw_ties(c, query, c.pair, 2, lists_rng)
        row, i, j = 0, 0, 1
    length = draw_pair(c.method, c.current, row, i, j, c.page, lists_rng)
    n_clicks = click_list(c, query, length, clicks_rng)
    if n_clicks == 0:
        return 0.0
    if c.ties == REDRAWN:
        redraw_ties(c, query, c.pair, 2, lists_rng)
    return credit_pair(c.method, c.current, row, i, j, c.page, length, n_clicks)


@inlined
def compare_slate(
    comparison: Comparison, query: int, slate: IntVector, size: int, won: SignMatrix, lists_rng: Generator,
    clicks_rng: Generator,
) -> int:  # fmt: skip
    """Show one multileaved list to one simulated user, and write who won.

    Parameters
    ----------
    comparison : Comparison
        The result of `Comparer.open`.
    query : int
        The index of the query in ``rankings``.
    slate : ndarray of int64
        The indices of the rankers to compare, which must differ. Entries after the first ``size`` are ignored.
    size : int
        Number of rankers to compare.
    won : ndarray of int8, shape (size, size) or larger
        The array for the outcomes. For a < b, ``won[a, b]`` is +1 if ``slate[a]`` won against ``slate[b]``, -1 if it
        lost, and 0 for a tie.
    lists_rng, clicks_rng : numpy.random.Generator
        Random generators, one to draw the list and one to simulate the clicks.

    Returns
    -------
    int
        The number of clicks.

    Examples
    --------
    >>> from ltr_duel.clicks import click_model
    >>> from ltr_duel.core import stream
    >>> from ltr_duel.data import make_corpus
    >>> from ltr_duel.rankers import feature_rankers
    >>> rankings = feature_rankers(make_corpus(queries=4, documents=20, features=10))
    >>> comparison = Comparer(rankings, click_model("perfect", grades=5), "sosm").open()
    >>> won, rng = np.zeros((3, 3), np.int8), stream(0, "example")
    >>> compare_slate(comparison, 0, np.array([4, 1, 7]), 3, won, rng, rng) <= 10
    True
    """
    c = comparison
    row, rows = query, slate
    if c.ties != FIXED:
        redraw_ties(c, query, slate, size, lists_rng)
        row, rows = 0, c.rows
    length = draw_slate(c.method, c.current, row, rows, size, c.page, lists_rng)
    n_clicks = click_list(c, query, length, clicks_rng)
    if n_clicks == 0:
        won[:size, :size] = 0
        return 0
    if c.ties == REDRAWN:
        redraw_ties(c, query, slate, size, lists_rng)
    credit_slate(c.method, c.current, row, rows, size, c.page, length, n_clicks, won)
    return n_clicks


@inlined
def click_list(c: Comparison, query: int, length: int, rng: Generator) -> int:
    """Simulate the clicks of a user on the shown list, and return the number of clicks."""
    start = c.lists.query_ptr[query]
    return simulate_clicks(c.users, c.relevance, start, c.page.shown, length, c.page.clicks, rng)


@kernel
def redraw_ties(comparison: Comparison, query: int, slate: IntVector, size: int, rng: Generator) -> None:
    """Shuffle the tied documents of a query for each ranker of a slate. Write the orders to ``comparison.current``."""
    current, start = comparison.current, comparison.lists.query_ptr[query]
    documents = comparison.lists.query_ptr[query + 1] - start
    current.query_ptr[1] = documents
    for a in range(size):
        begin = 0  # start of the run of tied documents
        for r in range(documents):
            if comparison.tied[slate[a], start + r] == 0:
                begin = r
            other = begin + random_below(r - begin + 1, rng)  # inside-out shuffle of the run
            current.order[a, r] = current.order[a, other]
            current.order[a, other] = comparison.lists.order[slate[a], start + r]
        for r in range(documents):
            current.rank[a, current.order[a, r]] = r + 1
