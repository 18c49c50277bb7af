"""Join several stores, or several files of one store, by copying the sound rows into a new file."""

from __future__ import annotations

import os
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ltr_duel.core import InputError, files
from ltr_duel.experiment.counts import Counts, counts_of, same_counts
from ltr_duel.experiment.leases import live_drivers, locked
from ltr_duel.experiment.plan_file import read_plan, read_plans
from ltr_duel.experiment.runs_file import SCHEMA, SUFFIX, write_batches
from ltr_duel.experiment.store import Store, StoreFullError
from ltr_duel.experiment.stored_runs import StoredRuns, wrong_with_problem

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


class Merged(NamedTuple):
    """The result of a merge."""

    copied: int
    already_there: int  # runs that the target or an earlier source contains, too
    damaged: list[str]  # messages about damaged files


def merge_stores(target: str | Path, sources: Sequence[str | Path]) -> Merged:
    """Copy all runs, plans and matrices into the target, a new folder or a store; the sources stay unchanged.

    Damaged matrices and damaged origins of runs are left out; damaged plans, matrices and origins of the target are
    replaced.

    Raises `InputError` if a source is not a store of this version, contains the target or has a damaged plan, if a
    batch of runs cannot be decoded, or if two results of one run differ. After these errors, no run is copied.
    """
    into, stores = Store(target), [Store(source) for source in sources]
    matrices: dict[str, str] = {}
    for store in stores:
        store.require()
        if store.folder.resolve() in into.folder.resolve().parents:
            raise InputError(
                f"{target}: this is inside the source {store.folder}, and sources must stay unchanged; give another"
                " folder"
            )
        problems = (problem for plan in read_plans(store) for problem in plan.about["problems"])
        matrices |= {problem["digest"]: problem["matrix_sha256"] for problem in problems}
    chosen: dict[str, StoredRuns] = {}
    if into.exists():
        into.require()
        there = StoredRuns(into, ())
        chosen = dict.fromkeys(there.index.done, there)
    before, already_there = len(chosen), 0
    damaged: list[str] = []
    for store in stores:
        runs = StoredRuns(store, ())
        damaged += runs.index.broken.values()
        both = [digest for digest in runs.index.done if digest in chosen]
        _require_same(runs, chosen, both)
        already_there += len(both)
        chosen |= {digest: runs for digest in runs.index.done if digest not in chosen}
    copied = dict([*chosen.items()][before:])
    into.prepare()
    for store in stores:
        named = [path for path in store.files(store.problems) if path.stem in matrices]  # the matrices that plans name
        for path in (*store.files(store.plans), *named, *store.files(store.origins)):
            if _wrong_with(into, path, matrices):  # missing, or damaged
                if why := _wrong_with(store, path, matrices):
                    damaged.append(why)
                else:
                    into.write(into.folder / path.relative_to(store.folder), path.read_bytes())
    if copied:
        with into.writing(into.place("runs", uuid.uuid4().hex + SUFFIX)) as file:
            write_batches(file, _first_rows(copied))
    _copy_failures(into, stores, chosen.keys())
    return Merged(len(copied), already_there, damaged)


def _wrong_with(store: Store, name: Path, matrices: Mapping[str, str]) -> str:
    """Return the error of a file with a plan, a matrix or an origin of runs, or "" if the file is sound.

    name: the path of the file in this store, or of its copy in another store.
    matrices: the digest of each problem's matrix.
    """
    path = store.folder / name.parent.name / name.name
    if path.parent == store.problems:
        return wrong_with_problem(path, matrices[path.stem])
    try:
        read_plan(path) if path.parent == store.plans else store.origin(path.stem)
    except InputError as error:
        return str(error)
    return ""


def _require_same(runs: StoredRuns, chosen: Mapping[str, StoredRuns], digests: Sequence[str]) -> None:
    """Raise an error if a run with one of these digests has a different result in an earlier store."""
    for names, rows in runs.batches(digests):
        others: dict[str, tuple[StoredRuns, Counts]] = {}
        for one in {id(chosen[digest]): chosen[digest] for digest in names}.values():
            for found, batch in one.batches(digest for digest in names if chosen[digest] is one):
                others |= {digest: (one, counts_of(batch, k)) for k, digest in enumerate(found)}
        for k, digest in enumerate(names):
            other, counts = others[digest]
            if not same_counts(counts_of(rows, k), counts):
                raise InputError(
                    f"{runs.store.folder}: run {digest}: its counts differ from those of this run in"
                    f" {other.store.folder}; nothing was merged"
                )


def _first_rows(chosen: Mapping[str, StoredRuns]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the chosen runs; their generation is set to 0."""
    place = SCHEMA.get_field_index("generation")
    for runs in dict.fromkeys(chosen.values()):
        for _, rows in runs.batches(digest for digest, one in chosen.items() if one is runs):
            generations = pa.array(np.zeros(len(rows), np.uint32))
            yield rows.set_column(place, SCHEMA.field(place), generations)


def _copy_failures(into: Store, stores: Sequence[Store], done: Collection[str]) -> None:
    """Copy the records of failed runs, except those of runs that succeeded in another store."""
    for store in stores:
        for path in store.files(store.failed):
            if path.stem not in done:
                into.write(into.failed / path.name, path.read_bytes())
    for path in into.files(into.failed):
        if path.stem in done:
            path.unlink(missing_ok=True)
