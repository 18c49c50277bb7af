"""The folder of compiled kernels, named after a digest of the sources of the kernels' floor and of the floors below.

numba's disk cache notices an edit of a kernel's file, but not of the files that this file imports. It stores pickles,
and a pickle can run any code when it is loaded, so the folder is used only if no other user can write to it.
"""

from __future__ import annotations

import functools
import glob
import hashlib
import os
import stat
import warnings
from collections.abc import Iterable
from pathlib import Path

from ltr_duel.core.files import cache_home as cache_home

ROOT = Path(__file__).resolve().parent.parent
# The floors with kernels; each imports only floors before it.
FLOORS = ("core", "bandits", "clicks", "data", "rankers", "interleaving", "preferences", "simulation", "logs", "advice")
_POLICIES = "bandits/policies"  # apart from its floor, because an edited policy changes no kernel but policies' loops


class KernelCacheWarning(UserWarning):
    """Compiled code is not kept between processes."""


@functools.cache
def kernel_folder(modules: frozenset[str], compiler: str) -> str:
    """Return the folder for kernels of these modules; if compiled code cannot be stored safely, warn and return ""."""
    top = cache_home() / "kernels"
    folder = top / kernel_digest(modules, compiler)
    try:
        top.parent.mkdir(parents=True, exist_ok=True)
        for new in (top, folder):
            new.mkdir(mode=0o700, exist_ok=True)
        status = top.lstat()
    except OSError as error:
        warn_of_cache(f"{top}: {error.strerror}")
        return ""
    owner = status.st_uid == getattr(os, "geteuid", lambda: status.st_uid)()  # Windows has no user ids
    if owner and stat.S_ISDIR(status.st_mode) and not status.st_mode & 0o022 and os.access(top, os.W_OK):
        return str(folder)
    warn_of_cache(f"{top} is not a folder that only you can write to")
    return ""


def remove_kernels() -> None:
    """Delete all compiled code, because a file is unreadable: the error names no file, and others may be too."""
    for file in (cache_home() / "kernels").rglob("*.nb[ci]"):
        file.unlink(missing_ok=True)


@functools.cache
def warn_of_cache(fault: str) -> None:
    """Warn, once for each fault, that compiled code is not kept."""
    advice = "delete it, or set LTR_DUEL_HOME to a folder of yours"
    warnings.warn(f"compiled code is not kept between runs: {fault}; {advice}", KernelCacheWarning, stacklevel=2)


@functools.cache
def sources_digest() -> str:
    """Return the SHA-256 of all Python files of the package."""
    return _digest(_files(""))


@functools.cache
def kernel_digest(modules: frozenset[str], compiler: str) -> str:
    """Return a digest of the compiler's settings and of the sources that kernels of these modules depend on.

    These are the files of all floors up to the highest floor of the modules, and those of all policies if one of the
    modules is a policy. The names of the modules are included, because numba keeps one index of the types of a
    function for a folder, and reading the types imports the modules of all policies in it.
    """
    highest = max(FLOORS.index(module.split(".")[1]) for module in modules)
    policies = [_POLICIES] * any(module.startswith("ltr_duel.bandits.policies.") for module in modules)
    parts = [compiler, *sorted(modules), *map(_floor_digest, [*FLOORS[: highest + 1], *policies])]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


@functools.cache
def _floor_digest(floor: str) -> str:
    return _digest(file for file in _files(floor) if floor == _POLICIES or not file.startswith(_POLICIES))


def _files(floor: str) -> list[str]:
    files = glob.glob(f"{floor}/**/*.py".lstrip("/"), root_dir=ROOT, recursive=True)  # noqa: PTH207 -- faster than Path
    return [file.replace(os.sep, "/") for file in files]


def _digest(files: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(f"{file}\0".encode() + hashlib.sha256(_read(file)).digest())
    return digest.hexdigest()


def _read(file: str) -> bytes:
    return Path(ROOT, file).read_bytes()
