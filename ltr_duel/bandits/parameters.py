"""Policies as users write them: ``rucb``, ``rucb:alpha=0.51``, ``mdb:alpha=0.5,beta=1.5``."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ltr_duel.bandits.plugins import installed_policies
from ltr_duel.bandits.policy import POLICIES, Policy, bind
from ltr_duel.core import InputError, unknown_name


class Configured(NamedTuple):
    """A policy with its parameters; the label is how the user named it, without spaces."""

    label: str
    policy: Policy
    params: Any


def configure(text: str | Policy) -> Configured:
    """Parse ``name`` or ``name:key=value,key=value``, or take a policy as it is, with its defaults.

    A policy object need not be registered; the simulation loop learns of its functions here.

    Raises
    ------
    InputError
        For a name that does not exist, a parameter the policy does not have, or a value outside its legal range.
    """
    if isinstance(text, Policy):
        bind(text)
        params = text.params()
        _check_limits(text.name, text, params)
        return Configured(text.name, text, params)
    label = "".join(text.split())
    name, _, rest = label.partition(":")
    policy = _find(name)
    defaults = policy.params()
    given: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if key not in defaults._fields:
            raise unknown_name(f"parameter of policy {name} called", key, defaults._fields)
        if not equals:
            raise InputError(f"policy '{label}': '{key}' needs a value, as in '{name}:{key}={getattr(defaults, key)}'")
        given[key] = _converted(label, key, value, getattr(defaults, key))
    params = policy.params(**given)
    _check_limits(label, policy, params)
    return Configured(label, policy, params)


def _find(name: str) -> Policy:
    """Look a name up here, then among installed packages."""
    if name not in POLICIES:
        for policy in installed_policies():
            if policy.name == name:
                return policy
    return POLICIES[name]


def _converted(label: str, key: str, value: str, default: Any) -> Any:
    """Read a value as the type of its default."""
    if isinstance(default, bool):
        flags = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        if value.lower() not in flags:
            raise InputError(f"policy '{label}': {key} must be true or false, not '{value}'")
        return flags[value.lower()]
    try:
        return type(default)(value)
    except ValueError:
        kind = "a whole number" if isinstance(default, int) else "a number"
        raise InputError(f"policy '{label}': {key} must be {kind}, not '{value}'") from None


def _check_limits(label: str, policy: Policy, params: Any) -> None:
    for key, value in params._asdict().items():
        low, high = policy.limits.get(key, (None, None))
        if math.isfinite(value) and (low is None or value >= low) and (high is None or value <= high):
            continue
        bounds = [f"at least {low:g}" if low is not None else "", f"at most {high:g}" if high is not None else ""]
        legal = " and ".join(filter(None, bounds)) or "finite"
        raise InputError(f"policy '{label}': {key} must be {legal}, not {value}")
