"""The functions that a compiled interleaving or multileaving method defines.

    query --draw--> shown list, owners --click model--> clicks --credit--> who won

The owner of a shown document is the ranker that contributed it. A ranker also owns the clicks on its documents.

A method is a module with these parts:

- ``State``: a NamedTuple of constants, and of scratch arrays that are reused in every comparison,
- ``init``: a function that returns a state,
- `draw_pair` and `credit_pair` for two rankers, or `draw_slate` and `credit_slate` for a set (a slate), or all four,
- `find_contributors` and `draw_mirrored`, if you like: they reduce the variance of estimated preferences.

The class of the state determines which method's functions are called. The functions need no decorator, because numba
compiles them together with the loop that calls them. A comparison must not depend on earlier comparisons with the same
state. If the credit needs numbers from the draw, such as a coin, the draw stores them in the array ``kept``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.random import Generator

from ltr_duel.core import FloatVector, IntVector, SignMatrix, SmallIntMatrix, dispatched_call


class Lists(NamedTuple):
    """The orders of all rankers, for compiled functions; query q has the columns ``query_ptr[q]:query_ptr[q + 1]``."""

    order: SmallIntMatrix  # (K, n_docs) positions of documents within their query, best first
    rank: SmallIntMatrix  # (K, n_docs) rank of each document; 1 = best
    query_ptr: IntVector  # (n_queries + 1,)


class Shown(NamedTuple):
    """Arrays for one shown list of up to ``top`` documents, and for its clicks."""

    shown: IntVector  # (top,) the shown documents, from the top, as positions within their query
    owner: IntVector  # (top,) the owner of each document, as a position in the pair or slate; -1 for no owner
    clicks: IntVector  # (top,) the clicked positions of the list, ascending, from 0


class Size(NamedTuple):
    """The sizes that ``init`` needs to allocate the arrays of a method."""

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
    """Return who won, given one or more clicks: from -1 (``second`` won) to +1 (``first`` won); 0 is a tie."""
    raise TypeError("this method does not compare two rankers")


@dispatched_call
def draw_slate(state: Any, lists: Lists, query: int, slate: IntVector, size: int, page: Shown, rng: Generator) -> int:
    """Multileave the rankers ``slate[:size]``: fill ``page.shown`` and ``page.owner``, and return the list's length."""
    raise TypeError("this method does not compare sets of rankers")


@dispatched_call
def credit_slate(
    state: Any, lists: Lists, query: int, slate: IntVector, size: int, page: Shown, length: int, n_clicks: int,
    won: SignMatrix,
) -> None:  # fmt: skip
    """Write who won: for a < b, ``won[a, b]`` is +1 if ``slate[a]`` won against ``slate[b]``, -1 if it lost, else 0."""
    raise TypeError("this method does not compare sets of rankers")


@dispatched_call
def find_contributors(
    state: Any, lists: Lists, query: int, first: int, second: int, page: Shown, n_clicks: int, q: FloatVector
) -> None:
    """Write into ``q``, for each clicked position, the probability that ``first`` contributed its document.

    This function is optional. It requires that, once the list is known, the contributors are independent of each other
    and of the clicks. Estimates of preferences then use the mean outcome over all possible contributors, or the sign of
    this mean for the rules in `Method.posterior`.
    """
    raise TypeError("this method does not find contributors")


@dispatched_call
def draw_mirrored(
    state: Any, lists: Lists, query: int, first: int, second: int, page: Shown, uniforms: FloatVector, rng: Generator
) -> int:
    """Draw a list from given uniform random numbers, one for each position; return its length.

    This function is optional. Its lists have the same distribution as the lists of `draw_pair`. If ``first`` and
    ``second`` are exchanged and the numbers stay, then at each position the other ranker contributes.
    """
    raise TypeError("this method does not draw mirrored lists")
