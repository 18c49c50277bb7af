"""The functions that a compiled comparison method (interleaving or multileaving) defines.

    query --draw--> shown list, owners --click model--> clicks --credit--> who won

The owner of a shown document is the ranker that contributed it. This ranker also owns the clicks on the document.

A method is a module with a class ``State`` and some functions. ``State`` is a NamedTuple of constants, and of arrays
that are reused in each comparison. The function ``init`` returns a state. `draw_pair` and `credit_pair` compare two
rankers, and `draw_slate` and `credit_slate` compare a set (a slate). A method needs the first two functions, the last
two, or all four. `find_contributors` and `draw_mirrored` are optional. They reduce the variance of estimated
preferences. If the method has parameters, the NamedTuple ``Params`` has their names and default values.

Numba compiles these functions, so they need no decorator. A comparison must not depend on earlier comparisons. If a
credit function needs a random number, the draw function stores this number in an array ``kept`` of the state.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.random import Generator

from ltr_duel.core import FloatVector, IntVector, SignMatrix, SmallIntMatrix, dispatched_call


class Lists(NamedTuple):
    """The rankings of all rankers. Query q has the columns ``query_ptr[q]:query_ptr[q + 1]``."""

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
    """Return who won: a number from -1 (``second`` won) to +1 (``first`` won). There is at least one click."""
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
    """Write into ``q[k]``, for each clicked position k, the probability that ``first`` contributed the document.

    This function is optional. It lets estimates of preferences average over all possible contributors. Define it only
    if the contributors in a given list are independent of each other and of the clicks.
    """
    raise TypeError("this method does not find contributors")


@dispatched_call
def draw_mirrored(
    state: Any, lists: Lists, query: int, first: int, second: int, page: Shown, uniforms: FloatVector, rng: Generator
) -> int:
    """Draw a list as `draw_pair` does, but from given random numbers in [0, 1), one for each position.

    This function is optional. A second call, with the same numbers but with the two rankers exchanged, must let the
    other ranker contribute the document at each position.
    """
    raise TypeError("this method does not draw mirrored lists")
