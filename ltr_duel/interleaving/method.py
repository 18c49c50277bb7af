"""Interleaving and multileaving methods: their declaration and their registry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ltr_duel.core import InputError, components, errors, implement
from ltr_duel.interleaving import hooks


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
    draw_pair, credit_pair, draw_slate, credit_slate, find_contributors, draw_mirrored : callable, optional
        See the functions of these names in `ltr_duel.interleaving.hooks`. A method defines the two functions for
        pairs, the two functions for slates, or all four; the last two reduce the variance of estimates for pairs.
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
    version : int
        Version number, raised when a given seed produces other lists or credits than before (see
        `ltr_duel.core.digest`).

    Examples
    --------
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
    version: int = 1

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
        return (self.slate_outcomes or self.outcomes[:1]) if sets else self.outcomes

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
            "compares": " and ".join(["pairs"] * self.pairs + ["sets"] * self.slates),
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
    halves = method.pairs != (method.credit_pair is not None) or method.slates != (method.credit_slate is not None)
    if halves or not (method.pairs or method.slates):
        needed = "draw_pair and credit_pair, draw_slate and credit_slate, or all four"
        raise InputError(f"method '{method.name}' must define {needed}")
    for name in ("draw_pair", "credit_pair", "draw_slate", "credit_slate", "find_contributors", "draw_mirrored"):
        if function := getattr(method, name):
            implement(getattr(hooks, name), method.state, function)


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
