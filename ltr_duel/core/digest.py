"""Digests and version numbers that are stored with results. Never change how a digest is computed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def sha256_file(path: str | Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    with Path(path).open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


canonical = json.JSONEncoder(sort_keys=True).encode  # returns the JSON text from which `digest_of` computes the digest


def digest_of(value: object) -> str:
    """Return the SHA-256 of a value's JSON text, in hexadecimal. The order of keys makes no difference.

    Raises `TypeError` for a value that JSON cannot represent.
    """
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def numbered(provenance: Mapping[str, Any], **versions: int) -> dict[str, Any]:
    """Return a provenance, the dict that says how a result was made, with version numbers added.

    A version number is raised when a seed gives other results than before. Results of different versions cannot be
    combined. The number 1 is left out.
    """
    raised = {**provenance.get("numbers", {}), **{name: version for name, version in versions.items() if version > 1}}
    return {**provenance, **({"numbers": raised} if raised else {})}
