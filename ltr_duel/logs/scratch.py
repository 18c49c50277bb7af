"""Resources of DuckDB in this process: a memory limit that depends on the log's size, and a temporary folder.

The folder is removed when the engine is closed. The folder of a killed process is removed by the next process.
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
_USUAL, _MOST = 640_000_000, 2_500_000_000  # bytes, for logs of up to 10^7 rows and for the longest logs
_ROWS, _EACH = 10**7, 20  # rows of usual logs; bytes that each further row adds to the limit
_SHARE = 0.5  # maximum share of the free memory
_LEAST = 256_000_000  # minimum limit in bytes; some queries fail with less
_PREFIX, _OWNER = "ltr_duel-logs-", "process.json"
_UNITS = {"MB": 10**6, "GB": 10**9}


def memory_limit(rows: int) -> int:
    """Return the memory limit of DuckDB, in bytes, for a log of `rows` rows.

    Raises `InputError` if the environment variable for the limit is not a valid size.
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
    """Create a temporary folder for this process; remove the folders of processes that have ended."""
    for one in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError, ValueError, TypeError, KeyError):  # another user's folder, or a folder without owner yet
            if host.still_runs(json.loads((one / _OWNER).read_bytes())) is False:
                shutil.rmtree(one, ignore_errors=True)
    folder = tempfile.mkdtemp(prefix=_PREFIX)
    Path(folder, _OWNER).write_text(json.dumps(host.process_identity(os.getpid())), encoding="utf-8")
    return folder


def lack_of_memory(limit: int) -> str:
    """Return an error message on lack of memory, with a remedy."""
    free = host.free_memory()
    return (
        f"DuckDB needs more memory than its limit, {limit / 1e9:.2g} GB ({free / 1e9:.2g} GB is free):"
        f" set {VARIABLE}, such as {VARIABLE}={2 * limit / 1e9:.2g}GB"
    )


def lack_of_disk(folder: str) -> str:
    """Return an error message on a full disk, with a remedy."""
    place = Path(folder).parent
    return (
        f"DuckDB writes data that exceed its memory limit to disk, and {place} is full"
        f" ({shutil.disk_usage(place).free / 1e9:.2g} GB is free): set TMPDIR to a folder on another disk"
    )
