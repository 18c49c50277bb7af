"""Protocols of the modules of comparison methods, for editors and type checkers; see `ltr_duel.bandits.hooks`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from numpy.random import Generator

from ltr_duel.core import IntVector, SignMatrix
from ltr_duel.interleaving.hooks import Lists, Shown, Size


class _Page(Protocol):
    """The names that all compiled methods define; ``Params`` is optional."""

    @property
    def State(self) -> type[Any]:  # noqa: N802 -- the name of a class
        """A NamedTuple class of constants and scratch."""

    def init(self, size: Size, params: Any, outcome: str, /) -> Any:
        """Return a state with separate scratch arrays."""


class PairMethodPage(_Page, Protocol):
    """The module of a method that compares two rankers; `ltr_duel.interleaving.hooks` describes the functions.

    Examples
    --------
    >>> from ltr_duel.interleaving.methods import balanced
    >>> page: PairMethodPage = balanced
    """

    def draw_pair(
        self, state: Any, lists: Lists, query: int, first: int, second: int, page: Shown, rng: Generator, /
    ) -> int:
        """Interleave two rankers, and return the length of the list."""

    def credit_pair(
        self, state: Any, lists: Lists, query: int, first: int, second: int, page: Shown, length: int, n_clicks: int, /
    ) -> float:
        """Score the clicks."""


class SlateMethodPage(_Page, Protocol):
    """The module of a method that compares sets of rankers.

    Examples
    --------
    >>> from ltr_duel.interleaving.methods import sosm
    >>> page: SlateMethodPage = sosm
    """

    def draw_slate(
        self, state: Any, lists: Lists, query: int, slate: IntVector, size: int, page: Shown, rng: Generator, /
    ) -> int:
        """Multileave the rankers of a slate, and return the length of the list."""

    def credit_slate(
        self,
        state: Any,
        lists: Lists,
        query: int,
        slate: IntVector,
        size: int,
        page: Shown,
        length: int,
        n_clicks: int,
        won: SignMatrix,
        /,
    ) -> None:
        """Score the clicks for each pair of the slate."""


class PlainMethodPage(Protocol):
    """The module of a method in plain Python; see `ltr_duel.interleaving.registration`.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> first = lambda orders, top, rng: orders[0][:top]
    >>> page: PlainMethodPage = SimpleNamespace(draw=first, credit=lambda orders, shown, clicks: [0.0] * len(orders))
    """

    def draw(self, orders: list[list[int]], top: int, rng: Generator, /) -> Sequence[int]:
        """Return the documents to show."""

    def credit(self, orders: list[list[int]], shown: list[int], clicks: list[int], /) -> Sequence[float]:
        """Return a score for each ranker."""
