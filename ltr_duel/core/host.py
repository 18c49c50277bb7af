"""Facts about this machine: versions of libraries, the processor, the memory, and which processes run.

Some facts come from files of ``/proc`` and of control groups, which only Linux has and which may be missing.
"""

from __future__ import annotations

import functools
import importlib.metadata
import os
import pkgutil
import platform
import socket
import sys
import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from ltr_duel.core.errors import InputError

PROC, GROUPS = Path("/proc"), Path("/sys/fs/cgroup")
_SMALL = 2**26  # bytes; smaller requests are not checked
_SAME = 5.0  # seconds by which the start of a process may change, because the system computes it from its clock


def versions_of(libraries: Iterable[str]) -> dict[str, str | None]:
    """Return the version of each library, or None if it is missing."""
    versions: dict[str, str | None] = dict.fromkeys(libraries)
    for name in versions:
        with suppress(importlib.metadata.PackageNotFoundError):
            own = name == "ltr-duel"  # resolved by name, as `__init__.pyi` imports all packages
            versions[name] = pkgutil.resolve_name("ltr_duel:__version__") if own else importlib.metadata.version(name)
    return versions


def system() -> str:
    """Return the operating system, its release and the kind of machine."""
    return f"{platform.system()} {platform.release()} {platform.machine()}"


def processor() -> str:
    """Return the name of the processor."""
    with suppress(OSError):
        for line in (PROC / "cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def reserve(file: int, size: int) -> None:
    """Reserve disk space for an open file, if the system can. Raise `OSError` if the disk is full."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)


def free_memory() -> int:
    """Return how many bytes this process may still allocate, or a huge number if this is unknown."""
    return min([_memory("available"), *(max(0, limit - used) for limit, used in _groups())])


def total_memory() -> int:
    """Return the bytes of memory that this process may use at most."""
    return min([_memory("total"), *(limit for limit, _ in _groups())])


def require_memory(what: str, size: float) -> None:
    """Raise `InputError` if ``what`` needs more bytes than are free. Call this before the allocation.

    Otherwise, Linux would grant more memory than exists, and kill the process later.
    """
    if size > _SMALL and size > (free := free_memory()):
        raise InputError(f"{what} needs {size / 1e9:,.1f} GB of memory, but only {free / 1e9:,.1f} GB is free")


def process_identity(pid: int) -> dict[str, Any]:
    """Return what identifies a process, so that `still_runs` can recognise it later.

    The keys are ``machine``, ``host``, ``pid`` and ``start`` (in seconds; None if the process has ended). Containers
    that do not see each other's processes count as different machines.
    """
    import psutil  # imported here, because most commands do not need it

    start = None
    with suppress(psutil.Error, ValueError, OverflowError):  # the pid may be any number
        process = psutil.Process(pid)
        start = None if process.status() == psutil.STATUS_ZOMBIE else process.create_time()
    return {"machine": _machine(), "host": socket.gethostname(), "pid": pid, "start": start}


def still_runs(identity: dict[str, Any]) -> bool | None:
    """Return whether a process still runs, or None if it is on another machine.

    identity: the result of `process_identity`.
    """
    now = process_identity(identity["pid"])
    if identity["machine"] != now["machine"]:
        return None
    return None not in (now["start"], identity["start"]) and abs(now["start"] - identity["start"]) < _SAME


@functools.cache
def _machine() -> str:
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{socket.gethostname()} {boot} {(PROC / 'self/ns/pid').stat().st_ino}"
    except OSError:
        return f"{socket.gethostname()} {uuid.getnode()}"


def _memory(name: str) -> int:
    import psutil

    with suppress(OSError):
        return int(getattr(psutil.virtual_memory(), name))
    return sys.maxsize


def _groups() -> Iterator[tuple[int, int]]:
    with suppress(OSError):
        lines = (PROC / "self/cgroup").read_text(encoding="utf-8").splitlines()
        folder = next((GROUPS / line[4:] for line in lines if line.startswith("0::/")), GROUPS)
        for group in (folder, *folder.parents):
            with suppress(OSError, ValueError):  # no such group here, or no limit ("max")
                limit, used = (int((group / f"memory.{name}").read_text()) for name in ("max", "current"))
                stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
                # Cached files do not count as used, because the system frees their memory.
                yield limit, used - int(stat.get("inactive_file", 0))
