"""Where converted corpora and computed arrays are kept, and how they get there: completely or not at all.

<home>/corpora/<name>-<key>/    see `store`; the key is a digest of the content, the options and the format
<home>/arrays/<kind>-<key>.npy  arrays computed once from a corpus, such as orders of rankers
<home>/known_files.json         which file had which digest, so that opening need not read it again
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ltr_duel.core import cache_home, digest_of, replacing

KINDS = ("corpora", "arrays")


def _short_digest(key: Mapping[str, object]) -> str:
    return digest_of(key)[:20]


def cached_array(
    kind: str,
    key: Mapping[str, object],
    shape: tuple[int, ...],
    dtype: DTypeLike,
    compute: Callable[[NDArray[Any]], None],
) -> NDArray[Any]:
    """Return an array that is computed once and memory-mapped ever after.

    Parameters
    ----------
    kind : str
        What it is, for the file's name, for example ``"orders"``.
    key : mapping
        Everything that determines the values: digest of the corpus, columns, tie rule, seed, format version.
    shape, dtype
        Of the array; no objects.
    compute : callable
        Fills the array it is given, which is a memory map of the shape.

    Returns
    -------
    ndarray
        A read-only memory map, C order.
    """
    folder = cache_home() / "arrays"
    path = folder / f"{kind}-{_short_digest({**key, 'shape': shape, 'dtype': np.dtype(dtype).str})}.npy"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            array = np.lib.format.open_memmap(temporary, mode="w+", dtype=np.dtype(dtype), shape=shape)
            compute(array)
            array.flush()
            del array
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))


def corpus_folder(name: str, key: Mapping[str, object]) -> Path:
    """Return the place of a converted corpus; it need not exist."""
    readable = re.sub(r"[^A-Za-z0-9.-]+", "-", name).strip("-.")[:60] or "corpus"
    return cache_home() / "corpora" / f"{readable}-{_short_digest(key)}"


def usage() -> dict[str, tuple[int, int]]:
    """Return for each folder in the cache how many things are in it and their bytes, those that are not ours too."""
    home = cache_home()
    kinds = {*KINDS, *(f.name for f in home.iterdir() if f.is_dir())} if home.is_dir() else set(KINDS)
    answer = {}
    for kind in sorted(kinds):
        folder = home / kind
        entries = [e for e in folder.iterdir() if not e.name.startswith(".")] if folder.is_dir() else []
        files = [f for e in entries for f in (e.rglob("*") if e.is_dir() else [e])]
        answer[kind] = (len(entries), sum(f.stat().st_size for f in files if f.is_file()))
    return answer


def clear() -> int:
    """Delete corpora and arrays, what a killed process left behind included; return the bytes freed."""
    freed = sum(usage()[kind][1] for kind in KINDS)
    for kind in KINDS:
        shutil.rmtree(cache_home() / kind, ignore_errors=True)
    (cache_home() / "known_files.json").unlink(missing_ok=True)
    return freed
