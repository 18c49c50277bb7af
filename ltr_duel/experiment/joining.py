"""Join several stores; and files of one that nobody writes to any more, to have few, or to leave out what is no run."""

from __future__ import annotations

import os
import uuid
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from ltr_duel.core import InputError
from ltr_duel.experiment.about import Writer
from ltr_duel.experiment.found import SUFFIX
from ltr_duel.experiment.leases import live_driver, locked
from ltr_duel.experiment.plan_file import read_plans, require_same_labels
from ltr_duel.experiment.run_record import same_run
from ltr_duel.experiment.store import Store
from ltr_duel.experiment.stored_run import Reader, Stored

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


class Merged(NamedTuple):
    """What a merge did."""

    copied: int
    already_there: int  # in the target before, and the same
    damaged: list[str]  # what is wrong with what is left out


def merge_stores(target: str | Path, sources: Sequence[str | Path]) -> Merged:
    """Copy all runs, plans and matrices of stores, which stay as they are, into a new folder or another store.

    Raises `InputError` if one of them is no store of this version or has a damaged plan, two results of one run differ,
    or some runs are of a version that did not number arms at random. Nothing was copied then.
    """
    into, stores = Store(target), [Store(source) for source in sources]
    for store in stores:
        store.require()
        read_plans(store)  # refuses one that is damaged
    require_same_labels([into, *stores])
    chosen: dict[str, Reader] = {}
    if into.exists():
        found = into.scan()
        chosen = dict.fromkeys(found.done, Reader(into, found))
    there = len(chosen)
    damaged: list[str] = []
    already_there = 0
    for store in stores:
        found = store.scan()
        damaged += found.broken.values()
        reader = Reader(store, found)
        for digest, run in reader.runs(found.done):
            if isinstance(run, str):
                damaged.append(run)
            elif digest not in chosen:
                chosen[digest] = reader
            elif _same(run, chosen[digest]):
                already_there += 1
            else:
                raise InputError(
                    f"{store.folder}: run {digest}: it and the one in {chosen[digest].folder} should be the same"
                    " and are not; nothing was merged"
                )
    copied = dict([*chosen.items()][there:])
    into.prepare()
    for store in stores:
        for path in (*store.files(store.plans), *store.files(store.problems)):
            place = into.folder / path.relative_to(store.folder)
            if not place.exists():
                into.write(place, path.read_bytes())
    if copied:
        _copy(into, copied)
    _failures(into, stores, chosen.keys())
    return Merged(len(copied), already_there, damaged)


def _same(run: Stored, reader: Reader) -> bool:
    ((_, other),) = reader.runs([run.digest])
    return not isinstance(other, str) and same_run(run.data, other.data)


def _copy(into: Store, chosen: Mapping[str, Reader]) -> None:
    """Write runs into one file of a store: all of them, or none."""
    with into.writing(into.place("runs", uuid.uuid4().hex + SUFFIX)) as file:
        writer = Writer(file.write)
        for reader in dict.fromkeys(chosen.values()):
            for digest, run in reader.runs([digest for digest, one in chosen.items() if one is reader]):
                if isinstance(run, str):  # it was sound a moment ago
                    raise InputError(run)
                shared = [reader.shared(name) for name in (run.about.group, run.about.origin)]
                writer.add(digest, run.data, run.about, shared, generation=0)
                writer.flush()


def _failures(into: Store, stores: Sequence[Store], done: Collection[str]) -> None:
    """Copy what is known of failed runs, unless they succeeded elsewhere."""
    for store in stores:
        for path in store.files(store.failed):
            if path.stem not in done:
                into.write(into.failed / path.name, path.read_bytes())
    for path in into.files(into.failed):
        if path.stem in done:
            path.unlink(missing_ok=True)
