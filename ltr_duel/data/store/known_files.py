"""Digests of files, stored when the files are read, so that derived data are found without reading the files again.

``known_files.json`` stores one digest per list of files. The key is a digest of the files' sizes and of samples of the
bytes, so copies and moved folders are recognised. If inodes, modification times and change times are also the same, the
files count as unchanged. Otherwise the digest of all bytes is computed, which takes a tenth of the time of parsing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ltr_duel.core import InputError, cache_home, places
from ltr_duel.core import digest as core_digest
from ltr_duel.core import files as core_files

_KNOWN_FILES = "known_files.json"
_MOST_KNOWN = 1000  # number of entries; the newest are kept
_SAMPLES, _SAMPLE_BYTES = 16, 2**16  # samples per file, bytes per sample


class Identity(NamedTuple):
    """Facts about files that can be determined without reading them completely."""

    content: str  # digest of sizes and samples
    status: str  # digest of inodes and times


def identity_of(files: Sequence[Path]) -> Identity:
    """Return the identity of files, from their status and samples of their bytes.

    Raises `OSError` if a file cannot be read.
    """
    content, status = hashlib.sha256(), []
    for file in files:
        facts = file.stat()
        status.append((facts.st_ino, facts.st_mtime_ns, facts.st_ctime_ns))
        content.update(f"{facts.st_size}\n".encode())
        with file.open("rb") as source:
            for number in range(_SAMPLES):
                source.seek(max(0, facts.st_size - _SAMPLE_BYTES) * number // (_SAMPLES - 1))
                content.update(source.read(_SAMPLE_BYTES))
    return Identity(content.hexdigest(), core_digest.digest_of(status))


def digest_of_files(files: Sequence[Path]) -> str:
    """Return the digest of the bytes of files; of several files, the digest of their digests."""
    digests = [core_digest.sha256_file(file) for file in files]
    return digests[0] if len(digests) == 1 else hashlib.sha256("\n".join(digests).encode()).hexdigest()


def known_digest(files: Sequence[Path]) -> str | None:
    """Return the digest of these files, in this order, or None if they are unknown or have changed."""
    try:
        identity = identity_of(files)
        digest, status = _known_files()[identity.content]
        if status != identity.status:
            if digest_of_files(files) != digest:
                return None
            remember_digest(identity, digest)
    except (OSError, KeyError, ValueError, TypeError):
        return None
    return str(digest)


def remember_digest(identity: Identity, digest: str) -> None:
    """Store the digest of files that were just read. A failure is ignored, because the next use can read them again."""
    known = {**_known_files()}
    known.pop(identity.content, None)  # so that it becomes the newest entry
    known[identity.content] = [digest, identity.status]
    with suppress(InputError), core_files.replacing(cache_home() / _KNOWN_FILES) as temporary:
        temporary.write_text(json.dumps(dict([*known.items()][-_MOST_KNOWN:]), indent=1))


def forget_digests() -> None:
    """Delete all stored digests."""
    path = cache_home() / _KNOWN_FILES
    with places.said_of(path):
        path.unlink(missing_ok=True)


def _known_files() -> dict[str, list[str]]:
    try:
        known = json.loads((cache_home() / _KNOWN_FILES).read_text())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}
