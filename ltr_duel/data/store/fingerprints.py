"""Which file had which digest when it was last read: opening a converted corpus need not read its text again.

A file counts as unchanged if its size, its inode and its times of modification and of change are the same.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from ltr_duel.core import cache_home, replacing

_MOST = 1000  # entries kept, the newest


def known_digest(files: Sequence[Path]) -> str | None:
    """Return the digest of these files, in this order, or None if they are unknown or have changed."""
    try:
        return _load().get(_signature(files))
    except OSError:
        return None


def remember(files: Sequence[Path], digest: str) -> None:
    """Write down the digest of files that were just read."""
    place = _place()
    place.parent.mkdir(parents=True, exist_ok=True)
    known = dict([*_load().items(), (_signature(files), digest)][-_MOST:])
    with replacing(place) as temporary:
        temporary.write_text(json.dumps(known, indent=1))


def _place() -> Path:
    return cache_home() / "known_files.json"


def _load() -> dict[str, str]:
    try:
        known = json.loads(_place().read_text())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _signature(files: Sequence[Path]) -> str:
    facts = []
    for file in files:
        s = file.stat()
        facts.append(f"{file.resolve()}|{s.st_size}|{s.st_ino}|{s.st_mtime_ns}|{s.st_ctime_ns}")
    return "\n".join(facts)
