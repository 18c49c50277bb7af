"""The class `Policy`, which describes a policy, and the registry in which policies are found by their names.

To add a policy, write a module with the functions that `ltr_duel.bandits.hooks` describes, and call `register` in it.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from numpy.random import Generator

from ltr_duel.bandits import hooks
from ltr_duel.bandits.state import arrays_in
from ltr_duel.core import InputError, NoParams, components, host, implement, interpreted

_FEW = 256  # up to this number of arms, memory is not checked
_MEASURED = 64  # number of arms of the state that `require_room` measures
_COPIES = 4  # a policy that learns in turn stores the state of `init` and three copies (`delayed.new_late`)


class PolicyError(InputError):
    """A policy breaks a rule for policies, or cannot be compiled. The message names the policy and the fault.

    Examples
    --------
    >>> issubclass(PolicyError, InputError)
    True
    """


@dataclass(frozen=True, eq=False, kw_only=True)
class Policy(components.Component):
    """The functions of a policy, and facts about the policy. `register` makes a Policy from a module.

    Parameters
    ----------
    name, params, limits, choices, cite, where
        See `ltr_duel.core.Component`, the base class of policies.
    state : type
        The class of the state, a NamedTuple of arrays. If ``compiled`` is False, any class is possible. Each policy
        needs a class of its own, because the loop finds the functions of a policy by the class of the state.
    init : callable
        ``init(n_arms, horizon, params)`` returns the state before the first step. Only this function may allocate
        memory. ``horizon`` is 0 unless ``needs_horizon`` is True. A fourth parameter ``rng`` is optional, and
        receives the generator of random numbers.
    select, update, recommend, idle_until : callable
        The functions that `ltr_duel.bandits.hooks` describes. ``idle_until`` is optional. If ``select`` has a parameter
        ``slate``, the policy compares sets of arms.
    assumes, regret : str
        The assumption of the paper's guarantee, and the guaranteed regret, as texts for the documentation.
    made_for : str
        The kind of regret that the algorithm minimises, by default the average regret.
    identifies : str
        A text such as ``"the best arm"``, for a policy that stops comparing when it has identified this arm. Before it
        stops, the policy must compare a pair in each step, and the loop must not skip a step.
    cost : str
        The time that one step takes, as a function of the number K of arms.
    needs_horizon : bool
        Whether the algorithm requires the horizon, the number of steps. If so, earlier results of a run do not hold for
        shorter runs.
    counts_ties : bool
        Whether a policy for sets counts a tie (``won[a, b]`` is 0) as half a win for both arms. For other policies, a
        coin must break ties.
    deterministic : bool
        Whether the choices depend only on the outcomes, and not on random numbers of the policy.
    any_order : bool
        Whether outcomes may arrive late and in any order (see `ltr_duel.bandits.delayed`). If so, `update` may only
        count outcomes, and may not use what `select` stored. `select` may use what its earlier calls stored, for
        example the number of choices.
    adaptive : bool
        Whether choices depend on outcomes. Logs of adaptive policies require special estimates and intervals.
    compiled : bool
        Whether numba compiles the functions. If False, the loop runs as plain Python, some 500 times slower.
    for_sets : str
        Name of the policy to use instead if sets of arms can be compared.
    version : int
        Version of the policy's results. The version is raised when the same seed and the same outcomes lead to other
        choices than before (see `ltr_duel.core.digest`).

    Examples
    --------
    >>> from ltr_duel.bandits import POLICIES
    >>> rucb = POLICIES["rucb"]
    >>> rucb.feedback, rucb.parameters, rucb.assumes
    ('duel', 'alpha=0.51,prior_wins=0,hypothesis=False', 'a Condorcet winner')
    """

    state: type
    init: Callable[..., Any] = field(repr=False)
    select: Callable[..., Any] = field(repr=False)
    update: Callable[..., Any] = field(repr=False)
    recommend: Callable[..., Any] = field(repr=False)
    idle_until: Callable[..., Any] | None = field(default=None, repr=False)
    assumes: str = field(default="", repr=False)
    regret: str = field(default="", repr=False)
    made_for: str = field(default="average", repr=False)
    identifies: str = field(default="", repr=False)
    cost: str = field(default="", repr=False)
    needs_horizon: bool = False
    counts_ties: bool = False
    deterministic: bool = False
    any_order: bool = False
    adaptive: bool = True
    compiled: bool = True
    for_sets: str = ""
    version: int = 1

    @functools.cached_property
    def feedback(self) -> Literal["duel", "slate"]:
        """What a step compares: two arms (``"duel"``), or a set of arms (``"slate"``)."""
        return "slate" if "slate" in inspect.signature(interpreted(self.select)).parameters else "duel"

    @functools.cached_property
    def parts(self) -> dict[str, Callable[..., Any]]:
        """The functions of the policy as plain Python. The keys are the names by which the loop calls the functions."""
        ending = "_slate" if self.feedback == "slate" else ""
        functions = {f"select{ending}": self.select, f"update{ending}": self.update, "recommend": self.recommend}
        if self.idle_until is not None:
            functions["idle_until"] = self.idle_until
        return {name: interpreted(function) for name, function in functions.items()}

    @functools.cached_property
    def _needs_rng(self) -> bool:
        return "rng" in inspect.signature(self.init).parameters

    def start(self, n_arms: int, horizon: int, params: Any, rng: Generator) -> Any:
        """Return the state before the first step."""
        drawn = (rng,) if self._needs_rng else ()
        return self.init(n_arms, horizon if self.needs_horizon else 0, params, *drawn)

    def facts(self) -> dict[str, str]:
        """Return what the documentation says about the policy. The keys are the headings of a table."""
        known = super().facts()
        sets = f" (sets with users: {self.for_sets})" if self.for_sets else ""
        return {
            "compares": {"duel": "pairs", "slate": "sets"}[self.feedback] + sets,
            "parameters": known["parameters"],
            "assumes": self.assumes + (", the horizon" if self.needs_horizon else ""),
            "regret": self.regret,
            "step costs": self.cost,
            "source": known["source"],
        }


def suited(given: components.Configured[Policy], *, to_sets: bool) -> components.Configured[Policy]:
    """Return the policy, or its replacement for sets if ``to_sets`` is True and there is a replacement."""
    if not to_sets or not given.component.for_sets:
        return given
    other = POLICIES.configure(given.component.for_sets)
    return components.Configured(given.label, other.component, other.params)


def require_room(
    policy: Policy, params: Any, n_arms: int, *, horizon: int = 0, in_turn: bool = False, runs: int = 1
) -> None:
    """Raise `InputError` if there is not enough memory for ``runs`` runs at once.

    The size is measured for few arms, because the state grows at most with the square of the number of arms.
    """
    if n_arms <= _FEW or not issubclass(policy.state, tuple):
        return
    state = policy.init(_MEASURED, horizon if policy.needs_horizon else 0, params)
    size = sum(array.nbytes for _, array in arrays_in(state)) * (n_arms / _MEASURED) ** 2
    size = size * (_COPIES if in_turn else 1) + (n_arms**2 if policy.feedback == "slate" else 0)
    at_once = f" in {runs} runs at once" if runs > 1 else ""
    host.require_memory(f"policy '{policy.name}' with {n_arms:,} arms{at_once}", runs * size)


def bind(policy: Policy) -> None:
    """Connect a policy's functions with the simulation loop.

    Raises `PolicyError` if another policy has the same State class, or if a function has the wrong parameters.
    """
    if _bound.setdefault(policy.state, policy.parts) != policy.parts:
        raise PolicyError(f"policy '{policy.name}' shares its State with another policy; define a separate class")
    try:
        for name, function in policy.parts.items():
            implement(getattr(hooks, name), policy.state, function)
    except TypeError as error:
        raise PolicyError(f"policy '{policy.name}': {error}") from error
    if policy.feedback == "duel":
        hooks.pair_as_slate(policy.state)
    if not policy.state.__module__.startswith("ltr_duel."):
        hooks.require_arms(policy.state)


_bound: dict[type, dict[str, Callable[..., Any]]] = {}
POLICIES: components.Registry[Policy] = components.Registry(
    "policy", "ltr_duel.bandits.policies", bind, check="ltr_duel.bandits.check:check_policy"
)


def named_policy(label: str) -> Policy | None:
    """Return the policy that a label names, or None if there is none, for example because a plug-in is missing."""
    return POLICIES.get(label.partition(":")[0])


def marked(label: str) -> str:
    """Return a label, with a remark if the policy knows the horizon or minimises an unusual kind of regret.

    Parameters
    ----------
    label : str
        The name of a policy, with or without parameters.

    Examples
    --------
    >>> marked("rucb"), marked("savage"), marked("winner_stays")
    ('rucb', 'savage (knows T)', 'winner_stays (for weak regret)')
    """
    policy, remarks = named_policy(label), []
    if policy and policy.needs_horizon:
        remarks.append("knows T")
    if policy and policy.made_for != "average":
        remarks.append(f"for {policy.made_for} regret")
    return f"{label} ({', '.join(remarks)})" if remarks else label


def register(module: str, *, name: str = "", prefix: str = "", **facts: Any) -> Policy:
    """Register the policy that a module defines, so that it can be chosen by its name.

    The parts of the policy are found by their names in the module: ``Params``, ``State``, ``init``, ``select``,
    ``update``, ``recommend`` and ``idle_until``. ``Params`` and ``idle_until`` are optional.

    Parameters
    ----------
    module : str
        The name of the module, usually ``__name__``.
    name : str
        The name that users type; by default the name of the file.
    prefix : str
        The beginning of the names of the parts, if the module defines several policies. For example, the prefix
        ``"pac"`` selects ``PacState`` and ``pac_init`` if they exist, and otherwise ``State`` and ``init``.
    **facts
        The other parameters of `Policy`, for example ``assumes``, ``regret`` and ``limits``. You can also pass parts
        here, for example a function of another module.

    Raises
    ------
    PolicyError
        If a part is missing or has the wrong parameters, or if another policy has the same State class.
    InputError
        If the name is in use.

    Examples
    --------
    >>> from ltr_duel.bandits import POLICIES
    >>> copy = register("ltr_duel.bandits.policies.rucb", name="copy", assumes="a Condorcet winner", where="RUCB")
    >>> POLICIES["copy"].idle_until.__module__
    'ltr_duel.bandits.policies.rucb'
    >>> POLICIES.remove("copy")
    """
    defined = vars(importlib.import_module(module))
    name = name or Path(defined.get("__file__", "")).stem
    if not name:
        raise PolicyError("a policy that is not defined in a file needs a name: register(__name__, name=...)")
    parts: dict[str, Any] = {"params": NoParams}
    for kind in ("Params", "State", "init", "select", "update", "recommend", "idle_until"):
        own = f"{prefix.capitalize()}{kind}" if kind[0].isupper() else f"{prefix}_{kind}"
        part = facts.get(kind.lower()) or (prefix and defined.get(own)) or defined.get(kind)
        if part is not None:
            parts[kind.lower()] = part
        elif kind not in ("Params", "idle_until"):
            raise PolicyError(f"policy '{name}': there is no '{kind}' in {defined.get('__file__', module)}")
    return POLICIES.add(Policy(name=name, **(parts | facts)))
