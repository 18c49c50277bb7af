"""Interleaving and multileaving methods: their declaration and their registry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numba
import numpy as np

from ltr_duel.core import InputError, IntVector, compile_error, components, errors, implement, jit, stream
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

    @property
    def foreign(self) -> bool:
        """Whether the functions come from outside the package and may need the documents' owners for credit."""
        return not self.state.__module__.startswith("ltr_duel.") or hasattr(self.state, "credits_owners")

    def default_outcome(self, *, sets: bool = False) -> str:
        """Return the default outcome rule of pairs or of sets."""
        return self.outcomes_of(sets=sets)[0]

    def outcomes_of(self, *, sets: bool) -> tuple[str, ...]:
        """Return the outcome rules of pairs or of sets."""
        return (sets and self.slate_outcomes) or (self.outcomes[:1] if sets else self.outcomes)

    def require_outcome(self, outcome: str) -> None:
        """Raise `InputError` if the method has no such outcome rule."""
        if outcome not in self.outcomes:
            raise errors.unknown_name(f"outcome rule of {self.name} called", outcome, self.outcomes)

    def caution(self, outcome: str) -> str:
        """Return a warning about results of an outcome rule; empty if random clicks favour neither ranker."""
        rule = outcome if len(self.outcomes) > 1 else self.name
        meaning = "the mean outcome is not 0, so the result does not show that users prefer a ranker"
        return f"{rule}: under random clicks, {meaning}." if outcome in self.biased else ""

    def facts(self) -> dict[str, str]:
        """Return the facts about the component, keyed by column heading."""
        facts = super().facts()
        return {
            "compares": " and ".join(kind for kind, able in (("pairs", self.pairs), ("sets", self.slates)) if able),
            "parameters": facts["parameters"],
            "list": self.shows,
            "who wins": self.wins,
            "outcome rules": ", ".join(self.outcomes),
            "needs": self.needs,
            "costs": self.cost,
            "source": facts["source"],
        }


def bind(method: Method) -> None:
    """Register a method's functions as implementations of the functions in `hooks`, for the class of its state."""
    for draw, credit in ((method.draw_pair, method.credit_pair), (method.draw_slate, method.credit_slate)):
        if (draw is None) != (credit is None):
            raise InputError(f"method '{method.name}': a draw function requires a credit function, and vice versa")
    if not (method.pairs or method.slates):
        needed = "neither draw_pair and credit_pair, nor draw_slate and credit_slate"
        raise InputError(f"method '{method.name}': defines {needed}")
    for stub in (draw_pair, credit_pair, draw_slate, credit_slate, find_contributors, draw_mirrored):
        function = getattr(method, stub.__name__)
        if function is not None:
            implement(stub, method.state, function)


def compile_plugin(method: Method, state: Any, lists: Lists, page: Shown, slate: IntVector) -> None:
    """Compile the functions of a plug-in method for the types of these arguments, once, to report faults by line."""
    if not (method.compiled and method.foreign) or method.state in _compiled or numba.config.DISABLE_JIT:
        return
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
    """Return the names of the methods that compare sets of rankers, or pairs."""
    return [method.name for method in METHODS if (method.slates if sets else method.pairs)]


def require_able(method: str | Method, *, sets: bool) -> None:
    """Raise `InputError` unless a method compares sets of rankers, or pairs."""
    label, component, _ = METHODS.configure(method)
    if not (component.slates if sets else component.pairs):
        kind = "sets of rankers" if sets else "two rankers"
        raise InputError(f"'{label}' does not compare {kind}; methods that do: {', '.join(able_methods(sets=sets))}")
