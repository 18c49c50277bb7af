"""Interleaving and multileaving methods: their declaration, their registry, and checks of the results of plug-ins."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numba
import numpy as np

from ltr_duel.core import InputError, IntVector, compile_error, components, errors, implement, interpreted, jit, stream
from ltr_duel.interleaving.hooks import (
    Lists,
    Shown,
    credit_pair,
    credit_slate,
    draw_mirrored,
    draw_pair,
    draw_slate,
    find_contributors,
)

_compiled: set[type] = set()  # state classes of the plug-in methods that have been compiled


class MethodError(InputError):
    """A comparison method breaks the contract that `check_method` tests; the message names the broken rule.

    Examples
    --------
    >>> issubclass(MethodError, InputError)
    True
    """


@dataclass(frozen=True, eq=False, kw_only=True)
class Method(components.Component):
    """A comparison method: the functions that interleave or multileave rankers, and facts about them.

    Parameters
    ----------
    name, params, limits, choices, cite, where
        The parameters of every component; see `ltr_duel.core.Component`.
    state : type
        The class of the method's state. For a compiled method, a NamedTuple of numbers and arrays.
    init : callable
        ``init(size, params, outcome) -> state`` allocates a state with new scratch arrays for the given `Size`. The
        other compiled functions do not allocate memory.
    draw_pair, credit_pair, draw_slate, credit_slate : callable, optional
        See the functions of these names in `ltr_duel.interleaving.hooks`. A method defines the two functions for
        pairs, the two functions for slates, or all four.
    find_contributors, draw_mirrored : callable, optional
        See the functions of these names in `ltr_duel.interleaving.hooks`. They reduce the variance of estimates for
        pairs of rankers.
    posterior : tuple of str
        The outcome rules whose outcome is the sign of a mean over the possible contributors; see `find_contributors`.
    outcomes : tuple of str
        The outcome rules for pairs; the first rule is the default.
    slate_outcomes : tuple of str
        The rules of ``outcomes`` that decide pairs of a set; the first rule is the default. By default only the first
        rule of ``outcomes``.
    biased : tuple of str
        The outcome rules under which random clicks favour one of two rankers.
    shows, wins, needs, cost : str
        Texts for the documentation: how the list is built, which ranker wins, what the method requires, and what a
        comparison costs.
    compiled : bool
        False if numba cannot compile the functions, so that they run as plain Python.
    numbers : int
        Version number, raised when a given seed produces other lists or credits than before (see
        `ltr_duel.core.numbering`).

    Examples
    --------
    >>> from ltr_duel.interleaving import METHODS
    >>> method = METHODS["sosm"]
    >>> method.pairs, method.slates, method.parameters
    (False, True, 'tau=3.0')
    """

    state: type = field(repr=False)
    init: Callable[..., Any] = field(repr=False)
    draw_pair: Callable[..., Any] | None = field(default=None, repr=False)
    credit_pair: Callable[..., Any] | None = field(default=None, repr=False)
    draw_slate: Callable[..., Any] | None = field(default=None, repr=False)
    credit_slate: Callable[..., Any] | None = field(default=None, repr=False)
    find_contributors: Callable[..., Any] | None = field(default=None, repr=False)
    draw_mirrored: Callable[..., Any] | None = field(default=None, repr=False)
    posterior: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ("credit",)
    slate_outcomes: tuple[str, ...] = ()
    biased: tuple[str, ...] = ()
    shows: str = field(default="not stated", repr=False)
    wins: str = field(default="not stated", repr=False)
    needs: str = field(default="nothing", repr=False)
    cost: str = field(default="not stated", repr=False)
    compiled: bool = True
    numbers: int = 1

    @property
    def pairs(self) -> bool:
        """Whether the method compares two rankers."""
        return self.draw_pair is not None

    @property
    def slates(self) -> bool:
        """Whether the method compares sets of rankers."""
        return self.draw_slate is not None

    def default_outcome(self, *, sets: bool = False) -> str:
        """Return the default outcome rule of pairs or of sets."""
        return self.outcomes_of(sets=sets)[0]

    def outcomes_of(self, *, sets: bool) -> tuple[str, ...]:
        """Return the outcome rules of pairs or of sets."""
        return (sets and self.slate_outcomes) or (self.outcomes[:1] if sets else self.outcomes)

    @property
    def foreign(self) -> bool:
        """Whether the functions come from outside the package; they may need the documents' owners for credit."""
        return not self.state.__module__.startswith("ltr_duel.")

    def caution(self, outcome: str) -> str:
        """Return a warning about results of an outcome rule; empty if random clicks favour neither ranker."""
        rule = outcome if len(self.outcomes) > 1 else self.name
        warning = (
            f"{rule}: under random clicks, the mean outcome is not 0, so the result does not show that users prefer a"
            " ranker."
        )
        return warning if outcome in self.biased else ""

    def facts(self) -> dict[str, str]:
        """Return the facts about the component, keyed by column heading."""
        known = super().facts()
        return {
            "compares": " and ".join(word for word, able in (("pairs", self.pairs), ("sets", self.slates)) if able),
            "parameters": known["parameters"],
            "list": self.shows,
            "who wins": self.wins,
            "outcome rules": ", ".join(self.outcomes),
            "needs": self.needs,
            "costs": self.cost,
            "source": known["source"],
        }


def bind(method: Method) -> None:
    """Register a method's functions as implementations of the functions in `hooks`, for the class of its state."""
    pairs, slates = (method.draw_pair, method.credit_pair), (method.draw_slate, method.credit_slate)
    functions: list[Callable[..., Any] | None] = [*pairs, *slates]
    for draw, credit in (pairs, slates):
        if (draw is None) != (credit is None):
            raise InputError(f"method '{method.name}': a draw function requires a credit function, and vice versa")
    if not any(functions):
        raise InputError(
            f"method '{method.name}': defines neither draw_pair and credit_pair, nor draw_slate and credit_slate"
        )
    stubs: list[Callable[..., Any]] = [draw_pair, credit_pair, draw_slate, credit_slate]
    tested = method.foreign and not method.compiled
    for stub, function in zip(stubs, functions, strict=True):
        if function is not None:
            implement(stub, method.state, _tested(method.name, stub, function) if tested else function)
    if method.find_contributors:
        implement(find_contributors, method.state, method.find_contributors)
    if method.draw_mirrored:
        implement(draw_mirrored, method.state, method.draw_mirrored)


def _tested(name: str, stub: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a plain-Python function from outside this package, so that the result of each call is checked."""
    function = interpreted(function)

    @functools.wraps(function)
    def draw(state: Any, lists: Lists, query: int, *rest: Any) -> Any:
        length = function(state, lists, query, *rest)
        page, documents = rest[-2], int(lists.query_ptr[query + 1] - lists.query_ptr[query])
        if not isinstance(length, int | np.integer) or not 0 <= length <= len(page.shown):
            raise MethodError(f"method '{name}': {stub.__name__} returns {errors.shown(length)}, which is not a length")
        require_list(name, page.shown[:length].tolist(), documents, len(page.shown))
        return length

    @functools.wraps(function)
    def credit(*given: Any) -> Any:
        outcome = function(*given)
        if stub is credit_slate:
            won, size = given[-1], given[4]
            signs = won[:size, :size][np.triu_indices(size, 1)]
            if ((signs < -1) | (signs > 1)).any():  # np.abs(-128) is -128 in int8
                raise MethodError(f"method '{name}': credit_slate writes a sign that is not -1, 0 or 1")
        elif not is_number(outcome) or not -1 <= outcome <= 1:
            raise MethodError(f"method '{name}': credit_pair returns {errors.shown(outcome)}, not a number in -1..1")
        return outcome

    return draw if stub in (draw_pair, draw_slate) else credit


def is_number(value: Any) -> bool:
    """Return whether a value is a finite real number."""
    return isinstance(value, Real) and math.isfinite(value)


def require_list(name: str, shown: Any, documents: int, top: int) -> None:
    """Raise `MethodError` unless a list contains at most ``top`` different documents of the query."""
    listed = list(shown) if isinstance(shown, Sequence | np.ndarray) else [None]
    if not all(isinstance(one, int | np.integer) and 0 <= one < documents for one in listed):
        raise MethodError(f"method '{name}': it shows documents of other queries: {shown!r:.80}")
    if len(listed) > top:
        raise MethodError(f"method '{name}': it shows {len(listed)} documents; at most {top} are allowed")
    if len(set(listed)) < len(listed):
        raise MethodError(f"method '{name}': it shows a document twice: {shown!r:.80}")


def is_new_plugin(method: Method) -> bool:
    """Return whether a method from outside this package still has to be compiled."""
    inside = method.state.__module__.startswith("ltr_duel.")
    return method.compiled and not inside and method.state not in _compiled and not numba.config.DISABLE_JIT


def compile_plugin(method: Method, state: Any, lists: Lists, page: Shown, slate: IntVector) -> None:
    """Compile the functions of a plug-in method for the types of these arguments."""
    of_pairs, of_slates = (state, lists, 0, 0, 1, page), (state, lists, 0, slate, 1, page)
    rng, won = stream(0, "compile"), np.zeros((1, 1), np.int8)
    for function, arguments in (
        (method.draw_pair, (*of_pairs, rng)),
        (method.credit_pair, (*of_pairs, 1, 1)),
        (method.draw_slate, (*of_slates, rng)),
        (method.credit_slate, (*of_slates, 1, 1, won)),
    ):
        if function is not None:
            try:
                compiler: Any = jit.uncached_kernel(function)
                compiler.compile(compiler.types_of(*arguments))
            except (numba.errors.NumbaError, ValueError) as error:
                raise MethodError(f"method '{method.name}': {compile_error(function, error)}") from error
    _compiled.add(method.state)


METHODS: components.Registry[Method] = components.Registry(
    "comparison method", "ltr_duel.interleaving.methods", bind, check="ltr_duel.interleaving.check:check_method"
)


def able_methods(*, sets: bool) -> list[str]:
    """Return the names of the methods that compare sets of rankers (``sets`` is true) or pairs (``sets`` is false)."""
    return [one.name for one in METHODS if (one.slates if sets else one.pairs)]


def require_able(method: str | Method, *, sets: bool) -> None:
    """Raise unless a method compares sets of rankers (``sets`` is true) or pairs (``sets`` is false)."""
    label, component, _ = METHODS.configure(method)
    if not (component.slates if sets else component.pairs):
        kind = "sets of rankers" if sets else "two rankers"
        raise InputError(f"'{label}' does not compare {kind}; methods that do: {', '.join(able_methods(sets=sets))}")
