"""The store: a folder that contains every finished run completely or not at all.

DIR/plans/<digest>.parquet       the plan of an experiment started here: the spec, and the key of each run
DIR/problems/<digest>.parquet    the matrix by which regret is measured
DIR/runs/<id>.arrows             the runs that one process has finished (`runs_file`)
DIR/origins/<sha256>.json        the origin of runs: experiment, program, libraries, machine
DIR/failed/<digest>.json         a run that failed, with its traceback
DIR/claims/<digest>-<id>         an empty file: a process has claimed a run
DIR/drivers/<id>                 a process that executes runs; it renews a lease while it is alive
DIR/tmp/                         files that are being written

This module does not import the simulation, so the status of 100,000 runs is read in a moment. A process that runs an
experiment names files by strings (`Store.place`), because some versions of Python never free the parts of a `Path`.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from ltr_duel.core import InputError, arguments, host
from ltr_duel.core import files as core_files
from ltr_duel.experiment.index import Index
from ltr_duel.experiment.record import read_record
from ltr_duel.experiment.runs_file import HEADER, HEX

_FAILURE = {"policy": str, "problem": str, "horizon": int, "repetition": int, "error": str, "traceback": str}


class Store:
    """A folder of runs. One thread of a process writes to it at a time.

    folder: the folder; `prepare` makes it if it does not exist.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = arguments.as_path("a store of results", folder)
        self.plans = self.folder / "plans"
        self.problems = self.folder / "problems"
        self.runs = self.folder / "runs"
        self.origins = self.folder / "origins"
        self.failed = self.folder / "failed"
        self.claims = self.folder / "claims"
        self.drivers = self.folder / "drivers"
        self.tmp = self.folder / "tmp"
        self._temporary = self.tmp / temporary_name()

    def drop_if_empty(self) -> None:
        """Remove the folders and the lock of a store that contains no other files, not even the file of a driver."""
        lock = self.folder / "drivers.lock"
        if not self.folder.is_dir() or any(path.is_file() and path != lock for path in self.folder.rglob("*")):
            return
        with suppress(OSError):  # another process may begin to use the folders
            for folder in sorted(set(self.folder.rglob("*")) - {lock}, reverse=True):
                folder.rmdir()
            lock.unlink(missing_ok=True)
            self.folder.rmdir()

    def prepare(self) -> None:
        """Make the folders.

        Raises `InputError` if they cannot be made, or the folder contains other files.
        """
        folders = (self.plans, self.problems, self.runs, self.origins, self.failed, self.claims, self.drivers, self.tmp)
        for folder in folders:  # they must not be links, because files without an owner are removed from them
            if folder.is_symlink():
                raise InputError(f"{folder}: a link; the folders of a store must not be links")
        others = set(self.folder.iterdir()) - {*folders} if self.folder.is_dir() else set()
        if others and not self.exists():  # another process may have made some of the folders
            raise InputError(f"{self.folder}: contains files that do not belong to an experiment; give an empty folder")
        try:
            for folder in folders:
                folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{self.folder}: cannot be written: {error.strerror}") from None

    def exists(self) -> bool:
        """Whether this is a store."""
        return self.runs.is_dir() and self.plans.is_dir()

    def require(self) -> None:
        """Raise an error if the folder is not a store."""
        if not self.exists():
            alone = self.folder / "results.parquet"
            hint = f"; {alone}, written by 'ltr-duel simulate', is a table for pandas.read_parquet" * alone.is_file()
            raise InputError(f"{self.folder}: contains no results of 'ltr-duel run'{hint}")

    def problem_path(self, digest: str) -> Path:
        """Return the path of the matrix of a problem."""
        return self.problems / f"{digest}.parquet"

    def place(self, kind: str, name: str) -> str:
        """Return the path of a file in the folder ``kind`` as a string."""
        return f"{self.folder}/{kind}/{name}"

    def write(self, path: str | Path, data: bytes) -> None:
        """Write a file completely or not at all. Raises the errors of `writing`."""
        with self.writing(path) as file:
            file.write(data)

    @contextmanager
    def writing(self, path: str | Path) -> Iterator[BinaryIO]:
        """Open a temporary file that is renamed to ``path`` when it is complete.

        Raises `StoreFullError` if there is no space left, or `InputError` if the file cannot be written.
        """
        with self._said(path), core_files.replacing(path, self._temporary) as temporary, temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())

    @contextmanager
    def _said(self, path: str | Path) -> Iterator[None]:
        """Replace an error of writing by an `InputError`."""
        try:
            yield
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise StoreFullError(self.folder) from None
            raise InputError(f"{path}: cannot be written: {error.strerror}") from None

    def remove(self, path: str) -> None:
        """Remove a file, if it exists."""
        with suppress(FileNotFoundError):
            os.unlink(path)

    def changed_at(self, path: str) -> int:
        """Return the time when a file was written, in nanoseconds, or 0 if it does not exist."""
        try:
            return os.stat(path).st_mtime_ns
        except FileNotFoundError:
            return 0

    def append(self, name: str, data: bytes) -> None:
        """Append to a file of runs, which is made if it does not exist; an incomplete addition is removed.

        The file is closed each time, so that other machines see the data on a network file system. Raises the errors of
        `writing`.
        """
        with self._said(path := self.place("runs", name)), open(path, "ab", buffering=0) as file:
            before = file.seek(0, os.SEEK_END)
            left = memoryview(data if before else HEADER + data)
            end = before + len(left)
            try:
                while left:
                    left = left[file.write(left) :]
            except BaseException:  # including an interrupt
                if file.seek(0, os.SEEK_END) < end:  # a complete message stays, as others may have read it
                    file.truncate(before)
                raise

    def scan(self) -> Index:
        """Return an index of all runs."""
        index = Index(self)
        index.update()
        return index

    def keep_origin(self, content: dict[str, Any]) -> str:
        """Write an origin of runs unless a sound copy exists; return its name."""
        text = json.dumps(content, sort_keys=True).encode()
        name = hashlib.sha256(text).hexdigest()
        try:
            self.origin(name)
        except InputError:
            self.write(self.place("origins", f"{name}.json"), text)
        return name

    def origin(self, name: str) -> dict[str, Any]:
        """Return an origin of runs. Raises `InputError` if its file is damaged or missing."""
        if not is_digest(name):
            raise InputError(f"{self.runs}: damaged: a run names an origin that is not a SHA-256")
        return read_record(self.origins / f"{name}.json", "the origin of a run", {}, sha256=name)

    def files(self, folder: Path) -> list[Path]:
        """Return the files of a folder that are named by a digest, sorted; other files do not belong to a store."""
        paths = folder.iterdir() if folder.is_dir() else ()  # empty folders may be lost in a copy
        return sorted(path for path in paths if is_digest(path.stem) and path.suffix in (".parquet", ".json"))

    def has_failures(self) -> bool:
        """Whether there are records of failed runs."""
        with os.scandir(self.failed) as entries:
            return next(entries, None) is not None

    def failures(self) -> dict[str, dict[str, Any]]:
        """Return the record of each failed run, by digest."""
        try:
            return {
                path.stem: read_record(path, "the record of a failed run", _FAILURE) for path in self.files(self.failed)
            }
        except InputError as error:
            raise InputError(f"{error}; 'ltr-duel run --retry' with the experiment's file repeats the run") from None


def temporary_name() -> str:
    """Return a new name for a file in ``tmp``: the id of this process, a digest of its machine, and a random number."""
    machine = hashlib.sha256(host.process_identity(os.getpid())["machine"].encode()).hexdigest()
    return f"{os.getpid()}-{machine[:16]}-{uuid.uuid4().hex}"


def is_digest(name: str) -> bool:
    """Whether a name is a SHA-256 in hexadecimal digits."""
    return len(name) == 64 and HEX.issuperset(name)


class StoreFullError(InputError):
    """There is no space left on the device of the store."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder}: no space left on the device")
