"""Whether what lies in a store is what it should be, byte by byte."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ltr_duel.core import InputError
from ltr_duel.experiment.found import Found
from ltr_duel.experiment.store import Store
from ltr_duel.experiment.stored_run import Reader
from ltr_duel.preferences import load_preferences


def wrong_with_runs(store: Store, found: Found, digests: Iterable[str]) -> dict[str, str]:
    """Compare runs with their checksums and their names, and read them: by digest, what is wrong, or nothing."""
    reader, wrong = Reader(store, found), {}
    for digest, run in reader.runs(digests):
        if isinstance(run, str):
            wrong[digest] = run
            continue
        try:
            run.result("")
            wrong[digest] = ""
            reader.part(run.about.origin)
        except InputError as error:
            wrong[digest] = f"{reader.where(digest)}: damaged: {error}"
    return wrong


def wrong_with_problem(path: Path, digest: str) -> str:
    """Compare the matrix of a problem with its digest, as plans and manifests say it: say what is wrong, or nothing."""
    try:
        found = load_preferences(path).digest
    except InputError as error:
        return str(error)
    return "" if found == digest else f"{path}: damaged: not the matrix that its runs were measured by"
