"""The click log of a live experiment."""

from __future__ import annotations

from pathlib import Path


def export_log(store: str | Path, out: str | Path) -> tuple[int, int]:
    """Write the pages that are closed as a click log; return rows written and plain pages left out."""
    raise NotImplementedError
