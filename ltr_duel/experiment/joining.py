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
    """Join small sound files of runs, if there are many."""
    with os.scandir(store.runs) as entries:
        small = {one.name for one in entries if one.name.endswith(SUFFIX) and one.stat().st_size < LARGE}
    if len(small) >= MANY:
        join(store, small, sound=True)


def join(store: Store, names: Collection[str], *, sound: bool = False) -> None:
    """Write one file in place of several: the newest record of each run, as it is, and what these refer to.

    A process that is killed here leaves runs twice, which nobody minds; who reads meanwhile looks again.

    Parameters
    ----------
    store : Store
    names : collection of str
        Of files; those of live processes are left alone.
    sound : bool
        Whether to leave alone also files in which bytes are no runs.
    """
    if not names:
        return
    with locked(store):
        idle = {name for name in names if not live_driver(store, name.removesuffix(SUFFIX))}
        found = store.scan()
        chosen = (idle & found.sizes.keys()) - (found.broken.keys() if sound else set())
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
