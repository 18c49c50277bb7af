"""Register a module, or a pair of plain Python functions, as a comparison method.

Two plain functions are enough for a method that runs at interpreted speed:

    def draw(orders, top, rng): ...          # returns the documents to show
    def credit(orders, shown, clicks): ...   # returns one score for each ranker

``orders`` contains one list of documents for each ranker, best first; ``clicks`` contains the clicked positions of the
shown list. The ranker with the higher score wins. If the score depends on which ranker contributed a document, its
owner, ``draw`` returns ``shown, owners``, and the last argument of ``credit`` is ``owners``.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.core import InputError, IntVector, SignMatrix, components, vector
from ltr_duel.interleaving.hooks import Lists, Shown, Size
from ltr_duel.interleaving.method import METHODS, Method, MethodError

Draw = Callable[[list[list[int]], int, Generator], Any]
Credit = Callable[..., Sequence[float]]

_PARTS = "Params State init draw_pair credit_pair draw_slate credit_slate draw credit find_contributors draw_mirrored"


def register(page: str, **about: Any) -> Method:
    """Register the comparison method that a module defines.

    Parameters
    ----------
    page : str
        The ``__name__`` of the module. The module contains either the parts of the method (``Params``, ``State``,
        ``init``, ``draw_pair``, ``credit_pair``, ``draw_slate``, ``credit_slate``, ``find_contributors`` and
        ``draw_mirrored``), or ``draw`` and ``credit`` as for `method_from_functions`.
    **about
        The other parameters of `Method`, or parts in place of the module's; the default of ``name`` is the name of the
        file. ``slates=False`` declares that ``draw`` and ``credit`` compare two rankers only.

    Returns
    -------
    Method

    Raises
    ------
    InputError
        If a method of this name exists already, or the module lacks a function.

    Examples
    --------
    >>> def draw(orders, top, rng):
    ...     return orders[rng.integers(len(orders))][:top]
    >>> def credit(orders, shown, clicks):
    ...     return [sum(1 / (order.index(shown[k]) + 1) for k in clicks) for order in orders]
    >>> register(__name__, name="either_list", draw=draw, credit=credit).pairs  # in a file, omit draw and credit
    True
    >>> METHODS.remove("either_list")
    """
    given = {name.lower(): part for name, part in components.page_parts(page, _PARTS.split()).items()} | about
    if "draw" in given and "credit" in given:
        return METHODS.add(method_from_functions(**given))
    if "state" not in given or "init" not in given:
        raise InputError(f"method '{given['name']}': its module defines neither draw and credit, nor State and init")
    return METHODS.add(Method(**given))


def method_from_functions(name: str, draw: Draw, credit: Credit, *, slates: bool = True, **about: Any) -> Method:
    """Return a method that calls two plain Python functions, for pairs and, if ``slates`` is true, for sets of rankers.

    Parameters
    ----------
    name : str
    draw : callable
        ``draw(orders, top, rng)`` returns at most ``top`` different documents. ``orders`` contains, for each ranker,
        all documents of the query, best first. With owners, it returns the documents and the owner of each: 0, 1, ...
        for the rankers in ``orders``, or -1 for none.
    credit : callable
        ``credit(orders, shown, clicks)`` returns one score for each ranker; ``clicks`` contains one or more clicked
        positions of ``shown``, ascending. An argument ``owners`` receives the owners of ``shown``.
    slates : bool
        Whether the functions accept any number of rankers; False if they require two.
    **about
        Other parameters of `Method`: ``cite``, ``shows``, ``wins``, ...

    Returns
    -------
    Method
        The method, which can be passed in place of the name of a method; `check_method` tests it.

    Examples
    --------
    >>> method = method_from_functions(
    ...     "either_list",
    ...     lambda orders, top, rng: orders[rng.integers(len(orders))][:top],
    ...     lambda orders, shown, clicks: [-order.index(shown[clicks[0]]) for order in orders],
    ... )
    >>> method.pairs, method.slates, method.compiled
    (True, True, False)
    """

    def init(size: Size, params: Any, outcome: str) -> Functions:
        return kind(name, size.top, draw, credit)

    kind = OwnerFunctions if "owners" in inspect.signature(credit).parameters else Functions
    parts: dict[str, Any] = {"name": name, "state": kind, "init": init, "compiled": False, **about}
    if slates:
        parts |= {"draw_slate": _draw_slate, "credit_slate": _credit_slate}
    return Method(draw_pair=_draw_pair, credit_pair=_credit_pair, **parts)


class Functions(NamedTuple):
    """The state of a method that calls the user's functions."""

    name: str
    top: int
    draw: Draw
    credit: Credit


class OwnerFunctions(Functions):
    """The state of a method whose functions draw and credit owners."""

    __slots__ = ()
    credits_owners = True


def _orders(lists: Lists, query: int, rankers: Sequence[int]) -> list[list[int]]:
    start, stop = int(lists.query_ptr[query]), int(lists.query_ptr[query + 1])
    return [lists.order[ranker, start:stop].tolist() for ranker in rankers]


def _draw_slate(
    state: Functions, lists: Lists, query: int, slate: Sequence[int], size: int, page: Shown, rng: Generator
) -> int:
    orders = _orders(lists, query, slate[:size])
    documents, fault = len(orders[0]), ""
    drawn = state.draw(orders, state.top, rng)
    shown, owners = drawn, None
    if isinstance(state, OwnerFunctions):
        if not (isinstance(drawn, tuple) and len(drawn) == 2):
            raise MethodError(f"method '{state.name}': draw must return the documents and their owners: {drawn!r:.80}")
        shown, owners = drawn
    ranks: list[Any] = list(shown) if isinstance(shown, Sequence | np.ndarray) else [None]
    if not all(isinstance(rank, int | np.integer) and 0 <= rank < documents for rank in ranks):
        fault = f"documents of other queries: {shown!r:.80}"
    elif len(ranks) > min(state.top, documents):
        fault = f"{len(ranks)} documents; at most {min(state.top, documents)} are allowed"
    elif len(set(ranks)) < len(ranks):
        fault = f"a document twice: {shown!r:.80}"
    if fault:
        raise MethodError(f"method '{state.name}': it shows {fault}")
    page.shown[: len(ranks)] = ranks
    page.owner[: len(ranks)] = -1 if owners is None else _owners(state, owners, len(ranks), size)
    return len(ranks)


def _owners(state: Functions, given: Any, length: int, size: int) -> list[int]:
    owners = list(given) if isinstance(given, Sequence | np.ndarray) else []
    if len(owners) != length or not all(isinstance(one, int | np.integer) and -1 <= one < size for one in owners):
        needed = f"one owner for each of {length} documents, from -1 to {size - 1}"
        raise MethodError(f"method '{state.name}': draw must return {needed}: {given!r:.80}")
    return owners


def _draw_pair(state: Functions, lists: Lists, query: int, first: int, second: int, page: Shown, rng: Generator) -> int:
    return _draw_slate(state, lists, query, (first, second), 2, page, rng)


def _scores(
    state: Functions, lists: Lists, query: int, slate: Sequence[int], page: Shown, length: int, n_clicks: int
) -> Sequence[float]:
    shown, clicks = page.shown[:length].tolist(), page.clicks[:n_clicks].tolist()
    owned = {"owners": page.owner[:length].tolist()} if isinstance(state, OwnerFunctions) else {}
    scores = state.credit(_orders(lists, query, slate), shown, clicks, **owned)
    if isinstance(scores, Sequence | np.ndarray) and len(scores) == len(slate) and all(map(_is_number, scores)):
        return scores
    needed = f"credit does not return one finite number for each of {len(slate)} rankers: {scores!r:.80}"
    raise MethodError(f"method '{state.name}': {needed}")


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and math.isfinite(value)


def _credit_pair(
    state: Functions, lists: Lists, query: int, first: int, second: int, page: Shown, length: int, n_clicks: int
) -> float:
    a, b = _scores(state, lists, query, (first, second), page, length, n_clicks)
    return float(vector.sign(a - b, 0.0))


def _credit_slate(
    state: Functions, lists: Lists, query: int, slate: IntVector, size: int, page: Shown, length: int, n_clicks: int,
    won: SignMatrix,
) -> None:  # fmt: skip
    scores = _scores(state, lists, query, slate[:size].tolist(), page, length, n_clicks)
    for a in range(size):
        for b in range(a + 1, size):
            won[a, b] = vector.sign(scores[a] - scores[b], 0.0)
