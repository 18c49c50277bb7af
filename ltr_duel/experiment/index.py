"""An index of a store: the newest row of each run, and the damaged bytes. Other processes may append meanwhile."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from ltr_duel.core import InputError
from ltr_duel.experiment.runs_file import HEX, SCHEMA, SUFFIX, Message, decode_batch, find_messages

if TYPE_CHECKING:
    from ltr_duel.experiment.store import Store


Rows = tuple[list[str], pa.RecordBatch | InputError]  # digests of runs, and their rows or the error of decoding them


_LAST = 2**32 - 1  # largest generation; of two rows with equal generations, the row that is read later counts


class Place(NamedTuple):
    """The position of a run's row. Sorted by these fields, rows are in the order in which reading is fastest."""

    file: str
    offset: int  # position of the row's batch
    size: int
    row: int
    generation: int


class Index:
    """An index of the files of runs in a store; `update` adds the runs written since the last update."""

    def __init__(self, store: Store) -> None:
        self.done: dict[str, Place] = {}  # the newest row of each run, by the run's digest
        self.broken: dict[str, str] = {}  # file name -> message, for damaged or unreadable files
        self.foreign: list[str] = []  # names of files that are not files of runs
        self.sizes: dict[str, int] = {}  # bytes of each file at the last update
        self._store = store
        self._ends: dict[str, int] = {}  # position up to which each file has been read
        self._gaps: dict[str, list[str]] = {}  # damaged bytes of each file
        self._closed: set[str] = set()  # files that are read to the end, and whose processes have ended

    def generation(self, digest: str) -> int:
        """Return the generation that a new row of a run needs in order to replace the present row."""
        return min(self.done[digest].generation + 1, _LAST) if digest in self.done else 0

    def forget(self) -> None:
        """Forget all runs, but not how far each file has been read, so that later updates add only new rows."""
        self.done = {}

    def update(self, but: str = "") -> None:
        """Read the messages written since the last update, except those in the file ``but``."""
        names = sorted(os.listdir(self._store.runs))  # listed before the drivers, so that no live driver is missed
        alive = set(os.listdir(self._store.drivers)) if self._store.drivers.is_dir() else set()
        self.foreign = []
        for name in names:
            if name in self._closed or name == but:
                continue
            stem, _, suffix = name.partition(".")
            if f".{suffix}" == SUFFIX and HEX.issuperset(stem):
                try:
                    self._follow(name, growing=stem in alive)
                except OSError as error:
                    why = error.strerror or str(error)
                    self.broken[name] = f"{self._store.runs / name}: cannot be read: {why}"
                except (InputError, MemoryError) as error:
                    raise type(error)(f"{self._store.runs / name}: {error}") from None
            elif not name.startswith(".nfs"):  # NFS keeps a removed file under such a name while it is open
                self.foreign.append(name)

    def _follow(self, name: str, *, growing: bool) -> None:
        """Continue reading one file."""
        path, end = self._store.place("runs", name), self._ends.get(name, 0)
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise OSError("not an ordinary file; remove it")  # opening a pipe would block
        with pa.OSFile(path, "rb") as file:  # opened first, as NFS may return an old size for a file that is not open
            size = file.size()
            if size > end:
                for one in find_messages(file, size, end):
                    if isinstance(one, Message):
                        self._add(one, name)
                        end = one.offset + one.size
                    elif one.torn or (growing and one.stop == size):
                        break  # an incomplete message, which may still be completed
                    else:
                        self._gaps.setdefault(name, []).append(f"bytes {one.start:,} to {one.stop:,}")
                        end = one.stop
        self._ends[name], self.sizes[name] = end, size
        self.broken.pop(name, None)  # a message of an earlier update, when the file could not be read
        if name in self._gaps:
            self.broken[name] = f"{path}: damaged: {', '.join(self._gaps[name])} are not runs"
        if not growing:
            self._closed.add(name)

    def _add(self, message: Message, name: str) -> None:
        for row, (digest, generation) in enumerate(zip(message.runs, message.generations, strict=True)):
            there = self.done.get(digest)
            if there is None or there.generation <= generation:
                self.done[digest] = Place(name, message.offset, message.size, row, generation)

    def batches(self, digests: Iterable[str], columns: Sequence[str] = tuple(SCHEMA.names)) -> Iterator[Rows]:
        """Yield runs in the order of the files: digests, and their rows or the error of decoding them.

        Raises `InputError` if a file cannot be read.
        """
        wanted = sorted((self.done[digest], digest) for digest in digests if digest in self.done)
        name = ""
        try:
            for name, of_file in groupby(wanted, key=lambda one: one[0].file):
                with open(self._store.place("runs", name), "rb", buffering=0) as file:
                    for (offset, size), together in groupby(of_file, key=lambda one: (one[0].offset, one[0].size)):
                        file.seek(offset)
                        places, names = zip(*together, strict=True)
                        yield list(names), _rows(file.read(size), columns, [place.row for place in places])
        except OSError as error:
            raise InputError(f"{self._store.runs / name}: cannot be read: {error.strerror}") from None


def _rows(raw: bytes, columns: Sequence[str], rows: list[int]) -> pa.RecordBatch | InputError:
    try:
        batch = decode_batch(raw, columns)
    except InputError as error:
        return error
    return batch if rows == list(range(len(batch))) else batch.take(pa.array(rows, pa.int64()))
