"""Where a result comes from: program, libraries, sources, machine. Beside each run, never inside it."""

from __future__ import annotations

import functools
import importlib.metadata
import platform
import socket
import subprocess
from pathlib import Path
from typing import Any

from ltr_duel.core import ROOT, sources_digest

_LIBRARIES = ("ltr-duel", "numpy", "numba", "llvmlite", "scipy", "pandas", "pyarrow", "joblib")


@functools.cache
def environment() -> dict[str, Any]:
    """Describe the process that runs this: the same for all of its runs."""
    return {
        "versions": {name: importlib.metadata.version(name) for name in _LIBRARIES},
        "python": platform.python_version(),
        "sources_sha256": sources_digest(),
        "git": git_state(),
        "processor": processor(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "host": socket.gethostname(),
    }


def git_state() -> dict[str, Any] | None:
    """Return the commit of the sources and whether they were edited since; None where they are no git checkout."""
    try:
        commit = _git("rev-parse", "HEAD")
        return {"commit": commit, "edited": bool(_git("status", "--porcelain", "--", str(ROOT)))}
    except (OSError, subprocess.SubprocessError):
        return None


def processor() -> str:
    """Name the processor."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _git(*words: str) -> str:
    command = ["git", "-C", str(ROOT), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    return done.stdout.strip()
