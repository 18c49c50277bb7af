"""Whether what lies in a store is what it should be, byte by byte."""

from __future__ import annotations

from pathlib import Path

from ltr_duel.core import InputError, sha256_file
from ltr_duel.experiment.record import read_record
from ltr_duel.experiment.run_file import read_key
from ltr_duel.experiment.store import Store
from ltr_duel.preferences import load_preferences


def wrong_with_run(store: Store, digest: str) -> str:
    """Compare a run's file with its name and its manifest, byte by byte: say what is wrong, or nothing."""
    path = store.run_path(digest)
    try:
        key = read_key(path).digest
        if key != digest:
            return f"{path}: the file is of another run, {key}"
        return unlike_manifest(store, digest)
    except OSError as error:
        return f"{path}: cannot be read: {error.strerror}"
    except InputError as error:
        return str(error)


def unlike_manifest(store: Store, digest: str) -> str:
    """Compare the bytes of a run with its manifest: say what is wrong, or nothing."""
    path = store.manifest_path(digest)
    if not path.exists():
        return f"{store.run_path(digest)}: its manifest is missing"
    try:
        expected = read_record(path, "a manifest", {"sha256": str})["sha256"]
    except InputError as error:
        return str(error)
    if sha256_file(store.run_path(digest)) != expected:
        return f"{store.run_path(digest)}: damaged: the file is not the one its manifest describes"
    return ""


def wrong_with_problem(path: Path, digest: str) -> str:
    """Compare the matrix of a problem with its digest, as plans and manifests say it: say what is wrong, or nothing."""
    try:
        found = load_preferences(path).digest
    except InputError as error:
        return str(error)
    return "" if found == digest else f"{path}: damaged: not the matrix that its runs were measured by"
