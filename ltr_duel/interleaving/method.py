"""`Method` describes one comparison method (interleaving or multileaving), and `METHODS` has all of them by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ltr_duel.core import InputError, components, errors, implement
from ltr_duel.interleaving import hooks


class MethodError(InputError):
    """The error if a comparison method gives wrong results or cannot be compiled.

    Examples
    --------
    >>> issubclass(MethodError, InputError)
    True
    """


@dataclass(frozen=True, eq=False, kw_only=True)
class Method(components.Component):
    """A comparison method: functions that merge rankings into one list, and decide from the clicks on the list who won.

    Parameters
    ----------
    name, params, limits, choices, cite, where : see `ltr_duel.core.Component`
    state : type
        The class of the state that ``init`` returns. For a compiled method, it must be a NamedTuple.
    init : callable
        ``init(size, params, outcome)`` returns a state: the constants and arrays that the other functions need.
    draw_pair, credit_pair, draw_slate, credit_slate, find_contributors, draw_mirrored : callable, optional
        `ltr_duel.interleaving.hooks` explains these functions. To compare two rankers, a method needs ``draw_pair`` and
        ``credit_pair``. To compare a set of rankers (a slate), it needs ``draw_slate`` and ``credit_slate``.
    posterior : tuple of str
        Names of the outcome rules that average over all rankers that may have contributed a clicked document. The
        outcome is the sign of the average.
    outcomes : tuple of str
        Names of the outcome rules for two rankers. A rule says who won, given the clicks. By default, the first rule
        is used.
    slate_outcomes : tuple of str
        Names of the outcome rules for sets of rankers; by default, only the first rule of ``outcomes``.
    biased : tuple of str
        Names of the outcome rules that favour one of two rankers even if users click at random.
    shows, wins, needs, cost : str
        Texts for the documentation: how the list is built, which ranker wins, what the method requires, and how long a
        comparison takes.
    compiled : bool
        Whether numba compiles the functions. By default True.
    version : int
        The version of the method, by default 1. Increase it when you change the results of the method for a seed.

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
        """Raise `InputError` if the method has no outcome rule of this name."""
        if outcome not in self.outcomes:
            raise errors.unknown_name(f"outcome rule of {self.name} called", outcome, self.outcomes)

    def caution(self, outcome: str) -> str:
        """Return a warning if the outcome rule is biased, otherwise an empty string."""
        rule = outcome if len(self.outcomes) > 1 else self.name
        meaning = "the mean outcome is not 0, so the result does not show that users prefer a ranker"
        return f"{rule}: under random clicks, {meaning}." if outcome in self.biased else ""

    def facts(self) -> dict[str, str]:
        """Return a row for a table of methods, as a dictionary from column headings to texts."""
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
    """Let the functions in `ltr_duel.interleaving.hooks` call the functions of a method."""
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
    """Return the names of all methods that compare sets of rankers, or pairs if ``sets`` is False."""
    return [method.name for method in METHODS if (method.slates if sets else method.pairs)]


def require_able(method: str | Method, *, sets: bool) -> None:
    """Check that a method compares sets of rankers, or pairs if ``sets`` is False."""
    label, component, _ = METHODS.configure(method)
    if not (component.slates if sets else component.pairs):
        kind = "sets of rankers" if sets else "two rankers"
        raise InputError(f"'{label}' does not compare {kind}; methods that do: {', '.join(able_methods(sets=sets))}")
