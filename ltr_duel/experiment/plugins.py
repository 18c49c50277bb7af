"""Policies from files that the user names on the command line: a spec cannot name code. A key knows its digest."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ltr_duel.bandits import POLICIES, load_policy_file
from ltr_duel.core import InputError


class Plugin(NamedTuple):
    """A file of policies."""

    path: str
    sha256: str
    policies: tuple[str, ...]


_loaded: dict[str, Plugin] = {}  # by digest: in one process a file is run once


def load_plugin(path: str | Path) -> Plugin:
    """Run a file and make its policies known by their names.

    Raises
    ------
    InputError
        If the file cannot be used, or one of its policies has a name that is taken.
    """
    path = Path(path).resolve()
    if not path.is_file():
        raise InputError(f"{path}: there is no such file of policies")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest not in _loaded:
        taken = set(POLICIES.names())
        policies = load_policy_file(path)
        for policy in policies:
            if policy.name in taken:
                raise InputError(f"{path}: there is a policy called '{policy.name}' already")
            if policy.name not in POLICIES:
                POLICIES.add(policy.name, policy)
        _loaded[digest] = Plugin(str(path), digest, tuple(policy.name for policy in policies))
    return _loaded[digest]


def reload_plugin(plugin: Plugin) -> None:
    """Make a plugin known in a worker; refuse a file that is not the one the plan was made with."""
    if plugin.sha256 not in _loaded and load_plugin(plugin.path).sha256 != plugin.sha256:
        raise InputError(f"{plugin.path}: changed since the experiment was started")


def source_of(policy: str, plugins: Sequence[Plugin]) -> str:
    """Return the digest of the file that defines a policy, or nothing for those of this package."""
    return next((plugin.sha256 for plugin in plugins if policy in plugin.policies), "")
