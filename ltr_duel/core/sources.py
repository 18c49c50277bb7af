"""The source files that compiled code depends on: those of its floor and of the floors below it.

numba's disk cache notices an edit of a kernel's file, but not of the files that this file imports. File names are
strings, because `Path` objects would double the time that each process spends in this module.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The floors with kernels; each imports only floors before it.
FLOORS = (
    "core",
    "bandits",
    "clicks",
    "data",
    "rankers",
    "interleaving",
    "preferences",
    "simulation",
    "logs",
    "advice",
)
# A loop contains no other policy than its own, so a new policy or an edited one leaves the loops of others valid.
_POLICIES = ROOT / "bandits" / "policies"
_IMPORTED = re.compile(r"^from ltr_duel\.bandits\.policies\.(\w+) import", re.M)


@functools.cache
def sources_digest() -> str:
    """Return the SHA-256 of all Python files of the package."""
    return _digest(_files_below(str(ROOT)))


@functools.cache
def kernel_digest(modules: frozenset[str], compiler: str) -> str:
    """Return the SHA-256 of the compiler's settings and of all source files that kernels of these modules depend on.

    These are the files of all floors up to the highest floor of the modules. Of the policies, they are those among the
    modules and those from which these import.
    """
    highest = max(FLOORS.index(module.split(".")[1]) for module in modules)
    parts = [compiler, *map(_floor_digest, FLOORS[: highest + 1]), _digest(_policies(modules))]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@functools.cache
def _floor_digest(floor: str) -> str:
    return _digest(file for file in _files_below(str(ROOT / floor)) if not file.startswith(f"{_POLICIES}{os.sep}"))


def _policies(modules: Iterable[str]) -> set[str]:
    """Return the files of the policies among the modules, and of the policies from which they import."""
    found: set[str] = set()
    ahead = [module.split(".")[3] for module in modules if module.startswith("ltr_duel.bandits.policies.")]
    while ahead:
        file = str(_POLICIES / f"{ahead.pop()}.py")
        if file not in found:
            found.add(file)
            ahead += _IMPORTED.findall(_read(file).decode("utf-8"))
    return found


def _digest(files: Iterable[str]) -> str:
    """Return one SHA-256 for several files of the package, computed from their paths and texts."""
    digest = hashlib.sha256()
    for file in sorted(files):
        place = file.removeprefix(f"{ROOT}{os.sep}").replace(os.sep, "/")
        digest.update(f"{place}\0".encode() + hashlib.sha256(_read(file)).digest())
    return digest.hexdigest()


def _files_below(top: str) -> list[str]:
    return [f"{folder}{os.sep}{name}" for folder, _, names in os.walk(top) for name in names if name.endswith(".py")]


def _read(file: str) -> bytes:
    with open(file, "rb", buffering=0) as stream:  # noqa: PTH123 -- Path is slower for hundreds of files
        return stream.read()
