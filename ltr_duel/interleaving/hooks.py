"""The functions of an interleaving or multileaving method.

Each call is dispatched on the class of the state.

    query --draw--> shown list, owners --click model--> clicks --credit--> who won

The owner of a shown document is the ranker that contributed it. A ranker also owns the clicks on its documents.

A method is a module. It defines ``State``, a NamedTuple of constants and scratch arrays; ``init``, which returns a
state; and `draw_pair` and `credit_pair`, or `draw_slate` and `credit_slate`, or all four. Separate functions draw the
list and credit the clicks, so that tests can compare each function with an enumeration of all cases. Two optional
functions reduce the variance of estimates: `find_contributors` and `draw_mirrored`.

The result of a comparison does not depend on earlier comparisons with the same state. If a credit requires numbers from
the draw in addition to the list and its owners, the draw writes them into a float array ``kept`` of the state. A `Page`
of plain lists stores a copy of ``kept``, because the clicks are credited later, possibly in another process. The
functions need no decorator, because numba compiles them together with the loop that calls them; the same code also runs
as plain Python.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.random import Generator

from ltr_duel.core import FloatVector, IntVector, SignMatrix, SmallIntMatrix, dispatched_call


class Lists(NamedTuple):
    """Rankings as arrays for kernels; query q has the columns ``query_ptr[q]:query_ptr[q + 1]``."""

    order: SmallIntMatrix  # (K, n_docs) positions of documents within their query, best first
    rank: SmallIntMatrix  # (K, n_docs) rank of each document; 1 = best
    query_ptr: IntVector  # (n_queries + 1,)


class Shown(NamedTuple):
    """Scratch for one shown list of up to ``top`` documents."""

    shown: IntVector  # (top,) positions of the documents within their query, in the order of the list
    owner: IntVector  # (top,) owner of each document: 0, 1, ... within the pair or slate; -1 for no owner
    clicks: IntVector  # (top,) clicked positions of the list, ascending


class Size(NamedTuple):
    """The sizes on which the shapes of a method's arrays depend."""

    top: int  # number of documents shown
    longest: int  # number of documents of the largest query
    rankers: int  # number of rankers of the largest slate


@dispatched_call
def draw_pair(state: Any, lists: Lists, query: int, first: int, second: int, page: Shown, rng: Generator) -> int:
    """Interleave two rankers: fill ``page.shown`` and ``page.owner``, and return the length of the list."""
    raise TypeError("this method does not compare two rankers")


@dispatched_call
def credit_pair(
    state: Any, lists: Lists, query: int, first: int, second: int, page: Shown, length: int, n_clicks: int
) -> float:
    """Score one or more clicks: +1 if ``first`` won, -1 if ``second`` won, 0 for a tie, or a fraction in between."""
    raise TypeError("this method does not compare two rankers")


@dispatched_call
def draw_slate(state: Any, lists: Lists, query: int, slate: IntVector, size: int, page: Shown, rng: Generator) -> int:
    """Multileave the rankers ``slate[:size]``, as `draw_pair` does two."""
    raise TypeError("this method does not compare sets of rankers")


@dispatched_call
def credit_slate(
    state: Any, lists: Lists, query: int, slate: IntVector, size: int, page: Shown, length: int, n_clicks: int,
    won: SignMatrix,
) -> None:  # fmt: skip
    """Score the clicks: for a < b, set ``won[a, b]`` to +1 if ``slate[a]`` beat ``slate[b]``, -1 if it lost, else 0."""
    raise TypeError("this method does not compare sets of rankers")


@dispatched_call
def find_contributors(
    state: Any, lists: Lists, query: int, first: int, second: int, page: Shown, n_clicks: int, q: FloatVector
) -> None:
    """Write Pr(``first`` contributed the document | list) into ``q`` at the clicked positions.

    This function is optional. It requires that, given the list, the contributors are independent of each other and of
    the clicks. Let M and N be the numbers of clicks that ``first`` and ``second`` own. In estimates, the outcome is
    then the average of sign(M - N) over all possible contributors; under the rules in `Method.posterior`, it is the
    sign of this average.
    """
    raise TypeError("this method does not find contributors")


@dispatched_call
def draw_mirrored(
    state: Any, lists: Lists, query: int, first: int, second: int, page: Shown, uniforms: FloatVector, rng: Generator
) -> int:
    """Draw a list from uniform random numbers, one for each position; return its length.

    This function is optional. Its lists have the same distribution as the lists of `draw_pair`. If ``first`` and
    ``second`` are exchanged, the same number selects the other ranker, and the same quantile of this ranker's
    distribution.
    """
    raise TypeError("this method does not draw mirrored lists")
