"""The folder in which compiled kernels are stored, so that later processes need not compile them.

The name of the folder is a hash of the source files on which a kernel depends. After an edit, kernels are therefore
compiled again. The folder is used only if no other user can write to it, because a stored kernel can run any code when
it is loaded.
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
# The floors that have kernels, from the lowest to the highest.
FLOORS = ("core", "bandits", "clicks", "data", "rankers", "interleaving", "preferences", "simulation", "logs", "advice")
_POLICIES = "bandits/policies"  # no part of its floor's digest, because edits only affect the loops of policies


class KernelCacheWarning(UserWarning):
    """Compiled code cannot be stored, so every process compiles it again."""


@functools.cache
def kernel_folder(modules: frozenset[str], compiler: str) -> str:
    """Return the folder for kernels of these modules. If nothing can be stored safely, warn and return ""."""
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
    """Delete all compiled code, because the error of an unreadable file does not name the file."""
    for file in (cache_home() / "kernels").rglob("*.nb[ci]"):
        file.unlink(missing_ok=True)


@functools.cache
def warn_of_cache(fault: str) -> None:
    """Warn that compiled code is not kept, once for each fault."""
    advice = "delete it, or set LTR_DUEL_HOME to a folder of yours"
    warnings.warn(f"compiled code is not kept between runs: {fault}; {advice}", KernelCacheWarning, stacklevel=2)


@functools.cache
def sources_digest() -> str:
    """Return the SHA-256 of all Python files of the package."""
    return _digest(_files(""))


@functools.cache
def kernel_digest(modules: frozenset[str], compiler: str) -> str:
    """Return a digest of the compiler's settings and of all sources that kernels of these modules depend on.

    A floor is a subpackage, such as `core`, that imports only lower floors. The sources are the files of all floors up
    to the highest floor of the modules. If one of the modules is a policy, the files of all policies are included.
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
