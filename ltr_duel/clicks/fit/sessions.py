"""Sessions as arrays: the shown lists, the item at each position, and the clicks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import FloatVector, InputError, IntVector

_MOST_PLACES = 1000
_ODD = np.uint64(0x9E3779B97F4A7C15)


class Sessions(NamedTuple):
    """The shown lists with their clicks.

    Session s has the positions ``ptr[s]`` to ``ptr[s + 1] - 1``.

    Parameters
    ----------
    ptr : ndarray of int64, shape (sessions + 1,)
    item : ndarray of int64, shape (positions of all sessions,)
        The item at each position: the number of a query's document, or a relevance grade. All are below ``items``.
    click : ndarray of bool, shape (positions of all sessions,)
    query : ndarray of int64, shape (sessions,)
        Number of the query.
    items : int
    graded : bool
        Whether items are relevance grades.
    user : ndarray of int64, shape (sessions,), optional
        Number of the user, -1 if unknown. Standard errors allow for dependence between sessions of the same user.

    Examples
    --------
    >>> sessions = Sessions(np.array([0, 2]), np.array([0, 1]), np.array([False, True]), np.array([0]), 2, True)
    >>> sessions.number, sessions.places
    (1, 2)
    """

    ptr: IntVector
    item: IntVector
    click: NDArray[np.bool_]
    query: IntVector
    items: int
    graded: bool
    user: IntVector | None = None

    @classmethod
    def of_documents(
        cls, lengths: IntVector, query: IntVector, document: IntVector, click: NDArray[np.bool_], user: IntVector | None
    ) -> Sessions:
        """Return sessions whose items are the documents of each query; ``document`` has an entry for each position."""
        keys = np.repeat(query, lengths) << 32 | document
        different, item = np.unique(keys, return_inverse=True)
        ptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return cls(ptr, item.astype(np.int64), click, query, len(different), False, user)

    @property
    def number(self) -> int:
        """Number of sessions."""
        return len(self.ptr) - 1

    @property
    def places(self) -> int:
        """Length of the longest list."""
        return int(np.diff(self.ptr).max(initial=0))

    def kept(self, chosen: NDArray[np.bool_]) -> Sessions:
        """Return the marked sessions."""
        sizes = np.diff(self.ptr)
        inside = np.repeat(chosen, sizes)
        ptr = np.concatenate([[0], np.cumsum(sizes[chosen])]).astype(np.int64)
        user = None if self.user is None else self.user[chosen]
        return Sessions(ptr, self.item[inside], self.click[inside], self.query[chosen], self.items, self.graded, user)

    def grouped(self) -> tuple[Sessions, FloatVector]:
        """Return each distinct list of items and clicks as one session without a user, and the frequency of each."""
        sizes = np.diff(self.ptr)
        keys = sizes.astype(np.uint64)
        code = (2 * self.item + self.click).astype(np.uint64)
        for k in range(self.places):
            longer = sizes > k
            mixed = (keys[longer] ^ code[self.ptr[:-1][longer] + k]) * _ODD
            keys[longer] = mixed ^ (mixed >> np.uint64(29))
        _, first, inverse, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
        twin = np.repeat(self.ptr[:-1][first][inverse] - self.ptr[:-1], sizes) + np.arange(len(code))
        if (sizes[first][inverse] != sizes).any() or (code[np.minimum(twin, len(code) - 1)] != code).any():
            return self, np.ones(self.number)  # two different sessions have the same key by chance
        chosen = np.zeros(self.number, np.bool_)
        chosen[first] = True
        return self._replace(user=None).kept(chosen), counts[np.argsort(first)].astype(np.float64)

    def split(self, share: float) -> tuple[Sessions, Sessions]:
        """Return the first ``share`` of the sessions, and all later sessions whose query occurs in the first part."""
        first = np.arange(self.number) < int(self.number * share)
        known = np.isin(self.query, self.query[first])
        return self.kept(first), self.kept(~first & known)


def check_sessions(sessions: Sessions) -> None:
    """Raise `InputError` for sessions that determine no parameter, or whose arrays are inconsistent.

    The message is one sentence.
    """
    ptr, item, click, query, items, _, user = sessions
    fit = len(ptr) >= 1 and ptr[0] == 0 and ptr[-1] == len(item) == len(click) and len(query) == len(ptr) - 1
    fit = fit and (user is None or len(user) == len(query))
    if not fit or (np.diff(ptr) < 1).any():
        raise InputError("sessions: the arrays are inconsistent, or a list is empty")
    if sessions.number == 0:
        raise InputError("there is no session to fit click models to")
    if item.min() < 0 or item.max() >= items:
        raise InputError(f"sessions: an item is not in 0..{items - 1}")
    if sessions.places > _MOST_PLACES:
        raise InputError(
            f"a list has {sessions.places:,} positions; click models are fitted to at most {_MOST_PLACES:,}"
        )
    if not click.any():
        raise InputError("no session has a click: click models cannot be fitted")
    if sessions.places == 1:
        raise InputError("every list has one document, so positions and the behaviour after a click are not observed")
