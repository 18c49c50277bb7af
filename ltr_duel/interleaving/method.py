"""`Method` declares a comparison method (interleaving or multileaving), and `METHODS` lists all of them by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ltr_duel.core import InputError, components, errors, implement
from ltr_duel.interleaving import hooks


class MethodError(InputError):
    """A comparison method breaks a rule that `check_method` tests; the message names the rule.

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
        The class of the method's state: for a compiled method, a NamedTuple of numbers and arrays.
    init : callable
        ``init(size, params, outcome)`` returns a state with new arrays for the given `Size`. The other compiled
        functions reuse these arrays and do not allocate memory.
    draw_pair, credit_pair, draw_slate, credit_slate, find_contributors, draw_mirrored : callable, optional
        See the functions of these names in `ltr_duel.interleaving.hooks`. A method needs the two functions for pairs,
        the two functions for slates (sets of rankers), or all four. The last two functions are optional.
    posterior : tuple of str
        The outcome rules that return the sign of a mean over the possible contributors; see `find_contributors`.
    outcomes : tuple of str
        The outcome rules for pairs; the first rule is the default.
    slate_outcomes : tuple of str
        The outcome rules that the method also has for sets; the first rule is the default. If the tuple is empty, sets
        use the first rule of ``outcomes``.
    biased : tuple of str
        The outcome rules under which random clicks favour one of two rankers.
    shows, wins, needs, cost : str
        Texts for the documentation: how the list is built, which ranker wins, what the method requires, and how long a
        comparison takes.
    compiled : bool
        Whether numba compiles the functions; by default True. If False, they run as plain Python.
    version : int
        A number that you raise when the same seed gives other lists or credits than before.

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
        """Return the default outcome rule, for pairs or for sets."""
        return self.outcomes_of(sets=sets)[0]

    def outcomes_of(self, *, sets: bool) -> tuple[str, ...]:
        """Return the outcome rules, for pairs or for sets."""
        return (self.slate_outcomes or self.outcomes[:1]) if sets else self.outcomes

    def require_outcome(self, outcome: str) -> None:
        """Raise `InputError` if the method has no such outcome rule."""
        if outcome not in self.outcomes:
            raise errors.unknown_name(f"outcome rule of {self.name} called", outcome, self.outcomes)

    def caution(self, outcome: str) -> str:
        """Return a warning if random clicks favour a ranker under this outcome rule; otherwise return ``""``."""
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
    """Let the functions in `hooks` call this method's functions if they receive a state of this method's class."""
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
    """Return the names of the methods that compare sets of rankers, or of those that compare pairs."""
    return [method.name for method in METHODS if (method.slates if sets else method.pairs)]


def require_able(method: str | Method, *, sets: bool) -> None:
    """Raise `InputError` if a method cannot compare sets of rankers, or cannot compare pairs."""
    label, component, _ = METHODS.configure(method)
    if not (component.slates if sets else component.pairs):
        kind = "sets of rankers" if sets else "two rankers"
        raise InputError(f"'{label}' does not compare {kind}; methods that do: {', '.join(able_methods(sets=sets))}")
