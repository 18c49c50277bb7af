"""Interleave the result lists of a search application, to find out from clicks which ranker is better.

`interleave` merges one list of document ids from each ranker into one page. You show this page to a user, and pass the
clicked documents to `Page.credit`, which says who won. Simulations use the same comparison methods.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain, combinations, zip_longest
from typing import Any

import numpy as np

from ltr_duel.core import InputError, SmallIntMatrix, errors, notebook, stream
from ltr_duel.interleaving.method import Method
from ltr_duel.interleaving.page_json import (
    KEYS,
    LONGEST_TEXT,
    MOST_DOCUMENTS,
    MOST_PLACES,
    MOST_RANKERS,
    MOST_SHOWN,
    VERSION,
    is_id,
    read_page,
)
from ltr_duel.interleaving.workspace import Workspace, fresh_rng, workspace


@dataclass(frozen=True, eq=False, slots=True)
class Page:
    """A page to show to a user. When the user has clicked, `credit` says which ranker won.

    `interleave` returns pages. `to_json` stores a page, so that the clicks can be credited later in another process.
    A page numbers the documents from 0, in the order in which they first appear in the lists of the rankers.

    Parameters
    ----------
    rankers : tuple of str
        Names of the rankers.
    shown : tuple
        The ids of the shown documents, from the top.
    owners : tuple of str or None
        The names of the rankers that contributed the shown documents. An owner is None if no single ranker contributed
        the document.
    method : str or Method
        The comparison method: its name with parameters, or a `Method` that is not registered.
    outcome : str
        The rule that decides who won (the outcome rule).
    numbers : tuple of int
        The numbers of the shown documents, from the top.
    orders : ndarray of int16, shape (rankers, documents)
        For each ranker, the numbers of all documents, best first.
    kept : tuple of float
        Numbers that the method stored when it drew the list, and needs to credit the clicks.

    Examples
    --------
    >>> page = interleave({"bm25": ["a", "b", "c"], "dense": ["c", "d"]}, seed=1, top=3)
    >>> len(page.shown), page.method
    (3, 'team_draft')
    >>> Page.from_json(page.to_json()).shown == page.shown
    True
    """

    rankers: tuple[str, ...]
    shown: tuple[Any, ...]
    owners: tuple[str | None, ...]
    method: str | Method
    outcome: str
    numbers: tuple[int, ...] = field(repr=False)
    orders: SmallIntMatrix = field(repr=False)
    kept: tuple[float, ...] = field(repr=False)

    def credit(self, clicks: Iterable[Hashable]) -> dict[tuple[str, str], float]:
        """Return which ranker of each pair won.

        Parameters
        ----------
        clicks : iterable of document ids
            The clicked documents, in any order. A document that was clicked twice counts once.

        Returns
        -------
        dict of (str, str) to float
            For each pair, a number from -1 (the second ranker won) to +1 (the first ranker won). A tie is 0. Without
            clicks, every pair is a tie.

        Raises
        ------
        InputError
            If a document was not shown.
        """
        clicked, names = self._positions(clicks), self.rankers
        pairs = combinations(range(len(names)), 2)
        if not clicked:
            return {(names[i], names[j]): 0.0 for i, j in pairs}
        space = workspace(self.method, self.outcome, len(self.shown), self.orders)
        won = space.credit(self.orders, self.numbers, self._owner_positions(), self.kept, clicked)
        return {(names[i], names[j]): float(won[i][j]) for i, j in pairs}

    def to_json(self) -> str:
        """Return the page as a JSON string that you can store in a session or a log until the clicks are known.

        The string contains the ids of the shown documents, but not the ids of other documents.

        Raises
        ------
        InputError
            If JSON cannot store an id, the method is not registered, or the page is too large.
        """
        if not isinstance(self.method, str):
            raise InputError(f"method '{self.method.name}' is not registered, so its pages cannot be stored as JSON")
        shown = [document.item() if isinstance(document, np.generic) else document for document in self.shown]
        for document in shown:
            if not is_id(document):
                raise InputError(
                    f"document id {document!r} is neither a string nor a finite number: JSON cannot store it"
                )
        orders, owners = self.orders.tolist(), self._owner_positions()
        values = (VERSION, self.method, self.outcome, self.rankers, shown, owners, self.numbers, orders, self.kept)
        text = json.dumps(dict(zip(KEYS, values, strict=True)), separators=(",", ":"))
        if len(text) > LONGEST_TEXT:
            raise InputError(f"the page is too large for JSON: {len(text):,} characters; the limit is {LONGEST_TEXT:,}")
        return text

    @classmethod
    def from_json(cls, text: str) -> Page:
        """Read a page that `to_json` wrote.

        Somebody who changes the text can change who wins. If users can reach the text, sign it.

        Parameters
        ----------
        text : str

        Raises
        ------
        InputError
            If the text is not a valid page, or has a different version.
        """
        stored = read_page(text)
        shown, orders, kept = stored["shown"], np.array(stored["orders"], np.int16), stored["kept"]
        space = workspace(stored["method"], stored["outcome"], len(shown), orders)
        if len(kept) != len(space.kept):
            raise InputError(f"not a page: method '{space.method.name}' stores {len(space.kept)} numbers in 'kept'")
        return _page(space, stored["rankers"], shown, stored["numbers"], stored["owners"], kept, orders)

    def _repr_html_(self) -> str:
        method = self.method if isinstance(self.method, str) else self.method.name
        summary = f"Page of {len(self.shown):,} documents from {len(self.rankers):,} rankers by {method}"
        rows = list(zip(range(1, len(self.shown) + 1), map(str, self.shown), self.owners, strict=True))
        return notebook.notebook_html([summary], ("place", "document", "from"), rows)

    def _owner_positions(self) -> list[int]:
        return [-1 if owner is None else self.rankers.index(owner) for owner in self.owners]

    def _positions(self, clicks: Iterable[Hashable]) -> list[int]:
        if isinstance(clicks, str | bytes) or not isinstance(clicks, Iterable):
            raise InputError(f"clicks must be a list of document ids, not {errors.shown(clicks)}")
        position = {document: k for k, document in enumerate(self.shown)}
        clicked = set()
        for document in clicks:
            try:
                clicked.add(position[document])
            except (KeyError, TypeError):
                raise InputError(f"the clicked document {document!r} is not on the page") from None
        return sorted(clicked)


def _page(
    space: Workspace, rankers: Iterable[str], shown: Iterable[Any], numbers: Iterable[int], owners: Iterable[int],
    kept: Iterable[float], orders: SmallIntMatrix,
) -> Page:  # fmt: skip
    names = tuple(rankers)
    contributors = tuple([None if owner < 0 else names[owner] for owner in owners])
    return Page(names, tuple(shown), contributors, space.named, space.outcome, tuple(numbers), orders, tuple(kept))


def interleave(
    rankings: Mapping[str, Sequence[Hashable]], method: str | Method = "team_draft", *, outcome: str = "",
    top: int = 10, seed: int | None = None, rng: np.random.Generator | None = None,
) -> Page:  # fmt: skip
    """Interleave the lists of two rankers, or multileave the lists of more rankers, into one page.

    Parameters
    ----------
    rankings : mapping of str to sequence
        The names of 2 to 200 rankers, each with its list of document ids, best first. Ids must be hashable. The lists
        may have different lengths and documents. A document that is missing from a list is added at the end of the
        list. All lists together have at most 10,000 documents.
    method : str or Method
        The comparison method. Give its name, with parameters if you like (``"probabilistic:tau=1"``), or a `Method`.
    outcome : str
        The rule that decides who won (the outcome rule); by default, the first rule of the method.
    top : int
        Largest number of documents on the page, from 1 to 1,000.
    seed : int, optional
        The seed of the random numbers. With a seed, the same lists always give the same page.
    rng : numpy.random.Generator, optional
        A random generator to use instead of a seed, for example if you draw many pages.

    Returns
    -------
    Page

    Raises
    ------
    InputError
        If an argument is invalid. For example, a list is empty or repeats a document, or the method does not compare
        this many rankers.

    Examples
    --------
    >>> page = interleave({"old": ["a", "b"], "new": ["c", "a"]}, seed=3)
    >>> sorted(page.shown)
    ['a', 'b', 'c']
    >>> page.credit(clicks=[])
    {('old', 'new'): 0.0}
    """
    top = errors.require_whole("the number of documents shown", top, 1, MOST_SHOWN)
    if rng is not None and (seed is not None or not isinstance(rng, np.random.Generator)):
        raise InputError("pass either a seed or a numpy.random.Generator; not both, and not another type")
    if rng is None:
        rng = fresh_rng() if seed is None else stream(seed, "interleave")
    documents, orders = _orders(rankings)
    space = workspace(method, outcome, min(top, len(documents)), orders)
    numbers, owners, kept = space.draw(orders, rng)
    return _page(space, rankings, [documents[number] for number in numbers], numbers, owners, kept, orders)


def _orders(rankings: Mapping[str, Sequence[Hashable]]) -> tuple[list[Hashable], SmallIntMatrix]:
    if not isinstance(rankings, dict | Mapping):
        raise InputError(f"rankings must be a mapping of names to lists, not {type(rankings).__name__}")
    if not 2 <= len(rankings) <= MOST_RANKERS:
        raise InputError(f"interleaving requires from 2 to {MOST_RANKERS} rankers, not {len(rankings)}")
    number: dict[Hashable, int] = {}
    rows = []
    for name, ids in rankings.items():
        if not isinstance(name, str):
            raise InputError(f"the name of a ranker must be a string, not {name!r}")
        if not isinstance(ids, list | tuple):
            ids = listed(name, ids)
        if not ids:
            raise InputError(f"the list of ranker '{name}' is empty")
        try:
            row = [number.setdefault(document, len(number)) for document in ids]
        except TypeError:
            raise InputError(f"the list of ranker '{name}' has an id that cannot be a key of a dictionary") from None
        if len(set(row)) < len(row):
            twice = next(document for k, document in enumerate(ids) if row[k] in row[:k])
            raise InputError(f"document {twice!r} appears twice on the list of ranker '{name}'")
        rows.append(row)
    documents = list(number)
    if len(documents) > MOST_DOCUMENTS or len(documents) * len(rows) > MOST_PLACES:
        raise InputError(
            f"{len(rows)} lists with {len(documents):,} documents are too many: the limits are {MOST_DOCUMENTS:,}"
            f" documents, and {MOST_PLACES:,} for rankers times documents"
        )
    for document in documents:
        if document != document:
            raise InputError(f"{document!r} cannot be a document id, because it does not equal itself")
    if any(len(row) < len(documents) for row in rows):
        _complete(rows)
    return documents, np.array(rows, np.int16)


def _complete(rows: list[list[int]]) -> None:
    merged = dict.fromkeys(chain.from_iterable(zip_longest(*rows, fillvalue=-1)))
    for row in rows:
        held = {*row, -1}
        row += [number for number in merged if number not in held]


def listed(name: str, ids: Any) -> list[Hashable]:
    """Return an array or another ordered iterable of ids as a list."""
    if isinstance(ids, str | bytes | Set | Mapping) or not isinstance(ids, Iterable):
        raise InputError(f"the list of ranker '{name}' must be a list, not {type(ids).__name__}")
    return list(ids)
