"""The store: a folder in which every finished run is one record, there completely or not at all.

DIR/plans/<digest>.parquet       the runs of each experiment started here, with its spec
DIR/problems/<digest>.parquet    the matrix that regret is measured by
DIR/runs/<id>.runs               the runs that one process has finished, one after the other (`segment`, `stored_run`)
DIR/failed/<digest>.json         a run that failed, with its traceback
DIR/claims/<digest>              a run that a process has claimed
DIR/drivers/<id>                 that process; touched while it is alive
DIR/tmp/                         files that are being written

Nothing here imports the simulation: looking at a store of 100,000 runs takes a moment. A process that runs an
experiment names files by text (`Store.place`): some versions of Python keep the parts of every `Path` for ever.
"""

from __future__ import annotations

import errno
import itertools
import os
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO

from ltr_duel.core import InputError, arguments
from ltr_duel.core import files as core_files
from ltr_duel.experiment.found import Found, Place, is_digest
from ltr_duel.experiment.record import read_record
from ltr_duel.experiment.segment import Content, decode_record

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
            alone = self.folder / "results.parquet"
            hint = f"; {alone}, of 'ltr-duel simulate', is a table that pandas.read_parquet reads" * alone.is_file()
            raise InputError(f"{self.folder}: no results of 'ltr-duel run' are here{hint}")

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

    def size(self, path: str) -> int:
        """Return the bytes of a file. Raises `OSError` if it cannot be looked at."""
        return os.stat(path).st_size

    def changed_at(self, path: str) -> int:
        """Return when a file was written, in nanoseconds; 0 if it does not exist."""
        try:
            return os.stat(path).st_mtime_ns
        except FileNotFoundError:
            return 0

    def append(self, segment: str, data: bytes) -> None:
        """Write behind what a file of runs holds, which is made if need be: whole records, or after an error nothing.

        The file is closed again each time, so that on a network file system other machines see it. Raises what
        `writing` does.
        """
        with self._said(path := self.place("runs", segment)), open(path, "ab", buffering=0) as file:
            before, left = file.seek(0, os.SEEK_END), memoryview(data)
            try:
                while left:
                    left = left[file.write(left) :]
            except OSError:
                file.truncate(before)
                raise

    def scan(self) -> Found:
        """Find all records under ``runs`` by their heads; their bodies are not looked at.

        Raises `InputError` if runs are there as version 0.1 kept them.
        """
        found = Found(self)
        found.look()
        while found.lost:  # a file was joined with others meanwhile
            found = Found(self)
            found.look()
        if found.old:
            raise InputError(
                f"{self.folder}: {found.old:,} runs are kept as in version 0.1, each in a file of its own; install"
                f" commit 7012071: its 'ltr-duel merge {self.folder} --out NEW' copies them into a new folder"
            )
        return found

    def read(self, places: Iterable[Place]) -> Iterator[Content | None]:
        """Read records: None for each that is not as it was written. Raises what `raw` does."""
        return map(decode_record, self.raw(places))

    def raw(self, places: Iterable[Place]) -> Iterator[bytes]:
        """Read the bytes of records, quickly where they are in the order of the files.

        Raises `InputError` if a file cannot be read.
        """
        name = ""
        try:
            for name, together in itertools.groupby(places, key=attrgetter("segment")):
                with open(self.place("runs", name), "rb", buffering=0) as file:
                    for place in together:
                        file.seek(place.offset)
                        yield file.read(place.size)
        except OSError as error:
            raise InputError(f"{self.runs / name}: cannot be read: {error.strerror}") from None

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


class StoreFullError(InputError):
    """There is no space left where the store lies."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder}: no space left on the device")
