"""Join files of runs that nobody writes to any more: to have few of them, or to leave out what is no run."""

from __future__ import annotations

import os
import uuid
from collections.abc import Collection
from itertools import chain

from ltr_duel.experiment.found import SUFFIX
from ltr_duel.experiment.leases import live_driver, locked
from ltr_duel.experiment.store import Store

MANY = 64  # files from which on they are joined
LARGE = 1 << 26  # bytes of a file that is not copied for that


def join_if_many(store: Store) -> None:
    """Join small files of runs, if there are many, but not those in which bytes are no runs."""
    names = [name for name in os.listdir(store.runs) if name.endswith(SUFFIX)]
    if len(names) < MANY:
        return
    found = store.scan()
    small = {name for name in names if found.sizes.get(name, LARGE) < LARGE} - found.broken.keys()
    if len(small) >= MANY // 2:
        join(store, small)


def join(store: Store, names: Collection[str]) -> None:
    """Write one file in place of several: the newest record of each run, as it is, and what these refer to.

    A process that is killed here leaves runs twice, which nobody minds; who reads meanwhile looks again.

    names: of files; those of live processes are left alone. Bytes that are no runs are left out.
    """
    if not names:
        return
    with locked(store):
        idle = {name for name in names if not live_driver(store, name.removesuffix(SUFFIX))}
        found = store.scan()
        chosen = idle & found.sizes.keys()
        shared = sorted(place for places in found.shared.values() for place in places if place.segment in chosen)
        runs = sorted(place for place in found.done.values() if place.segment in chosen)
        if runs:
            with store.writing(store.place("runs", uuid.uuid4().hex + SUFFIX)) as file:
                for raw in chain(dict.fromkeys(store.raw(shared)), store.raw(runs)):
                    file.write(raw)
        for name in chosen:
            path = store.place("runs", name)
            if store.size(path) == found.sizes[name]:  # its process is dead indeed
                store.remove(path)
