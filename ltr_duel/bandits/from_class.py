"""Policies that a user writes as plain Python classes."""

from __future__ import annotations

import inspect
import operator
import re
from collections import namedtuple
from collections.abc import Callable
from typing import Any, ClassVar

from numpy.random import Generator

from ltr_duel.bandits.policy import POLICIES, Policy, PolicyError


class Held:
    """The state of a policy from a class: an instance of the class, and the generator from which it draws."""

    name: ClassVar[str]
    methods: ClassVar[tuple[Callable[..., Any], ...]]  # functions of the user's class

    def __init__(self, player: Any, rng: Generator) -> None:
        self.player, self.rng = player, rng


def policy_from_class(cls: type, *, name: str = "", **about: Any) -> Policy:
    """Register a policy that is written as a plain Python class, so that it can be chosen by its name.

    The class runs as plain Python, and needs four methods:

    - ``__init__(self, n_arms, rng, ...)``. All random numbers must be drawn from ``rng``. Further arguments are
      parameters of the policy, and need numbers, texts or booleans as defaults. An argument ``horizon`` receives the
      number of comparisons.
    - ``ask(self)`` returns the two arms to compare, as integers from 0 to ``n_arms - 1``.
    - ``tell(self, i, j, outcome)`` is called after each ``ask``, with the arms that ``ask`` returned. The outcome is +1
      if arm i won, -1 if arm j won, and 0 if i and j are the same arm.
    - ``best(self)`` returns the arm that seems best so far. It may draw from ``rng``, for example with `best_arm`. The
      generator is reset afterwards, so these draws do not change later choices.

    If you define a class again in a notebook, at the prompt or in a script, it replaces the earlier version.

    Parameters
    ----------
    cls : type
        The class.
    name : str
        The name that users type; by default the name of the class in lower case, with underscores between words.
    **about
        Other parameters of `Policy`: ``limits``, ``choices``, ``assumes``, ``cite``, ``any_order``, ``deterministic``.

    Raises
    ------
    PolicyError
        If the class lacks a method, or an argument of ``__init__`` has no default.
    InputError
        If the name is in use.

    Examples
    --------
    >>> class RandomPairs:
    ...     def __init__(self, n_arms, rng):
    ...         self.n_arms, self.rng = n_arms, rng
    ...
    ...     def ask(self):
    ...         return self.rng.integers(self.n_arms, size=2)
    ...
    ...     def tell(self, i, j, outcome):
    ...         pass
    ...
    ...     def best(self):
    ...         return 0
    >>> policy_from_class(RandomPairs).name
    'random_pairs'
    >>> POLICIES.remove("random_pairs")
    """
    name = name or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()
    fault = f"policy '{name}': class {cls.__qualname__}"
    parts = {key: getattr(cls, key, None) for key in ("__init__", "ask", "tell", "best")}
    if missing := [key for key, part in parts.items() if not callable(part)]:
        raise PolicyError(f"{fault} has no method {missing[0]}()")
    methods = tuple(filter(inspect.isfunction, parts.values()))
    defaults = {key: argument.default for key, argument in inspect.signature(cls).parameters.items()}
    if not {"n_arms", "rng"} <= set(defaults):
        raise PolicyError(f"{fault} needs the arguments n_arms and rng in __init__")
    needs_horizon = "horizon" in defaults
    defaults = {key: value for key, value in defaults.items() if key not in ("n_arms", "rng", "horizon")}
    for key, default in defaults.items():
        if not isinstance(default, bool | int | float | str):
            raise PolicyError(f"{fault} needs a number, a text or a boolean as default of the argument {key}")
    described = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "name": name, "methods": methods}
    kind = type(cls.__name__, (Held,), described)

    def init(n_arms: int, horizon: int, params: Any, rng: Generator) -> Held:
        given = params._asdict() | ({"horizon": horizon} if needs_horizon else {})
        return kind(cls(n_arms=n_arms, rng=rng, **given), rng)

    earlier = POLICIES.get(name)
    if earlier is not None and cls.__module__ == "__main__" == earlier.state.__module__:
        POLICIES.remove(name)
    return POLICIES.add(
        Policy(
            name=name,
            params=namedtuple("Params", defaults, defaults=defaults.values()),
            state=kind,
            init=init,
            select=_select,
            update=_update,
            recommend=_recommend,
            needs_horizon=needs_horizon,
            compiled=False,
            **dict.fromkeys(("assumes", "regret", "cost"), "not stated") | about,
        )
    )


def _select(state: Held, params: Any, t: int, rng: Generator) -> tuple[int, int]:
    arms = state.player.ask()
    try:
        first, second = map(operator.index, arms)
    except (TypeError, ValueError):
        raise PolicyError(f"policy '{state.name}': ask() must return two arms, not {arms!r:.80}") from None
    return first, second


def _update(state: Held, params: Any, t: int, first: int, second: int, outcome: int, rng: Generator) -> None:
    state.player.tell(first, second, outcome)


def _recommend(state: Held, params: Any) -> int:
    """Return the best arm. The generator is reset, so that a recommendation does not change later choices."""
    generator = state.rng.bit_generator
    drawn = generator.state
    arm = state.player.best()
    generator.state = drawn
    try:
        return operator.index(arm)
    except TypeError:
        raise PolicyError(f"policy '{state.name}': best() must return an arm, not {arm!r:.80}") from None
