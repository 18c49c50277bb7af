"""What lies under ``runs``: where each run's newest record is, and what is no record. Followed while others write."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from ltr_duel.experiment.segment import RUN, SHARED, Head, find_records

if TYPE_CHECKING:
    from ltr_duel.experiment.store import Store

SUFFIX = ".runs"
_HEX = frozenset("0123456789abcdef")


class Place(NamedTuple):
    """Where a record lies. Sorted, they are in the order in which files are read fastest."""

    segment: str  # name of the file
    offset: int
    size: int
    generation: int


class Found:
    """What was found; it can be asked to look for what others have written since."""

    def __init__(self, store: Store) -> None:
        self.done: dict[str, Place] = {}  # the newest record of each run, by its digest
        self.shared: dict[str, list[Place]] = {}  # what several runs refer to, by its digest; of each process its own
        self.broken: dict[str, str] = {}  # of each file that is damaged, or cannot be read, a sentence that says so
        self.foreign: list[str] = []  # files that no run can have
        self.old = 0  # runs in files of their own, as version 0.1 kept them
        self.sizes: dict[str, int] = {}  # bytes of each file when it was looked at
        self.lost = False  # whether a file was joined with others meanwhile: its runs are in one of another name
        self._store = store
        self._ends: dict[str, int] = {}  # how far each file has been read
        self._closed: set[str] = set()  # files that nobody writes to any more, read to their ends

    def generation(self, digest: str) -> int:
        """Return the generation that a new record of a run must have, to replace what is there."""
        return self.done[digest].generation + 1 if digest in self.done else 0

    def forget(self) -> None:
        """Forget all runs, but not how far the files have been read: from now on, what is found is new."""
        self.done = {}

    def look(self, but: str = "") -> None:
        """Read what has been written since the last look, but not in one file: one's own."""
        alive = set(os.listdir(self._store.drivers)) if self._store.drivers.is_dir() else set()
        self.foreign, self.old = [], 0
        for name in sorted(os.listdir(self._store.runs)):
            if name in self._closed or name == but:
                continue
            digest, _, suffix = name.partition(".")
            if f".{suffix}" == SUFFIX and _HEX.issuperset(digest):
                try:
                    self._follow(name, growing=digest in alive)
                except FileNotFoundError:
                    self.lost = True
                except OSError as error:
                    self.broken[name] = f"{self._store.runs / name}: cannot be read: {error.strerror}"
            elif is_digest(digest) and suffix in ("parquet", "json"):
                self.old += suffix == "parquet"
            else:
                self.foreign.append(name)

    def _follow(self, name: str, *, growing: bool) -> None:
        """Read on in one file."""
        path, end = self._store.place("runs", name), self._ends.get(name, 0)
        size = self._store.size(path)
        if size > end:
            with open(path, "rb", buffering=0) as file:

                def read(count: int, start: int) -> bytes:
                    file.seek(start)
                    return file.read(count)

                for one in find_records(read, size, end):
                    if isinstance(one, Head):
                        self._add(one, name)
                        end = one.offset + one.size
                    elif one.torn or (growing and one.stop == size):
                        break  # cut off, or not written to its end yet
                    else:
                        what = f"bytes {one.start:,} to {one.stop:,} are no runs"
                        self.broken[name] = f"{self._store.runs / name}: damaged: {what}"
                        end = one.stop
        self._ends[name], self.sizes[name] = end, size
        if not growing:
            self._closed.add(name)

    def _add(self, head: Head, segment: str) -> None:
        place = Place(segment, head.offset, head.size, head.generation)
        if head.kind == SHARED:
            self.shared.setdefault(head.name, []).append(place)
        elif head.kind == RUN:
            there = self.done.get(head.name)
            if there is None or there.generation <= head.generation:
                self.done[head.name] = place


def is_digest(name: str) -> bool:
    """Whether this is a SHA-256 as text."""
    return len(name) == 64 and _HEX.issuperset(name)
