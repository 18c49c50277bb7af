"""Functions that differ between operating systems: the processor, memory, processes.

psutil covers Linux, macOS and Windows. Only this module reads files that exist only on Linux: files in ``/proc`` and of
control groups, any of which may be missing. The rest of the package uses functions that Python has on every system.
"""

from __future__ import annotations

import functools
import os
import platform
import socket
import sys
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from ltr_duel.core.errors import InputError

PROC, GROUPS = Path("/proc"), Path("/sys/fs/cgroup")
_SMALL = 2**26  # bytes; smaller requests are not checked


def system() -> str:
    """Return the operating system, its release and the kind of machine."""
    return f"{platform.system()} {platform.release()} {platform.machine()}"


def processor() -> str:
    """Return the name of the processor, as exactly as the system reports it."""
    with suppress(OSError):
        for line in (PROC / "cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def reserve(file: int, size: int) -> None:
    """Reserve ``size`` bytes of disk space for an open file, if the system supports it.

    Raises `OSError` if the disk has too little space.
    """
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)


def free_memory() -> int:
    """Return the number of bytes that this process may still allocate; a huge number if this is unknown."""
    return min([_reported("available"), *(max(0, limit - used) for limit, used in _groups())])


def total_memory() -> int:
    """Return the bytes of memory of the machine, or the lowest limit of this process's control groups if lower."""
    return min([_reported("total"), *(limit for limit, _ in _groups())])


def process_identity(pid: int) -> dict[str, Any]:
    """Return a description that identifies a process, for `still_runs`.

    The keys are ``machine`` (a string that differs between containers that do not see each other's processes),
    ``host``, ``pid`` and ``start`` (a string; None if the process has ended or the system does not report its start).
    """
    return {"machine": _machine(), "host": socket.gethostname(), "pid": pid, "start": _start(pid)}


def still_runs(identity: dict[str, Any]) -> bool | None:
    """Return whether the process that `process_identity` described still runs; None if it ran on another machine."""
    now = process_identity(identity["pid"])
    if identity["machine"] != now["machine"]:
        return None
    return now["start"] is not None and identity["start"] == now["start"]


def _start(pid: int) -> str | None:
    try:  # the start, in ticks since boot, because psutil's time on Linux changes with the clock
        fields = (PROC / str(pid) / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return None if fields[0] == "Z" else fields[19]
    except OSError:
        import psutil  # imported here, because most commands do not need it

        with suppress(psutil.Error, ValueError):  # the pid may be any number
            process = psutil.Process(pid)
            return None if process.status() == psutil.STATUS_ZOMBIE else f"{process.create_time():.2f}"
    return None


@functools.cache
def _machine() -> str:
    host = socket.gethostname()
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{host} {boot} {(PROC / 'self/ns/pid').stat().st_ino}"
    except OSError:
        return f"{host} {uuid.getnode()}"


def _reported(name: str) -> int:
    import psutil

    with suppress(OSError):
        return int(getattr(psutil.virtual_memory(), name))
    return sys.maxsize


def _groups() -> Iterator[tuple[int, int]]:
    """Yield limit and used bytes of each control group (of version 2) that contains this process and has a limit.

    Memory of cached files does not count as used, because the system frees it.
    """
    with suppress(OSError):
        lines = (PROC / "self/cgroup").read_text(encoding="utf-8").splitlines()
        folder = next((GROUPS / line[4:] for line in lines if line.startswith("0::/")), GROUPS)
        for group in (folder, *folder.parents):
            with suppress(OSError, ValueError):  # no such group here, or no limit ("max")
                limit, used = (int((group / f"memory.{name}").read_text()) for name in ("max", "current"))
                stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
                yield limit, used - int(stat.get("inactive_file", 0))


def require_memory(what: str, size: float) -> None:
    """Raise `InputError` if ``what`` needs more memory than is free; call this before the allocation.

    Without the check, Linux would grant more memory than exists, and kill the process when it uses this memory.

    size: in bytes.
    """
    if size <= _SMALL:
        return
    if size > (free := free_memory()):
        raise InputError(f"{what} needs {size / 1e9:,.1f} GB of memory, but only {free / 1e9:,.1f} GB is free")


def is_loopback(host: str) -> bool:
    """Return whether a host is ``localhost`` or a loopback address; False for other names, whose address may change."""
    import ipaddress  # imported here, because most commands do not need it

    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
