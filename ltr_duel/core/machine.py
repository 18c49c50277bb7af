"""Versions: of this package, and of libraries."""

from __future__ import annotations

import importlib.metadata
import pkgutil
from collections.abc import Iterable


def own_version() -> str:
    """Return the version of this package."""
    version: str = pkgutil.resolve_name("ltr_duel:__version__")  # by name: what type checkers read imports all floors
    return version


def versions_of(libraries: Iterable[str]) -> dict[str, str | None]:
    """Return the version of each library, None of one that is not installed.

    That of ``ltr-duel`` is the package's own: what was installed once may say less than a checkout holds.
    """
    return {name: own_version() if name == "ltr-duel" else _installed(name) for name in libraries}


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
