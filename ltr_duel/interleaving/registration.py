"""Add a comparison method of your own.

The simplest way is to write two Python functions. They run more slowly than compiled functions:

    def draw(orders, top, rng): ...                  # returns the documents to show, and their owners
    def credit(orders, shown, clicks, owners): ...   # returns one score for each ranker
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, NamedTuple

from numpy.random import Generator

from ltr_duel.core import InputError, IntVector, SignMatrix, components, vector
from ltr_duel.interleaving.hooks import Lists, Shown, Size
from ltr_duel.interleaving.method import METHODS, Method, MethodError

Draw = Callable[[list[list[int]], int, Generator], tuple[Sequence[int], Sequence[int]]]
Credit = Callable[[list[list[int]], list[int], list[int], list[int]], Any]
_PARTS = "Params State init draw_pair credit_pair draw_slate credit_slate draw credit find_contributors draw_mirrored"


def register(module: str, **attributes: Any) -> Method:
    """Register the comparison method that a module defines.

    Parameters
    ----------
    module : str
        The ``__name__`` of the module. The module defines either ``draw`` and ``credit`` (see `method_from_functions`),
        or the parts of a compiled method (see `ltr_duel.interleaving.hooks`).
    **attributes
        Other parameters of `Method`. By default, ``name`` is the name of the file. With ``slates=False``, ``draw`` and
        ``credit`` compare two rankers only.

    Returns
    -------
    Method

    Raises
    ------
    InputError
        If a method of this name exists already, or the module lacks a function.

    Examples
    --------
    See `method_from_functions`; in a file, ``register(__name__)`` stands below ``draw`` and ``credit``.

    >>> callable(register)
    True
    """
    parts = {name.lower(): part for name, part in components.module_parts(module, _PARTS.split()).items()} | attributes
    if "draw" in parts and "credit" in parts:
        return METHODS.add(method_from_functions(**parts))
    if "state" not in parts or "init" not in parts:
        raise InputError(f"method '{parts['name']}': its module defines neither draw and credit, nor State and init")
    return METHODS.add(Method(**parts))


class Functions(NamedTuple):
    """The state of a comparison method that is written as two Python functions."""

    name: str
    top: int
    draw: Draw
    credit: Credit


def method_from_functions(name: str, draw: Draw, credit: Credit, *, slates: bool = True, **attributes: Any) -> Method:
    """Make a comparison method from two plain Python functions.

    Parameters
    ----------
    name : str
    draw : callable
        ``draw(orders, top, rng)`` returns two lists: at most ``top`` different documents to show, and the owner of each
        document. The argument ``orders`` has one list for each ranker, with all documents of the query, best first. An
        owner is the position of a ranker in ``orders``, or -1 for no owner.
    credit : callable
        ``credit(orders, shown, clicks, owners)`` returns one score for each ranker. The ranker with the higher score
        wins. The argument ``clicks`` has the clicked positions of the list, ascending. There is at least one click.
    slates : bool
        Whether the functions accept more than two rankers. By default True.
    **attributes
        Other parameters of `Method`, such as ``cite``, ``shows`` and ``wins``.

    Returns
    -------
    Method
        The new method, which you can use in place of a name. `check_method` tests whether the method is correct.

    Examples
    --------
    >>> def draw(orders, top, rng):
    ...     shown = orders[rng.integers(len(orders))][:top]
    ...     return shown, [-1] * len(shown)
    >>> def credit(orders, shown, clicks, owners):
    ...     return [-order.index(shown[clicks[0]]) for order in orders]
    >>> method = method_from_functions("either_list", draw, credit)
    >>> method.pairs, method.slates, method.compiled
    (True, True, False)
    """

    def init(size: Size, params: Any, outcome: str) -> Functions:
        return Functions(name, size.top, draw, credit)

    parts: dict[str, Any] = {"name": name, "state": Functions, "init": init, "compiled": False, **attributes}
    if slates:
        parts |= {"draw_slate": _draw_slate, "credit_slate": _credit_slate}
    return Method(draw_pair=_draw_pair, credit_pair=_credit_pair, **parts)


def _orders(lists: Lists, query: int, rankers: Sequence[int]) -> list[list[int]]:
    start, stop = lists.query_ptr[query : query + 2]
    return [lists.order[ranker, start:stop].tolist() for ranker in rankers]


def _draw_slate(
    state: Functions, lists: Lists, query: int, slate: Sequence[int], size: int, page: Shown, rng: Generator
) -> int:
    orders = _orders(lists, query, slate[:size])
    most, drawn = min(state.top, len(orders[0])), state.draw(orders, state.top, rng)
    try:
        shown, owners = map(list, drawn)
        valid = len(shown) == len(owners) == len(set(shown) & set(orders[0])) <= most
        valid = valid and set(owners) <= set(range(-1, size))
    except (TypeError, ValueError):
        valid = False
    if not valid:
        needed = f"at most {most} different documents of the query, and an owner from -1 to {size - 1} for each"
        raise MethodError(f"method '{state.name}': draw must return {needed}, not {drawn!r:.80}")
    page.shown[: len(shown)] = shown
    page.owner[: len(shown)] = owners
    return len(shown)


def _draw_pair(state: Functions, lists: Lists, query: int, first: int, second: int, page: Shown, rng: Generator) -> int:
    return _draw_slate(state, lists, query, (first, second), 2, page, rng)


def _scores(
    state: Functions, lists: Lists, query: int, slate: Sequence[int], page: Shown, length: int, n_clicks: int
) -> list[float]:
    shown, owners = page.shown[:length].tolist(), page.owner[:length].tolist()
    scores = state.credit(_orders(lists, query, slate), shown, page.clicks[:n_clicks].tolist(), owners)
    try:
        valid = len(scores) == len(slate) and all(isinstance(x, Real) and math.isfinite(x) for x in scores)
    except TypeError:
        valid = False
    if not valid:
        needed = f"one finite number for each of {len(slate)} rankers"
        raise MethodError(f"method '{state.name}': credit must return {needed}, not {scores!r:.80}")
    return list(scores)


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
