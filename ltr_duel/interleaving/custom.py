"""A method of your own as one pair of plain Python functions.

    def draw(orders, top, rng): ...          # orders: best first, one list of documents for each ranker -> shown list
    def credit(orders, shown, clicks): ...   # clicks: places of the list that were clicked -> one score for each ranker

The ranker with the higher score wins. The functions run interpreted; for speed, write a file like the others here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ltr_duel.core import IntVector, SignMatrix, implement, sign
from ltr_duel.interleaving.method import Lists, Method, Page, Size, credit_pair, credit_slate, draw_pair, draw_slate

Draw = Callable[[list[list[int]], int, np.random.Generator], Sequence[int]]
Credit = Callable[[list[list[int]], list[int], list[int]], Sequence[float]]


class FromFunctions:
    """A method that calls the user's functions."""

    def __init__(self, size: Size, draw: Draw, credit: Credit) -> None:
        self.top = size.top
        self.draw = draw
        self.credit = credit

    def show(self, lists: Lists, query: int, rankers: Sequence[int], page: Page, rng: np.random.Generator) -> int:
        """Draw a list into the page, and return its length."""
        shown = self.draw(_orders(lists, query, rankers), self.top, rng)
        page.shown[: len(shown)] = shown
        page.owner[: len(shown)] = -1
        return len(shown)

    def scores(
        self, lists: Lists, query: int, rankers: Sequence[int], page: Page, length: int, n_clicks: int
    ) -> Sequence[float]:
        """Return the score of each ranker."""
        shown, clicks = page.shown[:length].tolist(), page.clicks[:n_clicks].tolist()
        return self.credit(_orders(lists, query, rankers), shown, clicks)


def method_from_functions(name: str, draw: Draw, credit: Credit, *, reference: str = "yours") -> Method:
    """Make a method for pairs and for sets of rankers.

    Parameters
    ----------
    name : str
    draw : callable
        ``draw(orders, top, rng)`` returns at most ``top`` different documents. ``orders`` holds, for each ranker, all
        documents of the query, best first.
    credit : callable
        ``credit(orders, shown, clicks)`` returns one score for each ranker; ``clicks`` are the clicked places of
        ``shown``, ascending, at least one.
    reference : str

    Returns
    -------
    Method
        To be passed wherever the name of a method is expected; `check_method` tests it.
    """
    return Method(
        name=name,
        pairs=True,
        slates=True,
        open=lambda size, params, outcome: FromFunctions(size, draw, credit),
        reference=reference,
        compiled=False,
    )


def _orders(lists: Lists, query: int, rankers: Sequence[int]) -> list[list[int]]:
    start, stop = int(lists.query_ptr[query]), int(lists.query_ptr[query + 1])
    return [lists.order[ranker, start:stop].tolist() for ranker in rankers]


def _draw_pair(
    method: FromFunctions, lists: Lists, query: int, first: int, second: int, page: Page, rng: np.random.Generator
) -> int:
    return method.show(lists, query, (first, second), page, rng)


def _draw_slate(
    method: FromFunctions, lists: Lists, query: int, slate: IntVector, size: int, page: Page, rng: np.random.Generator
) -> int:
    return method.show(lists, query, slate[:size].tolist(), page, rng)


def _credit_pair(
    method: FromFunctions, lists: Lists, query: int, first: int, second: int, page: Page, length: int, n_clicks: int
) -> float:
    one, other = method.scores(lists, query, (first, second), page, length, n_clicks)
    return float(sign(one - other, 0.0))


def _credit_slate(
    method: FromFunctions,
    lists: Lists,
    query: int,
    slate: IntVector,
    size: int,
    page: Page,
    length: int,
    n_clicks: int,
    won: SignMatrix,
) -> None:
    scores: Any = method.scores(lists, query, slate[:size].tolist(), page, length, n_clicks)
    for a in range(size):
        for b in range(a + 1, size):
            won[a, b] = sign(scores[a] - scores[b], 0.0)


implement(draw_pair, FromFunctions, _draw_pair)
implement(draw_slate, FromFunctions, _draw_slate)
implement(credit_pair, FromFunctions, _credit_pair)
implement(credit_slate, FromFunctions, _credit_slate)
