"""Test whether a comparison method, for example one that you wrote, makes fair and correct comparisons."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import sqrt
from typing import Any

import numba
import numpy as np
from numpy.random import Generator

from ltr_duel.clicks import ClickModel
from ltr_duel.core import FloatMatrix, IntVector, SignMatrix, compile_error, interpreted, jit, kernel, plugins, stream
from ltr_duel.interleaving.comparison import Comparer, Comparison, compare_pair, compare_slate
from ltr_duel.interleaving.hooks import draw_pair, draw_slate
from ltr_duel.interleaving.method import METHODS, Method, MethodError
from ltr_duel.interleaving.registration import Functions
from ltr_duel.rankers import Rankings, inverse

_CLICKS = ClickModel("of the check", (0.3, 0.9), (0.1, 0.5))
_TIMES = 3000  # number of comparisons from which each mean outcome is computed
_FAR = 5.0  # a mean that is more standard errors away from its expected value is an error of the method


def check_method(method: str | Method) -> None:
    """Test that the lists and outcomes of a comparison method are valid and fair.

    A list must be as long as possible. All its documents must be different documents of the query. Identical rankers
    must win equally often. If two rankers are swapped, the mean outcome must change its sign. A ranker with the
    relevant documents at the top must beat a ranker with the reverse order on average. Outcomes must be from -1 to 1.
    The same seed must give the same list, and compiled code must give the same outcomes as plain Python.

    Parameters
    ----------
    method : str or Method
        A method of your own, or the name of a method.

    Raises
    ------
    MethodError
        If the method breaks a rule, or cannot be compiled. The message names the rule, or the line of code.

    Examples
    --------
    >>> from ltr_duel.interleaving import method_from_functions
    >>> def draw(orders, top, rng):
    ...     return orders[0][:top], [0] * len(orders[0][:top])
    >>> check_method(method_from_functions("first", draw, lambda orders, shown, clicks, owners: [1, 0]))
    Traceback (most recent call last):
    ltr_duel.interleaving.method.MethodError: method 'first': identical rankers do not win one half each
    """
    kind = METHODS.configure(method).component
    for outcome in kind.outcomes:
        for documents in (1, 4, 25):
            comparer = Comparer(_rankings(documents), _CLICKS, method, outcome)
            if kind.pairs:
                _check_lists(kind, comparer, lambda c, rng: draw_pair(c.method, c.lists, 0, 0, 1, c.page, rng))
            for slate in map(np.arange, (1, 2, 4) if kind.slates else ()):
                with _explained(kind):
                    _check_lists(
                        kind, comparer, lambda c, rng, s=slate: draw_slate(c.method, c.lists, 0, s, len(s), c.page, rng)
                    )
        comparer = Comparer(_rankings(12), _CLICKS, method, outcome)
        _check_compiled(kind, comparer.open())
        if kind.pairs:
            _check_outcomes(kind, comparer, _play_pairs)
        if kind.slates:
            with _explained(kind):
                _check_outcomes(kind, comparer, _play_slates, "in a set, ")


@contextmanager
def _explained(kind: Method) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # Two Python functions count as a method for sets, too, unless their author says otherwise.
        if kind.state is not Functions:
            raise
        complaint = plugins.plugin_complaint(error) or f"{type(error).__name__}: {error}"
        fault = str(error) if isinstance(error, MethodError) else f"method '{kind.name}': {complaint}"
        raise MethodError(f"{fault}; if it compares only pairs, register it with slates=False") from error


def _rankings(documents: int) -> Rankings:
    """Return four rankers on one query: 0 and 1 differ, 2 is a copy of 0, and 3 reverses the order of 0."""
    rng = np.random.default_rng(documents)
    best, other = rng.permutation(documents), rng.permutation(documents)
    order = np.stack([best, other, best, best[::-1]]).astype(np.int16)
    ptr = np.array([0, documents], np.int64)
    rank = np.stack([inverse(row, ptr) for row in order])
    relevance = np.zeros(documents, np.int16)
    relevance[best[: max(1, documents // 4)]] = 1
    return Rankings(("best", "other", "twin", "reverse"), order, rank, relevance, ptr, 2, {"corpus": "check"})


def _require(holds: Any, kind: Method, fault: str) -> None:
    if not holds:
        raise MethodError(f"method '{kind.name}': {fault}")


def _check_lists(kind: Method, comparer: Comparer, draw: Any) -> None:
    documents, samples = len(comparer.rankings.relevance), []
    for c in (comparer.open(), comparer.open()):
        rng = stream(0, "check lists")
        samples.append([c.page.shown[: draw(c, rng)].tolist() for _ in range(30)])
    _require(samples[0] == samples[1], kind, "the same seed gives different lists")
    for shown in samples[0]:
        _require(len(set(shown)) == len(shown), kind, f"it shows a document twice: {shown}")
        _require(set(shown) <= set(range(documents)), kind, f"it shows documents of other queries: {shown}")
        longest = min(comparer.top, documents)
        _require(len(shown) == longest, kind, f"its list of {len(shown)} could be longer: {shown}")


@kernel
def _play_pairs(
    c: Comparison, slate: IntVector, won: SignMatrix, times: int, total: FloatMatrix, rng: Generator
) -> None:
    for _ in range(times):
        for a in range(slate.shape[0]):
            for b in range(a + 1, slate.shape[0]):
                outcome = compare_pair(c, 0, slate[a], slate[b], rng, rng)
                total[slate[a], slate[b]] += outcome if -1 <= outcome <= 1 else np.inf


@kernel
def _play_slates(
    c: Comparison, slate: IntVector, won: SignMatrix, times: int, total: FloatMatrix, rng: Generator
) -> None:
    for _ in range(times):
        compare_slate(c, 0, slate, slate.shape[0], won, rng, rng)
        for a in range(slate.shape[0]):
            for b in range(a + 1, slate.shape[0]):
                total[slate[a], slate[b]] += won[a, b] if -1 <= won[a, b] <= 1 else np.inf


def _check_compiled(kind: Method, c: Comparison) -> None:
    """Compile each function of a user's method alone, so that an error message names the line."""
    if not kind.compiled or kind.state.__module__.startswith("ltr_duel.") or numba.config.DISABLE_JIT:
        return
    rng, won = stream(0, "compile"), np.zeros((1, 1), np.int8)
    for name, *rest in (("draw_pair", rng), ("credit_pair", 1, 1), ("draw_slate", rng), ("credit_slate", 1, 1, won)):
        function: Any = getattr(kind, name)
        rankers = (0, 1) if "pair" in name else (c.rows, 1)
        try:
            if function:
                compiler: Any = jit.uncached_kernel(function)
                compiler.compile(compiler.types_of(c.method, c.lists, 0, *rankers, c.page, *rest))
        except (numba.errors.NumbaError, ValueError) as error:
            raise MethodError(f"method '{kind.name}': {compile_error(function, error)}") from error


def _check_outcomes(kind: Method, comparer: Comparer, play: Any, where: str = "") -> None:
    def mean(slate: IntVector, times: int, *, compiled: bool) -> FloatMatrix:
        total, rng = np.zeros((4, 4)), stream(0, "check outcomes", *slate.tolist())
        run = play if compiled else interpreted(play)
        run(comparer.open(), slate, np.zeros((4, 4), np.int8), times, total, rng)
        return total / times

    slate, most = np.arange(4), _FAR / sqrt(_TIMES)  # the mean of n outcomes has an error of at most 1 / sqrt(n)
    fast, plain = (mean(slate[:3], 100, compiled=compiled) for compiled in (kind.compiled, False))
    _require(np.isfinite(plain).all(), kind, f"{where}an outcome is outside -1..1")
    _require(np.array_equal(fast, plain), kind, f"{where}compiled code and plain Python give different outcomes")
    forth = mean(slate, _TIMES, compiled=kind.compiled)
    back = mean(slate[::-1].copy(), _TIMES, compiled=kind.compiled).T
    _require(abs(forth[0, 2]) < most, kind, f"{where}identical rankers do not win one half each")
    mirrored = (np.abs(forth + back) < sqrt(2) * most).all()
    _require(mirrored, kind, f"{where}the order of the rankers changes who wins: {forth[0, 1]}, {back[0, 1]}")
    beaten = f"{where}a ranker does not beat its own reverse, although it ranks better"
    _require(forth[0, 3] > 0, kind, beaten)
