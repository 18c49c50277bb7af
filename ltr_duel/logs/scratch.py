"""What the engine in the process may take: memory by the size of the log, and a folder for what it puts on disk.

The folder is removed when the engine is closed. Of a process that was killed it stays, until another one makes its own.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from ltr_duel.core import InputError, host

VARIABLE = "LTR_DUEL_LOGS_MEMORY"
_USUAL, _MOST = 640_000_000, 2_500_000_000  # bytes, of logs up to 10^7 rows and of the longest
_ROWS, _EACH = 10**7, 20  # bytes for each row from there on
_SHARE = 0.5  # of the memory that is free
_LEAST = 256_000_000  # with less some queries fail
_PREFIX, _OWNER = "ltr_duel-logs-", "process.json"
_UNITS = {"MB": 10**6, "GB": 10**9}


def memory_limit(rows: int) -> int:
    """Return the bytes of memory that DuckDB may take for a log of so many rows: more for long ones.

    Raises `InputError` if the variable that sets it is no size.
    """
    if given := os.environ.get(VARIABLE, ""):
        with suppress(ValueError, KeyError):
            size = float(given[:-2]) * _UNITS[given[-2:].upper()]
            if _LEAST <= size < 1e15:
                return int(size)
        raise InputError(f"{VARIABLE} must be a size of at least {_LEAST // 10**6}MB, such as 4GB, not '{given}'")
    wanted = min(_USUAL + _EACH * max(rows - _ROWS, 0), _MOST)
    return max(int(min(wanted, _SHARE * host.free_memory())), _LEAST)


def make_folder() -> str:
    """Make a folder for this process, in the one for temporary files; remove those of processes that have ended."""
    for one in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError, ValueError, TypeError, KeyError):  # it is another user's, or was made just now
            if host.still_runs(json.loads((one / _OWNER).read_bytes())) is False:
                shutil.rmtree(one, ignore_errors=True)
    folder = tempfile.mkdtemp(prefix=_PREFIX)
    Path(folder, _OWNER).write_text(json.dumps(host.process_identity(os.getpid())), encoding="utf-8")
    return folder


def lack_of_memory(limit: int) -> str:
    """Say that the memory did not suffice, and what to do."""
    free = host.free_memory()
    return (
        f"DuckDB needs more memory than the {limit / 1e9:.2g} GB that it may take ({free / 1e9:.2g} GB are free):"
        f" set {VARIABLE}, such as {VARIABLE}={2 * limit / 1e9:.2g}GB"
    )


def lack_of_disk(folder: str) -> str:
    """Say that the disk of the folder is full, and what to do."""
    place = Path(folder).parent
    return (
        f"DuckDB puts aside on disk what exceeds its memory, and {place} has no more room for it"
        f" ({shutil.disk_usage(place).free / 1e9:.2g} GB are free): set TMPDIR to a folder on another disk"
    )
