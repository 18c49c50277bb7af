"""The file of results: one entry for each row, with the machine, the versions, and the date."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "benchmarks" / "results.json"

Found = dict[str, Any]


def read(path: Path = FILE) -> dict[str, Found]:
    """Return the results by subject and row: ``bandits:rucb-64-1e6``."""
    if not path.exists():
        return {}
    return {f"{row['subject']}:{row['name']}": row for row in json.loads(path.read_text(encoding="utf-8"))}


def write(rows: dict[str, Found], path: Path = FILE) -> None:
    """Write all rows, one row per line."""
    lines = ",\n".join(json.dumps(row) for row in rows.values())
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def circumstances() -> Found:
    """Return the machine, the date, and the versions of this process."""
    return {
        "machine": processor(),
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "numba": version("numba"),
        "version": version("ltr_duel"),
        "git": revision(),
        "date": time.strftime("%Y-%m-%d"),
    }


def processor() -> str:
    """Name the processor and count its cores."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{models[0] if models else platform.machine()}, {os.cpu_count()} cores"


def revision() -> str:
    """Return the commit, with a mark if files differ from the commit."""
    words = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    found = subprocess.run(words, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"
