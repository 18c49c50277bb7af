"""Call the compiled functions of a method from Python, to draw or credit one list at a time.

A `Workspace` has the arrays that these functions need. Each thread keeps its workspaces, to save time.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator

from ltr_duel.core import InputError, IntVector, SignMatrix, SmallIntMatrix, interpreted, kernel
from ltr_duel.interleaving.hooks import Lists, Shown, Size, credit_pair, credit_slate, draw_pair, draw_slate
from ltr_duel.interleaving.method import METHODS, Method, able_methods

_MOST_WORKSPACES = 64  # per thread


class Workspace:
    """The arrays to draw and credit lists with one method, one length and one number of rankers."""

    def __init__(self, method: str | Method, outcome: str, top: int, rankers: int, longest: int) -> None:
        label, self.method, params = METHODS.configure(method)
        self.named = label if METHODS.get(self.method.name) is self.method else method
        self.pair = rankers == 2 and self.method.pairs
        self.outcome = outcome or self.method.default_outcome(sets=not self.pair)
        self.method.require_outcome(self.outcome)
        if not self.pair and not self.method.slates:
            able = ", ".join(able_methods(sets=True))
            raise InputError(f"method '{self.method.name}' compares two rankers, not {rankers}; use one of: {able}")
        if not self.pair and self.outcome not in self.method.outcomes_of(sets=True):
            raise InputError(f"outcome rule '{self.outcome}' requires two rankers, not {rankers}")
        self._page = Shown(*np.zeros((3, top), np.int64))
        self._query_ptr = np.zeros(2, np.int64)
        self._slate = np.arange(rankers)
        self._won = np.zeros((rankers, rankers), np.int8)
        self._new_state = partial(self.method.init, Size(top, longest, rankers), params, self.outcome)
        self._state = self._new_state()
        draw, credit = (_draw_pair, _credit_pair) if self.pair else (_draw_slate, _credit_slate)
        self._draw: Any = draw if self.method.compiled else interpreted(draw)
        self._credit: Any = credit if self.method.compiled else interpreted(credit)

    @property
    def current(self) -> bool:
        """Whether the method is still registered. If its file is loaded again, a new method replaces it."""
        return not isinstance(self.named, str) or METHODS[self.method.name] is self.method

    @property
    def kept(self) -> Any:
        """The numbers that the last draw stored, and that the credit needs."""
        return getattr(self._state, "kept", np.zeros(0))

    def draw(self, orders: SmallIntMatrix, rng: Generator) -> tuple[list[int], list[int], tuple[float, ...]]:
        """Draw a list. Return the shown documents, their owners (-1 for no owner), and the numbers in `kept`."""
        page = self._page
        if not self.method.compiled:  # its state may store what it computed for another query
            self._state = self._new_state()
        length = self._draw(self._state, self._lists(orders), self._slate, page, rng)
        return page.shown[:length].tolist(), page.owner[:length].tolist(), tuple(self.kept.tolist())

    def credit(
        self, orders: SmallIntMatrix, numbers: Sequence[int], owners: Sequence[int], kept: Sequence[float],
        clicked: Sequence[int],
    ) -> list[list[float]]:  # fmt: skip
        """Return a table whose entry (i, j), for i < j, says who won between rankers i and j."""
        page, length = self._page, len(numbers)
        page.shown[:length] = numbers
        page.owner[:length] = owners
        page.clicks[: len(clicked)] = clicked
        if kept:
            self.kept[:] = kept
        lists = self._lists(orders)
        if self.pair:
            return [[0.0, self._credit(self._state, lists, page, length, len(clicked))]]
        self._credit(self._state, lists, self._slate, page, length, len(clicked), self._won)
        return self._won.astype(np.float64).tolist()

    def _lists(self, orders: SmallIntMatrix) -> Lists:
        self._query_ptr[1] = orders.shape[1]
        return Lists(orders, np.empty_like(orders), self._query_ptr)


def room_for(documents: int) -> int:
    """Round up to a power of two, so that queries of similar size can share a workspace."""
    return 1 << (documents - 1).bit_length()


class _Local(threading.local):
    """Data of one thread."""

    def __init__(self) -> None:
        self.workspaces: dict[Any, Workspace] = {}
        self.process = 0
        self.rng = np.random.default_rng(0)


_local = _Local()


def workspace(method: str | Method, outcome: str, top: int, orders: SmallIntMatrix) -> Workspace:
    """Return this thread's workspace for the method, the outcome rule, and lists of this size."""
    if not isinstance(method, str | Method):
        raise InputError(f"a method must be a name or a Method, not {type(method).__name__}")
    key = (method, outcome, top, len(orders), room_for(orders.shape[1]))
    space = _local.workspaces.get(key)
    if space is None or not space.current:
        if len(_local.workspaces) >= _MOST_WORKSPACES:
            _local.workspaces.clear()
        space = _local.workspaces[key] = Workspace(*key)
    return space


def fresh_rng() -> Generator:
    """Return this thread's generator, which has a random seed. A forked process gets a new generator."""
    if _local.process != os.getpid():
        _local.process, _local.rng = os.getpid(), np.random.default_rng()
    return _local.rng


@kernel
def invert(orders: SmallIntMatrix, ranks: SmallIntMatrix) -> None:
    """Write the rank of each document, 1 for the best, into ``ranks``."""
    for a in range(orders.shape[0]):
        for r in range(orders.shape[1]):
            ranks[a, orders[a, r]] = r + 1


@kernel
def _draw_pair(state: Any, lists: Lists, slate: IntVector, page: Shown, rng: Generator) -> int:
    invert(lists.order, lists.rank)
    return draw_pair(state, lists, 0, slate[0], slate[1], page, rng)


@kernel
def _credit_pair(state: Any, lists: Lists, page: Shown, length: int, n_clicks: int) -> float:
    invert(lists.order, lists.rank)
    return credit_pair(state, lists, 0, 0, 1, page, length, n_clicks)


@kernel
def _draw_slate(state: Any, lists: Lists, slate: IntVector, page: Shown, rng: Generator) -> int:
    invert(lists.order, lists.rank)
    return draw_slate(state, lists, 0, slate, slate.shape[0], page, rng)


@kernel
def _credit_slate(
    state: Any, lists: Lists, slate: IntVector, page: Shown, length: int, n_clicks: int, won: SignMatrix
) -> None:
    invert(lists.order, lists.rank)
    credit_slate(state, lists, 0, slate, slate.shape[0], page, length, n_clicks, won)
