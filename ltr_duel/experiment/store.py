"""The store: a folder that contains every finished run completely or not at all.

DIR/plans/<digest>.parquet       the runs of each experiment started here: the spec, and the key of each run
DIR/problems/<digest>.parquet    the matrix that regret is measured by
DIR/runs/<id>.arrows             the runs that one process has finished (`runs_file`)
DIR/origins/<sha256>.json        the origin of runs: experiment, program, libraries, machine
DIR/failed/<digest>.json         a run that failed, with its traceback
DIR/claims/<digest>-<id>         an empty file: a process has claimed a run
DIR/drivers/<id>                 that process, with the lease that it renews while it is alive
DIR/tmp/                         files that are being written

Nothing here imports the simulation: looking at a store of 100,000 runs takes a moment. A process that runs an
experiment names files by text (`Store.place`): some versions of Python keep the parts of every `Path` for ever.
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

from ltr_duel.core import InputError, arguments
from ltr_duel.core import files as core_files
from ltr_duel.experiment.index import Index
from ltr_duel.experiment.record import parsed_record, read_record
from ltr_duel.experiment.runs_file import HEADER, HEX

_FAILURE = {"policy": str, "problem": str, "horizon": int, "repetition": int, "error": str, "traceback": str}


class Store:
    """A folder of runs. One thread of a process writes to it at a time.

    folder: `prepare` makes it, if it does not exist.
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

        Raises `InputError` if they cannot be made, or the folder holds something else.
        """
        self._refuse_earlier()
        if self.folder.is_dir() and not self.exists() and any(self.folder.iterdir()):
            raise InputError(f"{self.folder}: holds files that are not of an experiment; give a new or empty folder")
        try:
            for folder in (
                self.plans, self.problems, self.runs, self.origins, self.failed, self.claims, self.drivers, self.tmp,
            ):  # fmt: skip
                folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{self.folder}: cannot be written: {error.strerror}") from None

    def exists(self) -> bool:
        """Whether this is a store."""
        return self.runs.is_dir() and self.plans.is_dir()

    def require(self) -> None:
        """Refuse a folder that is no store of this version."""
        if not self.exists():
            alone = self.folder / "results.parquet"
            hint = f"; {alone}, of 'ltr-duel simulate', is a table that pandas.read_parquet reads" * alone.is_file()
            raise InputError(f"{self.folder}: no results of 'ltr-duel run' are here{hint}")
        self._refuse_earlier()

    def _refuse_earlier(self) -> None:
        names = [path.name for path in self.runs.iterdir()] if self.runs.is_dir() else []
        if any(is_digest(name.removesuffix(".parquet")) for name in names):
            commit, merged = "7012071", f"'ltr-duel merge {self.folder} --out NEW' and 'ltr-duel results NEW"
        elif any(name.endswith(".runs") for name in names):
            commit, merged = "98b9506", f"'ltr-duel results {self.folder}"
        else:
            return
        raise InputError(
            f"{self.folder}: the runs were written by a development version before 0.3.0; install commit {commit},"
            f" export them with {merged} --csv table.csv', and give new runs another folder"
        )

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

        Raises `StoreFullError` if there is no space left, and `InputError` if it cannot be written for another reason.
        """
        with self._said(path), core_files.replacing(path, self._temporary) as temporary, temporary.open("wb") as file:
            yield file

    @contextmanager
    def _said(self, path: str | Path) -> Iterator[None]:
        """Say in a sentence why something cannot be written."""
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
        """Return when a file was written, in nanoseconds; 0 if it does not exist."""
        try:
            return os.stat(path).st_mtime_ns
        except FileNotFoundError:
            return 0

    def append(self, name: str, data: bytes) -> None:
        """Append to a file of runs, which is made if it does not exist; after an error, nothing is appended.

        The file is closed each time, so that on a network file system other machines see the data. Raises what
        `writing` does.
        """
        with self._said(path := self.place("runs", name)), open(path, "ab", buffering=0) as file:
            before = file.seek(0, os.SEEK_END)
            left = memoryview(data if before else HEADER + data)
            try:
                while left:
                    left = left[file.write(left) :]
            except BaseException:  # an interrupt too
                file.truncate(before)
                raise

    def scan(self) -> Index:
        """Return an index of all runs."""
        index = Index(self)
        index.update()
        while index.lost:  # a file was joined with others meanwhile
            index = Index(self)
            index.update()
        return index

    def keep_origin(self, content: dict[str, Any]) -> str:
        """Write an origin of runs, unless it exists and is sound; return its name."""
        text = json.dumps(content, sort_keys=True).encode()
        name = hashlib.sha256(text).hexdigest()
        try:
            self.origin(name)
        except InputError:
            self.write(self.place("origins", f"{name}.json"), text)
        return name

    def origin(self, name: str) -> dict[str, Any]:
        """Return an origin of runs. Raises `InputError` with a part of a sentence if it is not as it was written."""
        try:
            text = (self.origins / f"{name}.json").read_bytes() if is_digest(name) else b""
        except FileNotFoundError:
            raise InputError("its manifest is missing") from None
        except OSError as error:
            raise InputError(f"its manifest cannot be read: {error.strerror}") from None
        if hashlib.sha256(text).hexdigest() != name:
            raise InputError("its manifest is not as it was written")
        try:
            return parsed_record(text, {})
        except InputError as error:
            raise InputError(f"its manifest is {error}") from None

    def files(self, folder: Path) -> list[Path]:
        """Return the files of a folder that are named by a digest, sorted; other files are not of this store."""
        paths = folder.iterdir() if folder.is_dir() else ()  # empty folders may be lost in a copy
        return sorted(path for path in paths if is_digest(path.stem) and path.suffix in (".parquet", ".json"))

    def has_failures(self) -> bool:
        """Whether any failed run is known."""
        with os.scandir(self.failed) as entries:
            return next(entries, None) is not None

    def failures(self) -> dict[str, dict[str, Any]]:
        """Return what is known of each failed run, by digest."""
        return {
            path.stem: read_record(path, "the record of a failed run", _FAILURE) for path in self.files(self.failed)
        }


def is_digest(name: str) -> bool:
    """Whether this is a SHA-256 as text."""
    return len(name) == 64 and HEX.issuperset(name)


class StoreFullError(InputError):
    """There is no space left where the store lies."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder}: no space left on the device")
