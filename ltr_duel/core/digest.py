"""SHA-256 digests of files and values. Digests are stored, so the results of these functions must never change."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path


def sha256_file(path: str | Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    with Path(path).open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


canonical = json.JSONEncoder(sort_keys=True).encode  # returns the JSON text from which `digest_of` computes the digest


def digest_of(value: object) -> str:
    """Return the SHA-256 of a value's canonical JSON, in hexadecimal; the order of keys makes no difference.

    Raises `TypeError` for a value that JSON cannot represent, because Python's text for it might contain a memory
    address.
    """
    return hashlib.sha256(canonical(value).encode()).hexdigest()
