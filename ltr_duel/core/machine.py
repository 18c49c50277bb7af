"""What this runs on: versions of libraries, the system, the processor."""

from __future__ import annotations

import importlib.metadata
import pkgutil
import platform
from collections.abc import Iterable
from pathlib import Path


def own_version() -> str:
    """Return the version of this package."""
    version: str = pkgutil.resolve_name("ltr_duel:__version__")  # by name: what type checkers read imports all floors
    return version


def versions_of(libraries: Iterable[str]) -> dict[str, str | None]:
    """Return the version of each library, None of one that is not installed.

    That of ``ltr-duel`` is the package's own: what was installed once may say less than a checkout holds.
    """
    return {name: own_version() if name == "ltr-duel" else _installed(name) for name in libraries}


def system() -> str:
    """Return the operating system, its release and the kind of machine."""
    return f"{platform.system()} {platform.release()} {platform.machine()}"


def processor() -> str:
    """Return the name of the processor, as exactly as the system tells it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
