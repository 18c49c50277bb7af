"""What an interleaving or multileaving method is.

    query --draw--> shown list, owners --click model--> clicks --credit--> who won

A method is a NamedTuple of constants and scratch arrays with implementations of `draw_pair` and `credit_pair`, or of
`draw_slate` and `credit_slate`, or of both pairs. Building the list and scoring the clicks are separate, so that
each can be tested against enumeration.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import InputError, IntVector, Registry, SignMatrix, SmallIntMatrix, dispatched_call, unknown_name


class Lists(NamedTuple):
    """The rankings as kernels see them; query q is columns ``query_ptr[q]:query_ptr[q + 1]``."""

    order: SmallIntMatrix  # (K, n_docs) positions, best first
    rank: SmallIntMatrix  # (K, n_docs) 1 = best
    query_ptr: IntVector  # (n_queries + 1,)


class Page(NamedTuple):
    """One shown list, as scratch: room for ``top`` documents."""

    shown: IntVector  # (top,) document positions, from the top
    owner: IntVector  # (top,) who contributed the document: 0, 1, ... within the pair or slate; -1 for nobody
    clicks: IntVector  # (top,) places of the list that were clicked, ascending


@dispatched_call
def draw_pair(
    method: Any, lists: Lists, query: int, first: int, second: int, page: Page, rng: np.random.Generator
) -> int:
    """Interleave two rankers: fill ``page.shown`` and ``page.owner``, and return the length of the list."""
    raise TypeError("this method does not compare two rankers")


@dispatched_call
def credit_pair(
    method: Any, lists: Lists, query: int, first: int, second: int, page: Page, length: int, n_clicks: int
) -> float:
    """Score one or more clicks: +1 if ``first`` won, -1 if ``second`` did, 0 for a tie, or a number between."""
    raise TypeError("this method does not compare two rankers")


@dispatched_call
def draw_slate(
    method: Any, lists: Lists, query: int, slate: IntVector, size: int, page: Page, rng: np.random.Generator
) -> int:
    """Multileave ``slate[:size]``: fill ``page.shown`` and ``page.owner``, and return the length of the list."""
    raise TypeError("this method does not compare sets of rankers")


@dispatched_call
def credit_slate(
    method: Any,
    lists: Lists,
    query: int,
    slate: IntVector,
    size: int,
    page: Page,
    length: int,
    n_clicks: int,
    won: SignMatrix,
) -> None:
    """Score the clicks: for places a < b of the slate, ``won[a, b]`` is +1 if ``slate[a]`` won, -1 if lost, else 0."""
    raise TypeError("this method does not compare sets of rankers")


class NoParams(NamedTuple):
    """For methods without parameters."""


@dataclass(frozen=True)
class Method:
    """A registered way of comparing rankers.

    Parameters
    ----------
    name : str
    pairs, slates : bool
        Whether it compares two rankers, and whole sets of them.
    open : callable
        ``open(size, params, outcome) -> method`` with scratch of its own; see `Size`.
    reference : str
    needs, cost : str
        For people: what it relies on, and what a comparison costs.
    outcomes : tuple of str
        Its outcome rules for pairs, the default first.
    params : type
        A NamedTuple class; every field has a default.
    limits : mapping of str to (low, high)
        Legal closed range of each numeric parameter; None for no bound.
    choices : mapping of str to tuple of str
        Legal values of each parameter that is a word.
    compiled : bool
        False for a method that solves a linear program: it runs as plain Python.
    """

    name: str
    pairs: bool
    slates: bool
    open: Callable[..., Any] = field(repr=False)
    reference: str = field(repr=False)
    needs: str = field(default="nothing", repr=False)
    cost: str = field(default="", repr=False)
    outcomes: tuple[str, ...] = ("credit",)
    params: Callable[..., Any] = NoParams
    limits: Mapping[str, tuple[float | None, float | None]] = field(
        default_factory=lambda: MappingProxyType({}), repr=False
    )
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    compiled: bool = True


class Size(NamedTuple):
    """What a method must make room for."""

    top: int  # documents shown
    longest: int  # documents of the largest query
    rankers: int  # of the largest slate


METHODS: Registry[Method] = Registry("comparison method", "ltr_duel.interleaving")


class ConfiguredMethod(NamedTuple):
    """A method with its parameters."""

    method: Method
    params: Any


def configure_method(text: str | Method) -> ConfiguredMethod:
    """Parse ``name`` or ``name:key=value,key=value``, for example ``probabilistic:tau=1``.

    Parameters
    ----------
    text : str or Method
        A method object is taken as it is, with its defaults; it need not be registered.

    Raises
    ------
    InputError
        For a name that does not exist, a parameter the method does not have, or a value outside its range.
    """
    if isinstance(text, Method):
        return ConfiguredMethod(text, text.params())
    label = "".join(text.split())
    name, _, rest = label.partition(":")
    method = METHODS[name]
    defaults = method.params()._asdict()
    given = {}
    for part in filter(None, rest.split(",")):
        key, _, value = part.partition("=")
        if key not in defaults:
            raise unknown_name(f"parameter of method {name} called", key, defaults)
        try:
            given[key] = type(defaults[key])(value)
        except ValueError:
            raise InputError(f"method '{label}': {key} must be a number, not '{value}'") from None
        if key in method.choices:
            if value not in method.choices[key]:
                raise unknown_name(f"{key} for method {name} called", value, method.choices[key])
            continue
        low, high = method.limits.get(key, (None, None))
        lowest, highest = -math.inf if low is None else low, math.inf if high is None else high
        if not (math.isfinite(given[key]) and lowest <= given[key] <= highest):
            legal = f"at least {lowest:g}" if high is None else f"between {lowest:g} and {highest:g}"
            raise InputError(f"method '{label}': {key} must be {legal}, not {value}")
    return ConfiguredMethod(method, method.params(**given))
