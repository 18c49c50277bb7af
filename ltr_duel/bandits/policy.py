"""What a policy is: five pure functions over a NamedTuple of arrays, and a registry of those that exist.

The simulation loop owns time, the coin and the counting. In each step it calls

    select(state, params, t, rng)                                  -> first, second
    update(state, params, t, first, second, outcome, rng)

or, for a policy that compares whole sets of arms at once,

    select_slate(state, params, t, slate, rng)                     -> size
    update_slate(state, params, t, slate, size, won, rng)

and, at checkpoints, ``recommend(state, params) -> arm``. A policy may add ``idle_until``: where nothing can change
for a while the loop then jumps. It may also add `Sweeps`: another way to walk through many steps at once, the same in
law, where the outcomes are coins of a known matrix. The functions are undecorated; numba compiles them when the loop is
compiled, and plain Python runs the same text.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np

from ltr_duel.core import (
    FloatMatrix,
    IntMatrix,
    IntVector,
    PlainRegistry,
    SignMatrix,
    dispatched,
    dispatched_call,
    implement,
    interpreted,
    kernel_for,
)

NEVER = np.iinfo(np.int64).max


@dispatched
def select(state: Any, params: Any, t: int, rng: np.random.Generator) -> tuple[int, int]:
    """Choose the two arms to compare in step t = 1, 2, ...; they may be the same arm."""
    raise TypeError("this state belongs to no registered policy")


@dispatched
def update(state: Any, params: Any, t: int, first: int, second: int, outcome: int, rng: np.random.Generator) -> None:
    """Learn that ``first`` won (+1) or lost (-1).

    An arm against itself is not put to the oracle: the outcome is 0, and nothing was learned. A policy whose
    paper tosses a coin there tosses its own.
    """
    raise TypeError("this state belongs to no registered policy")


@dispatched
def select_slate(state: Any, params: Any, t: int, slate: IntVector, rng: np.random.Generator) -> int:
    """Write the arms to compare in step t into ``slate`` (room for all arms), and return how many."""
    raise TypeError("this state belongs to no registered policy")


@dispatched
def update_slate(
    state: Any, params: Any, t: int, slate: IntVector, size: int, won: SignMatrix, rng: np.random.Generator
) -> None:
    """Learn, for positions a < b of the slate, that ``slate[a]`` won (``won[a, b]`` is +1) or lost (-1).

    With a slate of one arm nothing is learned, and ``won`` holds nothing.
    """
    raise TypeError("this state belongs to no registered policy")


@dispatched
def recommend(state: Any, params: Any) -> int:
    """Name the arm the policy would use if it had to stop now."""
    raise TypeError("this state belongs to no registered policy")


@dispatched
def idle_until(state: Any, params: Any, t: int) -> int:
    """After `select` chose one arm alone in step t: the last step in which it is certain to choose the same again.

    Up to that step `select` and `update` must draw no random number and change no state. The default, t itself,
    means that the loop never jumps.
    """
    return t


@dispatched_call
def sweep(state: Any, params: Any, p: FloatMatrix, t: int, until: int, met: IntMatrix, rng: np.random.Generator) -> int:
    """Take the steps t..until at once, where arm i beats arm j with probability ``p[i, j]``, independently.

    Add the number of duels of each pair to ``met[first, second]``; together they are the steps taken. What is left
    behind has the law of steps taken one by one: ``met`` after each call, and what is recommended. Return the number of
    decisions.
    """
    raise TypeError("this state belongs to no registered policy")


class Sweeps(NamedTuple):
    """How a policy walks through many steps at once."""

    state: type  # a NamedTuple class of arrays; may be that of single steps
    init: Callable[..., Any]  # as in `Policy`
    sweep: Callable[..., Any]
    recommend: Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Policy:
    """A registered policy.

    Parameters
    ----------
    name : str
        What users type.
    feedback : {"duel", "slate"}
        Whether a step compares two arms, or a set of them.
    params, state : type
        NamedTuple classes. Every field of ``params`` has a default; ``state`` holds arrays only.
    init : callable
        ``init(n_arms, horizon, params) -> state``. The only place that allocates. Without a known horizon
        the horizon is 0.
    select, update, recommend : callable
        See the module's text; for a slate policy `select_slate` and `update_slate` are meant.
    idle_until : callable, optional
        Allows the loop to jump.
    assumes : str
        What the paper's guarantee needs.
    regret : str
        The guarantee.
    cost : str
        Of one step, in K.
    reference : str
        Author, title, venue, year, algorithm.
    bibtex : str
        The entry to cite.
    needs_horizon : bool
        Whether the algorithm must be told the horizon. Then runs to different horizons are different runs.
    counts_ties : bool
        Whether a slate policy counts a tied pair (``won[a, b]`` is 0) as half a win for both. Others want ties
        broken by a coin.
    sweeps : Sweeps, optional
        Allows whole sweeps to be taken at once.
    limits : mapping of str to (low, high)
        Legal closed range of each numeric parameter; None for no bound.
    compiled : bool
        False for functions that numba cannot compile; the loop then runs as plain Python, a thousand times slower.
    """

    name: str
    feedback: Literal["duel", "slate"]
    params: Callable[..., Any]
    state: type
    init: Callable[..., Any] = field(repr=False)
    select: Callable[..., Any] = field(repr=False)
    update: Callable[..., Any] = field(repr=False)
    recommend: Callable[..., Any] = field(repr=False)
    assumes: str = field(repr=False)
    regret: str = field(repr=False)
    cost: str = field(repr=False)
    reference: str = field(repr=False)
    bibtex: str = field(repr=False)
    idle_until: Callable[..., Any] | None = field(default=None, repr=False)
    sweeps: Sweeps | None = field(default=None, repr=False)
    needs_horizon: bool = False
    counts_ties: bool = False
    limits: Mapping[str, tuple[float | None, float | None]] = field(
        default_factory=lambda: MappingProxyType({}), repr=False
    )
    compiled: bool = True


POLICIES: PlainRegistry[Policy] = PlainRegistry("policy", "ltr_duel.bandits.policies")


def register(policy: Policy) -> Policy:
    """Make a policy known by its name, and its functions known to the simulation loop."""
    bind(policy)
    return POLICIES.add(policy.name, policy)


def bind(policy: Policy) -> None:
    """Make a policy's functions known to the simulation loop, without giving it a name."""
    slate = policy.feedback == "slate"
    implement(select_slate if slate else select, policy.state, policy.select)
    implement(update_slate if slate else update, policy.state, policy.update)
    implement(recommend, policy.state, policy.recommend)
    if policy.idle_until is not None:
        implement(idle_until, policy.state, policy.idle_until)
    if policy.sweeps is not None:
        implement(sweep, policy.sweeps.state, policy.sweeps.sweep)
        implement(recommend, policy.sweeps.state, policy.sweeps.recommend)


def loop_for(policy: Policy, loop: Callable[..., Any]) -> Callable[..., Any]:
    """Return the form of a loop (a `kernel` that calls the functions above) that is right for a policy.

    The disk cache of compiled loops notices edits of this package only. So a policy from elsewhere gets a loop that
    is compiled in this process and never stored, and one that numba cannot compile gets the loop's Python text. A page
    may take functions from another page: it imports them, so an edit there is noticed too.
    """
    if not policy.compiled:
        return interpreted(loop)
    parts = (policy.select, policy.update, policy.recommend, policy.idle_until, *(policy.sweeps or ()))
    modules = {part.__module__ for part in (policy.state, *parts) if part is not None}
    return _compiled(policy.state, tuple(sorted(modules)), interpreted(loop))


@functools.cache
def _compiled(state: type, modules: tuple[str, ...], loop: Callable[..., Any]) -> Callable[..., Any]:
    return kernel_for(loop, *modules)
