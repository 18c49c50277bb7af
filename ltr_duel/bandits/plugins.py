"""Policies from outside this package: from a file, or from an installed package that announces them.

A file defines one or more `Policy` objects at its top level; that is all. An installed package names such objects, or a
module that defines them, under the entry point group ``ltr_duel.policies``.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from ltr_duel.bandits.policy import POLICIES, Policy, bind
from ltr_duel.core import InputError

GROUP = "ltr_duel.policies"


def load_policy_file(path: str | Path) -> list[Policy]:
    """Run a Python file and return the policies it defines, ready for the simulation.

    Parameters
    ----------
    path : str or Path
        A file like those of `ltr_duel.bandits`, except that it need not call ``register``.

    Returns
    -------
    list of Policy

    Raises
    ------
    InputError
        If the file does not exist, fails, or defines no policy.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: there is no such file of policies")
    name = f"ltr_duel_policy_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path}: a file of policies is Python and ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"{path}: {type(error).__name__}: {error}") from error
    policies = _defined_in(module)
    if not policies:
        raise InputError(f"{path}: defines no policy; make one with ltr_duel.bandits.policy.Policy")
    for policy in policies:
        bind(policy)
    return policies


def installed_policies() -> list[Policy]:
    """Return the policies that installed packages announce under the entry point group ``ltr_duel.policies``."""
    found: list[Policy] = []
    for point in importlib.metadata.entry_points(group=GROUP):
        loaded = point.load()
        found += _defined_in(loaded) if isinstance(loaded, ModuleType) else [loaded]
    for policy in found:
        bind(policy)
    return found


def make_known(paths: Iterable[str | Path]) -> None:
    """Give the policies of these files, and those of installed packages, their names.

    Raises
    ------
    InputError
        If a file is no good, or a name is taken by another policy.
    """
    for policy in [*installed_policies(), *(one for path in paths for one in load_policy_file(path))]:
        if policy.name in POLICIES and POLICIES[policy.name].state is not policy.state:
            raise InputError(f"there is a policy '{policy.name}' already; give yours another name")
        if policy.name not in POLICIES:
            POLICIES.add(policy.name, policy)


def _defined_in(module: ModuleType) -> list[Policy]:
    return [value for value in vars(module).values() if isinstance(value, Policy)]
