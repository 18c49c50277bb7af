"""SHA-256 digests of files and values. Digests are stored, so the results of these functions must never change."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path


def sha256_file(path: str | Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal.

    path: the file; it is read in pieces.

    Raises `OSError` if the file cannot be read.
    """
    with Path(path).open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


canonical = json.JSONEncoder(sort_keys=True).encode  # a value's text, by which it is digested


def digest_of(value: object) -> str:
    """Return the SHA-256 of a value's canonical JSON, in hexadecimal.

    The order of a mapping's keys makes no difference.

    value: numbers, words, lists and mappings with words as keys.

    Raises `TypeError` for any other object: its text might contain an address in memory.

    Examples
    --------
    >>> digest_of({"seed": 1, "policy": "rucb"}) == digest_of({"policy": "rucb", "seed": 1})
    True
    >>> digest_of([1, 2])[:8]
    '3a316d6d'
    """
    return hashlib.sha256(canonical(value).encode()).hexdigest()
