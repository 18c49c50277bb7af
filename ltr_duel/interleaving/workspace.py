"""Call the kernels of a method from Python, for one query at a time, with reusable scratch."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import Generator

from ltr_duel.core import InputError, IntVector, SignMatrix, SmallIntMatrix, interpreted, kernel
from ltr_duel.interleaving.hooks import Lists, Shown, Size, credit_pair, credit_slate, draw_pair, draw_slate
from ltr_duel.interleaving.method import METHODS, Method, able_methods, compile_plugin

_KEPT = 64  # largest number of workspaces per thread, and of states per workspace


class Workspace:
    """Scratch of one thread for drawing and crediting lists, with a fixed method, length and number of rankers."""

    def __init__(self, method: str | Method, outcome: str, top: int, rankers: int, longest: int) -> None:
        label, self.method, self._params = METHODS.configure(method)
        self.named = label if self.method.name in METHODS and METHODS[self.method.name] is self.method else method
        self.pair = rankers == 2 and self.method.pairs
        self.outcome = outcome or self.method.default_outcome(sets=not self.pair)
        self.method.require_outcome(self.outcome)
        if not self.pair and not self.method.slates:
            able = ", ".join(able_methods(sets=True))
            raise InputError(f"method '{self.method.name}' compares two rankers, not {rankers}; use one of: {able}")
        if not self.pair and self.outcome not in self.method.outcomes_of(sets=True):
            raise InputError(f"outcome rule '{self.outcome}' requires two rankers, not {rankers}")
        self._size = Size(top, longest, rankers)
        self._page = Shown(*(np.zeros(top, np.int64) for _ in Shown._fields))
        self._query_ptr = np.zeros(2, np.int64)
        self._slate = np.arange(rankers)
        self._won = np.zeros((rankers, rankers), np.int8)
        self._states: dict[bytes, Any] = {}
        lists = self._lists(np.zeros((rankers, 1), np.int16))
        if self.method.foreign:
            compile_plugin(self.method, self._state(lists.order), lists, self._page, self._slate)
        draw: Any = _draw_pair if self.pair else _draw_slate
        credit: Any = _credit_pair if self.pair else _credit_slate
        self._draw = draw if self.method.compiled else interpreted(draw)
        self._credit = credit if self.method.compiled else interpreted(credit)

    def draw(self, orders: SmallIntMatrix, rng: Generator) -> tuple[list[int], list[int], tuple[float, ...]]:
        """Draw a list from orders that contain all documents.

        Returns the shown documents, their contributors (-1 for none), and the values that the method stored for
        `credit`.
        """
        lists = self._lists(orders)
        state = self._state(orders)
        rankers = () if self.pair else (self._slate,)
        length = self._draw(state, lists, *rankers, self._page, rng)
        kept = tuple(getattr(state, "kept", np.zeros(0)).tolist())
        return self._page.shown[:length].tolist(), self._page.owner[:length].tolist(), kept

    def current(self) -> bool:
        """Return whether the method is still registered under its name (a plug-in file may have been reloaded)."""
        return not isinstance(self.named, str) or METHODS[self.method.name] is self.method

    def keeps(self) -> int:
        """Return the number of values that the method stores when it draws a list."""
        return len(getattr(self._state(np.zeros((1, 1), np.int16)), "kept", ()))

    def credit(
        self, orders: SmallIntMatrix, numbers: Sequence[int], owners: Sequence[int], kept: Sequence[float],
        clicked: Sequence[int],
    ) -> SignMatrix | float:  # fmt: skip
        """Return the outcome of a pair, or the matrix of outcomes of a slate; ``clicked`` are positions, ascending."""
        lists, state, page, length = self._lists(orders), self._state(orders), self._page, len(numbers)
        page.shown[:length] = numbers
        page.owner[:length] = owners
        page.clicks[: len(clicked)] = clicked
        if kept:
            state.kept[:] = kept
        if self.pair:
            return float(self._credit(state, lists, page, length, len(clicked)))
        self._credit(state, lists, self._slate, page, length, len(clicked), self._won)
        return self._won

    def _lists(self, orders: SmallIntMatrix) -> Lists:
        self._query_ptr[1] = orders.shape[1]
        return Lists(orders, np.empty_like(orders), self._query_ptr)

    def _state(self, orders: SmallIntMatrix) -> Any:
        """Return a state of the method. Plain-Python methods have one state per query, in which they store results."""
        key = b"" if self.method.compiled else orders.tobytes()
        state = self._states.get(key)
        if state is None:
            if len(self._states) >= _KEPT:
                self._states.clear()
            state = self._states[key] = self.method.init(self._size, self._params, self.outcome)
        return state


def room_for(documents: int) -> int:
    """Return the capacity of a workspace for this many documents: a power of two, so that more queries can share it."""
    return 1 << (documents - 1).bit_length()


class _Local(threading.local):
    """Data of one thread."""

    def __init__(self) -> None:
        self.workspaces: dict[Any, Workspace] = {}
        self.process = 0
        self.rng = np.random.default_rng(0)


_local = _Local()


def workspace(method: str | Method, outcome: str, top: int, rankers: int, documents: int) -> Workspace:
    """Return this thread's workspace for at least ``documents`` documents."""
    if not isinstance(method, str | Method):
        raise InputError(f"a method must be a name or a Method, not {type(method).__name__}")
    room = room_for(documents)
    key = (method, outcome, top, rankers, room)
    found = _local.workspaces.get(key)
    if found is None or not found.current():
        if len(_local.workspaces) >= _KEPT:
            _local.workspaces.clear()
        found = _local.workspaces[key] = Workspace(method, outcome, top, rankers, room)
    return found


def fresh_rng() -> Generator:
    """Return this thread's generator, which the operating system seeded; a forked process gets a new generator."""
    if _local.process != os.getpid():
        _local.process, _local.rng = os.getpid(), np.random.default_rng()
    return _local.rng


@kernel
def invert(orders: SmallIntMatrix, ranks: SmallIntMatrix) -> None:
    """Write the ranks (1 = best)."""
    for a in range(orders.shape[0]):
        for r in range(orders.shape[1]):
            ranks[a, orders[a, r]] = r + 1


@kernel
def _draw_pair(state: Any, lists: Lists, page: Shown, rng: Generator) -> int:
    invert(lists.order, lists.rank)
    return draw_pair(state, lists, 0, 0, 1, page, rng)


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
