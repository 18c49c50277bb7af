"""How much memory is free, asked before a lot of it is taken.

Linux promises more memory than there is, and ends the process that uses it. So what grows with the square of the
number of rankers is refused beforehand, in a sentence.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ltr_duel.core.errors import InputError

SMALL = 2**26  # bytes that nobody asks for
PROCESS, GROUPS, SYSTEM = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"), Path("/proc/meminfo")
_NAMES_OF_OLD = "memory.limit_in_bytes", "memory.usage_in_bytes"


def require_memory(what: str, size: float) -> None:
    """Refuse what takes more memory than is free.

    Parameters
    ----------
    what : str
        The subject of the sentence: who needs it.
    size : float
        Bytes.

    Raises
    ------
    InputError
        What needs how much, and how much there is.
    """
    if size <= SMALL:
        return
    free = free_memory()
    if free is not None and size > free:
        raise InputError(f"{what} needs {size / 1e9:,.1f} GB of memory, and {free / 1e9:,.1f} GB are free")


def free_memory() -> int | None:
    """Return how many bytes this process may still take: of the machine, and of its control group; None if unknown."""
    free = [_left_in(*group) for group in _own_groups()]
    try:
        lines = SYSTEM.read_text(encoding="ascii").splitlines()
        free += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    except OSError:
        if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
            free.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return min((one for one in free if one is not None), default=None)


def _own_groups() -> Iterator[tuple[Path, str, str]]:
    """Yield the folders of the control groups of this process and those around them, with names of their numbers."""
    try:
        lines = PROCESS.read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for number, kinds, path in (line.split(":", 2) for line in lines):
        if number == "0" or "memory" in kinds.split(","):  # of version 2, or 1
            top = GROUPS if number == "0" else GROUPS / "memory"
            names = ("memory.max", "memory.current") if number == "0" else _NAMES_OF_OLD
            folder = top / path.lstrip("/")
            yield from ((one, *names) for one in (folder, *folder.parents) if one == top or top in one.parents)


def _left_in(group: Path, limit: str, used: str) -> int | None:
    """Return the bytes that a control group may still take; None without a limit. Cached files give way."""
    try:
        most, now = (int((group / name).read_text(encoding="ascii")) for name in (limit, used))
        kept = dict(line.split() for line in (group / "memory.stat").read_text(encoding="ascii").splitlines())
    except (OSError, ValueError):  # there is no such group here, or it has no limit: "max"
        return None
    return max(0, most - now + int(kept.get("total_inactive_file", kept.get("inactive_file", 0))))
