"""The contract that every method keeps, as one call: `check_method`."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from ltr_duel.clicks import ClickModel
from ltr_duel.core import InputError, stream
from ltr_duel.interleaving.comparison import Comparer, Comparison, compare_pair, compare_slate
from ltr_duel.interleaving.method import METHODS, Method, draw_pair, draw_slate
from ltr_duel.rankers import Rankings, inverse

_CLICKS = ClickModel("of the check", (0.3, 0.9), (0.1, 0.5))
_TIMES = 2000  # comparisons behind a mean; a mean of outcomes in -1..1 is then known to 1 / sqrt(2000) = .022
_FAR = 6.0  # standard errors that cannot be chance


class MethodError(InputError):
    """A comparison method breaks the contract; the message says which part of it.

    Examples
    --------
    >>> issubclass(MethodError, InputError)
    True
    """


def check_method(method: str | Method) -> None:
    """Test that a comparison method behaves.

    It shows lists of different documents, all of them the query's, as long as they can be; identical rankers win one
    half each; swapping two rankers mirrors the outcome; outcomes lie in -1..1; the probabilities of a method that
    solves for them add up to 1; the same seed gives the same list. Queries of one document, fewer documents than
    places, twins, and several outcome rules are tried.

    Parameters
    ----------
    method : str or Method
        A name with parameters, or a method of your own.

    Raises
    ------
    MethodError
        Naming what does not hold.

    Examples
    --------
    >>> from ltr_duel.interleaving import method_from_functions
    >>> mine = method_from_functions("first", lambda orders, top, rng: orders[0][:top], lambda orders, *shown: [1, 0])
    >>> check_method(mine)
    Traceback (most recent call last):
    ltr_duel.interleaving.check.MethodError: method 'first': identical rankers do not win one half each
    """
    kind = METHODS.configure(method).component
    for outcome in kind.outcomes:
        for documents in (1, 4, 25):
            comparer = Comparer(_rankings(documents), _CLICKS, method, outcome)
            if kind.pairs:
                _check_lists(kind, comparer, lambda c, rng: draw_pair(c.method, c.lists, 0, 0, 1, c.page, rng))
            if kind.slates:
                for size in (1, 2, 4):
                    slate = np.arange(size)
                    _check_lists(
                        kind,
                        comparer,
                        lambda c, rng, s=slate: draw_slate(c.method, c.lists, 0, s, len(s), c.page, rng),
                    )
        comparer = Comparer(_rankings(12), _CLICKS, method, outcome)
        if kind.pairs:
            _check_pairs(kind, comparer)
        if kind.slates:
            _check_slates(kind, comparer)


def _rankings(documents: int) -> Rankings:
    """One query; rankers 0 and 1 differ, 2 is the twin of 0, 3 the reverse of 0."""
    rng = np.random.default_rng(documents)
    one, other = rng.permutation(documents), rng.permutation(documents)
    order = np.stack([one, other, one, one[::-1]]).astype(np.int16)
    ptr = np.array([0, documents], np.int64)
    rank = np.stack([inverse(row, ptr) for row in order])
    relevance = np.zeros(documents, np.int16)
    relevance[one[: max(1, documents // 4)]] = 1
    return Rankings(("one", "other", "twin", "reverse"), order, rank, relevance, ptr, 2, {"corpus": "check"})


def _require(holds: bool, kind: Method, what: str) -> None:
    if not holds:
        raise MethodError(f"method '{kind.name}': {what}")


def _check_lists(kind: Method, comparer: Comparer, draw: Any) -> None:
    documents = len(comparer.rankings.relevance)
    shown = []
    for c in (comparer.open(), comparer.open()):
        rng = stream(0, "check lists")
        lists = []
        for _ in range(30):
            length = draw(c, rng)
            lists.append(c.page.shown[:length].tolist())
        shown.append(lists)
        choices = getattr(c.method, "solved", {}).values()
        for choice in choices:
            _require(abs(choice.cumulative[-1] - 1) < 1e-12, kind, "the probabilities of its lists do not add up to 1")
    _require(shown[0] == shown[1], kind, "the same seed gives different lists")
    for one in shown[0]:
        _require(len(set(one)) == len(one), kind, f"it shows a document twice: {one}")
        _require(all(0 <= d < documents for d in one), kind, f"it shows documents that are not the query's: {one}")
        _require(len(one) == min(comparer.top, documents), kind, f"its list of {len(one)} could be longer: {one}")


def _mean_of_pairs(c: Comparison, first: int, second: int, kind: Method) -> float:
    rng = stream(0, "check pairs", first, second)
    outcomes = [compare_pair(c, 0, first, second, rng, rng) for _ in range(_TIMES)]
    _require(all(-1 <= o <= 1 for o in outcomes), kind, "an outcome lies outside -1..1")
    return float(np.mean(outcomes))


def _check_pairs(kind: Method, comparer: Comparer) -> None:
    c = comparer.open()
    _require(
        abs(_mean_of_pairs(c, 0, 2, kind)) < _FAR / sqrt(_TIMES), kind, "identical rankers do not win one half each"
    )
    one, other = _mean_of_pairs(c, 0, 1, kind), _mean_of_pairs(c, 1, 0, kind)
    _require(
        abs(one + other) < _FAR * sqrt(2 / _TIMES), kind, f"swapping the rankers does not mirror it: {one}, {other}"
    )
    _require(_mean_of_pairs(c, 0, 3, kind) > 0, kind, "a ranker loses to its own reverse, though it ranks better")


def _check_slates(kind: Method, comparer: Comparer) -> None:
    c, rng = comparer.open(), stream(0, "check slates")
    total = np.zeros((4, 4))
    for slate in (np.array([0, 1, 2, 3]), np.array([3, 2, 1, 0])):
        won = np.zeros((4, 4), np.int8)
        for _ in range(_TIMES):
            compare_slate(c, 0, slate, 4, won, rng, rng)
            for a in range(4):
                for b in range(a + 1, 4):
                    total[slate[a], slate[b]] += won[a, b]
    mean, mirrored = np.triu(total) / _TIMES, np.tril(total).T / _TIMES
    _require(abs(mean[0, 2]) < _FAR / sqrt(_TIMES), kind, "in a set, identical rankers do not win one half each")
    _require(
        bool((np.abs(mean + mirrored) < _FAR * sqrt(2 / _TIMES)).all()), kind, "the order of a set changes who wins"
    )
    _require(mean[0, 3] > 0, kind, "in a set, a ranker loses to its own reverse, though it ranks better")
