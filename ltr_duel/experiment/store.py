"""The store: a folder in which every run is one file, there completely or not at all.

DIR/plans/<digest>.parquet       the runs of each experiment started here, with its spec
DIR/problems/<digest>.parquet    the matrix that regret is measured by
DIR/runs/<digest>.parquet        one run, named by the digest of its key; .json beside it is its manifest
DIR/failed/<digest>.json         a run that failed, with its traceback
DIR/claims/<digest>              a run that a process has claimed
DIR/drivers/<id>                 that process; touched while it is alive
DIR/tmp/                         files that are being written

Nothing here imports the simulation: looking at a store of 10,000 runs takes a moment. A process that runs an experiment
names the files of runs by text (`Store.place`): some versions of Python keep the parts of every `Path` for ever.
"""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ltr_duel.core import InputError, as_path, replacing
from ltr_duel.experiment.record import NUMBER, read_record

_MAGIC = b"PAR1"
_HEX = frozenset("0123456789abcdef")
_AGE = 1e10  # seconds: more than any run takes
_FAILURE = {"policy": str, "problem": str, "horizon": int, "repetition": int, "error": str, "traceback": str}


class Found(NamedTuple):
    """What lies under ``runs``."""

    done: set[str]  # digests
    damaged: dict[str, str]  # digest -> what is wrong
    foreign: list[str]  # names of files that no run can have


class Store:
    """A folder of runs. One thread writes to it at a time.

    Parameters
    ----------
    folder : str or Path
        `prepare` makes it, if it does not exist.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = as_path("a store of results", folder)
        self.plans = self.folder / "plans"
        self.problems = self.folder / "problems"
        self.runs = self.folder / "runs"
        self.failed = self.folder / "failed"
        self.claims = self.folder / "claims"
        self.drivers = self.folder / "drivers"
        self.tmp = self.folder / "tmp"
        self._temporary = self.tmp / f"{os.getpid()}-{uuid.uuid4().hex}"

    def drop_if_empty(self) -> None:
        """Remove the folders of a store in which there is nothing, not even a driver."""
        if not self.folder.is_dir() or any(path.is_file() for path in self.folder.rglob("*")):
            return
        with suppress(OSError):  # somebody may begin to use them
            for folder in sorted(self.folder.rglob("*"), reverse=True):
                folder.rmdir()
            self.folder.rmdir()

    def prepare(self) -> None:
        """Make the folders.

        Raises
        ------
        InputError
            If they cannot be made, or the folder holds something else.
        """
        if self.folder.is_dir() and not self.exists() and any(self.folder.iterdir()):
            raise InputError(f"{self.folder}: holds files that are not of an experiment; give a new or empty folder")
        try:
            for folder in (self.plans, self.problems, self.runs, self.failed, self.claims, self.drivers, self.tmp):
                folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{self.folder}: cannot be written: {error.strerror}") from None

    def exists(self) -> bool:
        """Whether this is a store."""
        return self.runs.is_dir() and self.plans.is_dir()

    def require(self) -> None:
        """Refuse a folder that is no store."""
        if not self.exists():
            raise InputError(f"{self.folder}: no results of 'ltr-duel run' are here")

    def run_path(self, digest: str) -> Path:
        """Where a run lies."""
        return self.runs / f"{digest}.parquet"

    def manifest_path(self, digest: str) -> Path:
        """Where its manifest lies."""
        return self.runs / f"{digest}.json"

    def problem_path(self, digest: str) -> Path:
        """Where the matrix of a problem lies."""
        return self.problems / f"{digest}.parquet"

    def place(self, kind: str, name: str) -> str:
        """Where a file of the folder ``kind`` lies, as text."""
        return f"{self.folder}/{kind}/{name}"

    def write(self, path: str | Path, data: bytes) -> None:
        """Write a file: whole, or not at all. Raises what `writing` does."""
        with self.writing(path) as file:
            file.write(data)

    @contextmanager
    def writing(self, path: str | Path) -> Iterator[BinaryIO]:
        """Open a file that appears when all is written, and not before.

        Raises
        ------
        StoreFullError
            If there is no space left.
        InputError
            If it cannot be written for another reason.
        """
        try:
            with replacing(path, self._temporary) as temporary, temporary.open("wb") as file:
                yield file
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise StoreFullError(self.folder) from None
            raise InputError(f"{path}: cannot be written: {error.strerror}") from None

    def remove(self, path: str) -> None:
        """Remove a file, if it exists."""
        with suppress(FileNotFoundError):
            os.unlink(path)

    def changed_at(self, path: str) -> int:
        """Return when a file was written, in nanoseconds; 0 if it does not exist."""
        try:
            return os.stat(path).st_mtime_ns
        except FileNotFoundError:
            return 0

    def inspect(self, digest: str) -> str | None:
        """Inspect one run as `scan` does: None if it does not exist, nothing if it is sound, or what is wrong."""
        try:
            return _wrong_with(self.place("runs", f"{digest}.parquet"))
        except FileNotFoundError:
            return None
        except OSError as error:
            return f"cannot be read: {error.strerror}"

    def scan(self) -> Found:
        """Look at all files under ``runs``: their names, and the first and last bytes of each run."""
        found = Found(set(), {}, [])
        with os.scandir(self.runs) as entries:
            for entry in entries:
                digest, _, suffix = entry.name.partition(".")
                if suffix not in ("parquet", "json") or not _is_digest(digest):
                    found.foreign.append(entry.name)
                elif suffix == "parquet":
                    wrong = self.inspect(digest)
                    if wrong:
                        found.damaged[digest] = wrong
                    elif wrong is not None:
                        found.done.add(digest)
        found.foreign.sort()
        return found

    def files(self, folder: Path) -> list[Path]:
        """Return the files of a folder that are named by a digest, sorted; other files are not of this store."""
        paths = folder.iterdir() if folder.is_dir() else ()  # empty folders may be lost in a copy
        return sorted(path for path in paths if _is_digest(path.stem) and path.suffix in (".parquet", ".json"))

    def failures(self) -> dict[str, dict[str, Any]]:
        """Return what is known of each failed run, by digest."""
        return {
            path.stem: read_record(path, "the record of a failed run", _FAILURE) for path in self.files(self.failed)
        }

    def seconds(self, digests: list[str]) -> list[float]:
        """Return how long some runs took; those whose manifests are missing or damaged are left out."""
        known = []
        for digest in digests:
            with suppress(InputError):
                known.append(
                    float(read_record(self.manifest_path(digest), "a manifest", {"seconds": NUMBER})["seconds"])
                )
        return [one for one in known if 0 <= one < _AGE]


class StoreFullError(InputError):
    """There is no space left where the store lies."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder}: no space left on the device")


def _is_digest(name: str) -> bool:
    return len(name) == 64 and _HEX.issuperset(name)


def _wrong_with(path: str) -> str:
    """Say what is wrong with a file that should be Parquet, at a glance; nothing if nothing is."""
    with open(path, "rb") as file:
        head = file.read(4)
        size = file.seek(0, os.SEEK_END)
        if size < 12:
            return f"truncated: {size} bytes"
        file.seek(-4, os.SEEK_END)
        tail = file.read(4)
    if head != _MAGIC:
        return "not a Parquet file"
    return "" if tail == _MAGIC else "truncated: its end is missing"
