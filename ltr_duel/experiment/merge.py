"""Join several stores: shards of one experiment, or experiments of several machines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ltr_duel.core import InputError
from ltr_duel.experiment.store import Store


class Merged(NamedTuple):
    """What a merge did."""

    copied: int
    already_there: int  # in the target before, with the same bytes
    damaged: list[str]  # left out


def merge_stores(target: str | Path, sources: Sequence[str | Path]) -> Merged:
    """Copy all runs, plans and matrices into one store.

    Parameters
    ----------
    target : str or Path
        A new folder, or a store.
    sources : sequence of path
        Stores; they stay as they are.

    Returns
    -------
    Merged
        With the attributes ``copied``, ``already_there`` (numbers of runs) and ``damaged`` (files that are left out).

    Raises
    ------
    InputError
        If one of them is no store, or two files of one run differ. Nothing has been copied then.

    Examples
    --------
    >>> merge_stores("all", ["shard-1", "shard-2"])
    Traceback (most recent call last):
        ...
    ltr_duel.core.errors.InputError: shard-1: no results of 'ltr-duel run' are here
    """
    into, stores = Store(target), [Store(source) for source in sources]
    for store in stores:
        store.require()
    copies: dict[Path, Path] = {}
    damaged = []
    already_there = 0
    for store in stores:
        found = store.scan()
        damaged += [str(store.run_path(digest)) for digest in sorted(found.damaged)]
        files = [path for name in ("plans", "problems") for path in sorted((store.folder / name).glob("*.parquet"))]
        files += [store.run_path(digest) for digest in sorted(found.done)]
        for path in files:
            place = into.folder / path.relative_to(store.folder)
            earlier = copies.get(place, place)
            if not earlier.exists():
                copies[place] = path
            elif earlier.read_bytes() != path.read_bytes() and path.parent.name == "runs":
                raise InputError(f"{path} and {earlier} should be the same and are not; nothing was merged")
            else:
                already_there += path.parent.name == "runs"
    into.prepare()
    for place, path in copies.items():
        if path.parent.name == "runs" and path.with_suffix(".json").exists():
            into.write(place.with_suffix(".json"), path.with_suffix(".json").read_bytes())
        into.write(place, path.read_bytes())
    _failures(into, stores)
    return Merged(sum(place.parent.name == "runs" for place in copies), already_there, damaged)


def _failures(into: Store, stores: Sequence[Store]) -> None:
    """Copy what is known of failed runs, unless they succeeded elsewhere."""
    for store in stores:
        for path in sorted(store.failed.glob("*.json")):
            if not into.run_path(path.stem).exists():
                into.write(into.failed / path.name, path.read_bytes())
    for path in sorted(into.failed.glob("*.json")):
        if into.run_path(path.stem).exists():
            path.unlink(missing_ok=True)
