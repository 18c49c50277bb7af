"""The functions that a compiled comparison method (interleaving or multileaving) defines.

    query --draw--> shown list, owners --click model--> clicks --credit--> who won

The owner of a shown document is the ranker that contributed it. This ranker also owns the clicks on the document.

A method is a module with a class ``State`` and some functions. A state is a NamedTuple with constants, and with arrays
that every comparison uses again. The function ``init`` returns a state. A method that compares two rankers
defines `draw_pair` and `credit_pair`. A method that compares sets of rankers (slates) defines `draw_slate` and
`credit_slate`. The functions `find_contributors` and `draw_mirrored` are optional, and reduce the variance of estimated
preferences. If the method has parameters, the NamedTuple ``Params`` has their names and default values.

Numba compiles these functions, so they need no decorator. A comparison must not depend on earlier comparisons. If a
credit function needs a random number, the draw function stores this number in an array ``kept`` of the state.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.random import Generator

from ltr_duel.core import FloatVector, IntVector, SignMatrix, SmallIntMatrix, dispatched_call


class Lists(NamedTuple):
    """The rankings of all rankers. The columns of query q begin at ``query_ptr[q]``."""

    order: SmallIntMatrix  # (K, n_docs) positions of documents within their query, best first
    rank: SmallIntMatrix  # (K, n_docs) rank of each document; 1 = best
    query_ptr: IntVector  # (n_queries + 1,)


class Shown(NamedTuple):
    """A list of documents that a user sees, and the clicks on it. The arrays have room for ``top`` documents."""

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
    """Compute for each clicked position k the probability ``q[k]`` that the ranker ``first`` contributed the document.

    This optional function makes estimated preferences more precise. Do not define it if the contributors of a list's
    documents depend on each other or on the clicks.
    """
    raise TypeError("this method does not find contributors")


@dispatched_call
def draw_mirrored(
    state: Any, lists: Lists, query: int, first: int, second: int, page: Shown, uniforms: FloatVector, rng: Generator
) -> int:
    """Draw a list as `draw_pair` does, but use the random numbers ``uniforms``, one for each position.

    This function is optional. If the two rankers are exchanged, and the same numbers are used again, then the other
    ranker must contribute the document at each position.
    """
    raise TypeError("this method does not draw mirrored lists")
