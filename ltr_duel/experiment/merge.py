"""Join several stores: shards of one experiment, or experiments of several machines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ltr_duel.core import InputError
from ltr_duel.experiment.examine import wrong_with_run
from ltr_duel.experiment.plan_file import read_plans
from ltr_duel.experiment.store import Store


class Merged(NamedTuple):
    """What a merge did."""

    copied: int
    already_there: int  # in the target before, with the same bytes
    damaged: list[str]  # what is wrong with each file that is left out


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
        With the attributes ``copied``, ``already_there`` (numbers of runs) and ``damaged``
        (what is wrong with files that are left out).

    Raises
    ------
    InputError
        If one of them is no store or has a damaged plan, or two files of one run differ. Nothing has been copied then.

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
    damaged: list[str] = []
    already_there = 0
    for store in stores:
        read_plans(store)  # refuses one that is damaged
        runs = [path for path in store.files(store.runs) if path.suffix == ".parquet"]
        wrong = {path: wrong_with_run(store, path.stem) for path in runs}
        damaged += filter(None, wrong.values())
        sound = [path for path, why in wrong.items() if not why]
        for path in (*store.files(store.plans), *store.files(store.problems), *sound):
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
        for path in store.files(store.failed):
            if not into.run_path(path.stem).exists():
                into.write(into.failed / path.name, path.read_bytes())
    for path in into.files(into.failed):
        if into.run_path(path.stem).exists():
            path.unlink(missing_ok=True)
