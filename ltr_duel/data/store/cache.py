"""Locations of converted corpora and computed arrays, under ``cache_home()``.

corpora/<name>-<key>/   see `converted`; the key is a digest of the content, the options and the format
arrays/<kinds>-<key>/   arrays computed from a corpus, such as orders of rankers
known_files.json        see `known_files`
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ltr_duel.core import InputError, cache_home, handed_over, host, mapped
from ltr_duel.core import digest as core_digest
from ltr_duel.data.store.entries import is_sound, make_room, new_entry


def cached_arrays(
    key: Mapping[str, object],
    kinds: Mapping[str, tuple[DTypeLike, tuple[int, ...]]],
    compute: Callable[[dict[str, NDArray[Any]]], None],
) -> dict[str, NDArray[Any]]:
    """Return arrays: the first call computes and stores them, and later calls open the stored arrays as memory maps.

    key: all facts that determine the values (digest of the corpus, columns, tie rule, seed, format version).
    kinds: numeric types and shapes of the arrays, keyed by names such as ``"orders"``, which are also names of files.
    compute: function that receives new arrays, keyed as ``kinds``, and fills them.

    Returns read-only arrays in C order. If the cache has too little space, the arrays are not stored.
    """
    named = {**key, "kinds": {kind: (np.dtype(dtype).str, shape) for kind, (dtype, shape) in kinds.items()}}
    folder = cache_home() / "arrays" / f"{'-'.join(kinds)}-{_short(named)}"
    if is_sound(folder):
        with suppress(OSError):  # another process may have evicted the entry
            return _opened(folder, kinds)
    if make_room(sum(prod(shape) * np.dtype(dtype).itemsize for dtype, shape in kinds.values())):
        with suppress(OSError, InputError):  # another process may have evicted the entry, or the disk is full
            with new_entry(folder) as temporary:
                compute({kind: _new_file(temporary / f"{kind}.npy", *how) for kind, how in kinds.items()})
            return _opened(folder, kinds)
    made = {kind: mapped.new_array(shape, dtype) for kind, (dtype, shape) in kinds.items()}
    compute(made)
    return {kind: handed_over(array) for kind, array in made.items()}


def _new_file(path: Path, dtype: DTypeLike, shape: tuple[int, ...]) -> NDArray[Any]:
    array = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
    with path.open("rb+") as file:
        host.reserve(file.fileno(), path.stat().st_size)  # on a full disk, a write to a mapped file ends the process
    return array


def _opened(folder: Path, kinds: Iterable[str]) -> dict[str, NDArray[Any]]:
    return {kind: np.asarray(np.load(folder / f"{kind}.npy", mmap_mode="r", allow_pickle=False)) for kind in kinds}


def corpus_folder(name: str, key: Mapping[str, object]) -> Path:
    """Return the folder of a converted corpus, which may not exist."""
    readable = re.sub(r"[^A-Za-z0-9.-]+", "-", name).strip("-.")[:60] or "corpus"
    return cache_home() / "corpora" / f"{readable}-{_short(key)}"


def _short(key: Mapping[str, object]) -> str:
    return core_digest.digest_of(key)[:20]
