"""The contract of comparison methods, checked by one call: `check_method`."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from numpy.random import Generator

from ltr_duel.clicks import ClickModel
from ltr_duel.core import FloatMatrix, FloatVector, IntVector, SignMatrix, interpreted, kernel, stream
from ltr_duel.interleaving.comparison import Comparer, Comparison, compare_pair, compare_slate
from ltr_duel.interleaving.hooks import draw_pair, draw_slate
from ltr_duel.interleaving.method import METHODS, Method, MethodError
from ltr_duel.rankers import Rankings, inverse

_CLICKS = ClickModel("of the check", (0.3, 0.9), (0.1, 0.5))
_PAIRS, _SETS = 4000, 2000  # number of comparisons for each mean
_FAR = 5.0  # largest deviation, in standard errors, that is attributed to chance


def check_method(method: str | Method) -> None:
    """Test that a comparison method satisfies the contract.

    A list contains only documents of the query, none of them twice, and is as long as possible. Identical rankers win
    equally often. If two rankers are swapped, the mean outcome changes its sign. A ranker with the relevant documents
    at the top, compared with the reverse of its order, wins more often than it loses. Outcomes are in -1..1. If the
    method stores probabilities of lists, these probabilities add up to 1. The same seed gives the same list, and gives
    the same outcomes in compiled and interpreted code. The check uses queries with one document, queries with fewer
    documents than positions, identical rankers, and all outcome rules.

    Parameters
    ----------
    method : str or Method
        A name with parameters, or a custom method.

    Raises
    ------
    MethodError
        If the method breaks the contract; the message names the broken rule.

    Examples
    --------
    >>> from ltr_duel.interleaving import method_from_functions
    >>> mine = method_from_functions("first", lambda orders, top, rng: orders[0][:top], lambda orders, *shown: [1, 0])
    >>> check_method(mine)
    Traceback (most recent call last):
    ltr_duel.interleaving.method.MethodError: method 'first': identical rankers do not win one half each
    """
    kind = METHODS.configure(method).component
    for outcome in kind.outcomes:
        for documents in (1, 4, 25):
            comparer = Comparer(_rankings(documents), _CLICKS, method, outcome)
            if kind.pairs:
                _check_lists(kind, comparer, lambda c, rng: draw_pair(c.method, c.lists, 0, 0, 1, c.page, rng))
            for size in (1, 2, 4) if kind.slates else ():
                slate = np.arange(size)
                _check_lists(
                    kind, comparer, lambda c, rng, s=slate: draw_slate(c.method, c.lists, 0, s, len(s), c.page, rng)
                )
        comparer = Comparer(_rankings(12), _CLICKS, method, outcome)
        if kind.pairs:
            _check_pairs(kind, comparer)
        if kind.slates:
            _check_slates(kind, comparer)


def _rankings(documents: int) -> Rankings:
    """Return rankings of one query; rankers 0 and 1 differ, ranker 2 equals 0, and ranker 3 is the reverse of 0."""
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
            _require(abs(choice.cumulative[-1] - 1) < 1e-12, kind, "the sum of the probabilities of its lists is not 1")
    _require(shown[0] == shown[1], kind, "the same seed gives different lists")
    for one in shown[0]:
        _require(len(set(one)) == len(one), kind, f"it shows a document twice: {one}")
        _require(all(0 <= d < documents for d in one), kind, f"it shows documents of other queries: {one}")
        _require(len(one) == min(comparer.top, documents), kind, f"its list of {len(one)} could be longer: {one}")


@kernel
def _play_pairs(comparison: Comparison, first: int, second: int, outcomes: FloatVector, rng: Generator) -> None:
    for k in range(outcomes.shape[0]):
        outcomes[k] = compare_pair(comparison, 0, first, second, rng, rng)


@kernel
def _play_slates(
    comparison: Comparison, slate: IntVector, won: SignMatrix, times: int, total: FloatMatrix, rng: Generator
) -> None:
    """Add to ``total[i, j]`` the wins of ranker i over j minus its losses, for i before j in the slate.

    A sign other than -1, 0 and 1 makes the total infinite.
    """
    for _ in range(times):
        compare_slate(comparison, 0, slate, slate.shape[0], won, rng, rng)
        for a in range(slate.shape[0]):
            for b in range(a + 1, slate.shape[0]):
                total[slate[a], slate[b]] += won[a, b] if -1 <= won[a, b] <= 1 else np.inf


def _outcomes(comparer: Comparer, first: int, second: int, times: int, *, compiled: bool) -> FloatVector:
    outcomes = np.zeros(times)
    play = _play_pairs if compiled else interpreted(_play_pairs)
    play(comparer.open(), first, second, outcomes, stream(0, "check pairs", first, second))
    return outcomes


def _leads(comparer: Comparer, slate: IntVector, times: int, *, compiled: bool) -> FloatMatrix:
    total = np.zeros((4, 4))
    play = _play_slates if compiled else interpreted(_play_slates)
    play(comparer.open(), slate, np.zeros((4, 4), np.int8), times, total, stream(0, "check slates", *slate.tolist()))
    return total / times


def _check_pairs(kind: Method, comparer: Comparer) -> None:
    def mean(first: int, second: int) -> tuple[float, float]:
        """Return the mean outcome and its variance."""
        outcomes = _outcomes(comparer, first, second, _PAIRS, compiled=kind.compiled)
        _require(bool((np.abs(outcomes) <= 1).all()), kind, "an outcome is outside -1..1")
        return float(outcomes.mean()), float(outcomes.var()) / _PAIRS + 1e-18  # 1e-18 allows for rounding errors

    fast, plain = (_outcomes(comparer, 0, 1, 200, compiled=kind.compiled and one) for one in (True, False))
    _require(np.array_equal(fast, plain), kind, "compiled code and plain Python give different outcomes")
    twins, variance = mean(0, 2)
    _require(abs(twins) < _FAR * sqrt(variance), kind, "identical rankers do not win one half each")
    (one, of_one), (other, of_other) = mean(0, 1), mean(1, 0)
    mirrored = abs(one + other) < _FAR * sqrt(of_one + of_other)
    _require(mirrored, kind, f"swapping rankers does not mirror outcomes: {one}, {other}")
    _require(mean(0, 3)[0] > 0, kind, "a ranker does not beat its own reverse, although it ranks better")


def _check_slates(kind: Method, comparer: Comparer) -> None:
    slate, most = np.arange(4), _FAR / sqrt(_SETS)  # the mean of n signs has a standard error of at most 1 / sqrt(n)
    fast, plain = (_leads(comparer, slate, 200, compiled=kind.compiled and one) for one in (True, False))
    _require(bool(np.isfinite(plain).all()), kind, "credit_slate writes a sign that is not -1, 0 or 1")
    _require(np.array_equal(fast, plain), kind, "compiled code and plain Python give different outcomes")
    mean = _leads(comparer, slate, _SETS, compiled=kind.compiled)
    mirrored = _leads(comparer, slate[::-1].copy(), _SETS, compiled=kind.compiled).T
    _require(abs(mean[0, 2]) < most, kind, "in a set, identical rankers do not win one half each")
    same = bool((np.abs(mean + mirrored) < sqrt(2) * most).all())
    _require(same, kind, "the order of the rankers in a set changes who wins")
    _require(mean[0, 3] > 0, kind, "in a set, a ranker does not beat its own reverse, although it ranks better")
