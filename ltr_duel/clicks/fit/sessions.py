"""The lists that users saw, and their clicks, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ltr_duel.core import FloatVector, InputError, IntVector

_LONGEST = 1000


class Sessions(NamedTuple):
    """Lists that users saw, and their clicks. The list of session s has the entries ``ptr[s]`` to ``ptr[s + 1] - 1``.

    Examples
    --------
    >>> sessions = Sessions(np.array([0, 2]), np.array([0, 1]), np.array([False, True]), np.array([0]), 2, True)
    >>> sessions.number, sessions.longest
    (1, 2)
    """

    ptr: IntVector  # (sessions + 1,)
    item: IntVector  # (entries,) at each rank of all lists, the relevance grade or the number of a query's document
    click: NDArray[np.bool_]  # (entries,)
    query: IntVector  # (sessions,) number of the query
    items: int  # all numbers in `item` are below this one
    graded: bool  # whether items are relevance grades
    user: IntVector | None = None  # (sessions,) number of the user, -1 if unknown
    names: tuple[NDArray[np.object_], NDArray[np.object_]] | None = None  # query and document of each item, as text

    @classmethod
    def from_documents(
        cls, lengths: IntVector, query: IntVector, document: IntVector, click: NDArray[np.bool_],
        user: IntVector | None, queries: Sequence[str], documents: Sequence[str],
    ) -> Sessions:  # fmt: skip
        """Return sessions whose items are documents. A document of two queries counts as two items."""
        pairs, item = np.unique(np.repeat(query, lengths) << 32 | document, return_inverse=True)
        names = np.array(queries, object)[pairs >> 32], np.array(documents, object)[pairs & 0xFFFFFFFF]
        return cls(_pointers(lengths), item.astype(np.int64), click, query, len(pairs), False, user, names)

    @property
    def number(self) -> int:
        """Number of sessions."""
        return len(self.ptr) - 1

    @property
    def longest(self) -> int:
        """Length of the longest list."""
        return int(np.diff(self.ptr).max(initial=0))

    def select(self, mask: NDArray[np.bool_]) -> Sessions:
        """Return the sessions for which the mask is True."""
        sizes = np.diff(self.ptr)
        inside = np.repeat(mask, sizes)
        user = None if self.user is None else self.user[mask]
        item, click, query = self.item[inside], self.click[inside], self.query[mask]
        return self._replace(ptr=_pointers(sizes[mask]), item=item, click=click, query=query, user=user)

    def distinct(self) -> tuple[Sessions, FloatVector]:
        """Return the different sessions, and how often each of them occurs. Users and queries are ignored."""
        sizes, code = np.diff(self.ptr), 2 * self.item + self.click
        keys = np.zeros(self.number, np.int64)
        for k in range(self.longest):  # sessions have equal keys if their first k + 1 ranks are equal
            longer = np.flatnonzero(sizes > k)
            keys[longer] = pd.factorize(keys[longer] * (2 * self.items) + code[self.ptr[longer] + k])[0]
        keys = pd.factorize(keys * (self.longest + 1) + sizes)[0]
        first = ~pd.Series(keys).duplicated().to_numpy()
        return self._replace(user=None).select(first), np.bincount(keys).astype(np.float64)

    def split(self, share: float) -> tuple[Sessions, Sessions]:
        """Return the first sessions, a share of all, and those later sessions whose query occurs in the first."""
        first = np.arange(self.number) < int(self.number * share)
        return self.select(first), self.select(~first & np.isin(self.query, self.query[first]))


def _pointers(lengths: IntVector) -> IntVector:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def check_sessions(sessions: Sessions) -> None:
    """Raise `InputError` if no click model can be fitted to the sessions."""
    ptr, item, click, query, items, _, user, _ = sessions
    agree = ptr[0] == 0 and ptr[-1] == len(item) == len(click) and len(query) == len(ptr) - 1
    if not agree or (user is not None and len(user) != len(query)) or (np.diff(ptr) < 1).any():
        raise InputError("sessions: the arrays are inconsistent, or a list is empty")
    if not click.any() or sessions.longest == 1:
        raise InputError("click models need a click and lists of several documents, and these sessions have none")
    if not 0 <= item.min() <= item.max() < items:
        raise InputError(f"sessions: an item is not in 0..{items - 1}")
    if sessions.longest > _LONGEST:
        raise InputError(f"a list has {sessions.longest:,} positions; click models are fitted to at most {_LONGEST:,}")
