"""Versions of this package and of libraries, and the choice of the compiler."""

from __future__ import annotations

import importlib.metadata
import os
import pkgutil
from collections.abc import Iterable

from ltr_duel.core.errors import InputError


def own_version() -> str:
    """Return the version of this package."""
    version: str = pkgutil.resolve_name("ltr_duel:__version__")  # not imported, as `__init__.pyi` imports all packages
    return version


def versions_of(libraries: Iterable[str]) -> dict[str, str | None]:
    """Return the version of each library (for ``ltr-duel``, of the running code); None for missing libraries."""
    found: dict[str, str | None] = {}
    for name in libraries:
        try:
            found[name] = own_version() if name == "ltr-duel" else importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found


def plain_compiler_wanted() -> bool:
    """Return whether ``LTR_DUEL_COMPILER`` is ``plain``; if so, the compiler uses no undocumented options of numba.

    Raises `InputError` if the variable has a different value.
    """
    wanted = os.environ.get("LTR_DUEL_COMPILER", "")
    if wanted not in ("", "plain"):
        raise InputError(f"LTR_DUEL_COMPILER must be 'plain' or unset, not '{wanted}'")
    return bool(wanted)
