"""Join several files of a store by copying the sound rows into a new file."""

from __future__ import annotations

import os
import uuid
from collections.abc import Collection
from contextlib import suppress

from ltr_duel.core import files
from ltr_duel.experiment.leases import live_drivers, locked
from ltr_duel.experiment.runs_file import SUFFIX, write_batches
from ltr_duel.experiment.store import Store, StoreFullError
from ltr_duel.experiment.stored_runs import StoredRuns

MANY = 64  # small files are joined if a store has at least this many files
LARGE = 1 << 26  # bytes; files of this size or more are not joined


def join_if_many(store: Store) -> None:
    """Join the small files of runs if there are many files; damaged files stay unchanged."""
    names = [name for name in os.listdir(store.runs) if name.endswith(SUFFIX)]
    if len(names) < MANY:
        return
    index = store.scan()
    small = {name for name in names if index.sizes.get(name, LARGE) < LARGE} - index.broken.keys()
    if len(small) >= MANY // 2:
        with suppress(StoreFullError):  # the runs can still be read
            join(store, small)


def join(store: Store, names: Collection[str]) -> None:
    """Replace several files by one file, with the newest row of each run; bytes that are not runs are dropped.

    Files of live processes stay unchanged. If this process is killed while it removes the old files, some runs are
    stored twice, which is harmless. A process that misses a removed file reads the index again.

    Raises `StoreFullError` if there is no space left; no file is joined then.
    """
    if not names:
        return
    with locked(store):
        alive = {driver["id"] + SUFFIX for driver in live_drivers(store)}
        runs = StoredRuns(store, ())
        sizes = runs.index.sizes  # of this index; reading runs may replace ``runs.index``
        chosen = {name for name in names if name in sizes} - alive
        digests = [digest for digest, place in runs.index.done.items() if place.file in chosen]
        if digests:
            with store.writing(store.place("runs", uuid.uuid4().hex + SUFFIX)) as file:
                write_batches(file, (rows for _, rows in runs.batches(digests)))
            files.sync_folder(store.runs)
        for name in chosen:
            path = store.place("runs", name)
            if os.stat(path).st_size == sizes[name]:  # nothing was appended meanwhile
                store.remove(path)
