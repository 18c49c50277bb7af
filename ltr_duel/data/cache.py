"""Store corpora and orders of rankers on disk (the cache), so that they are read or computed only once.

    corpora/<name>-<key>/    a corpus; the key is a digest of its arrays, so files with the same content share a folder
        <array>.npy          columns (features), relevance, query_ptr, query_ids, doc_ids (if there are any)
        corpus.json          name, grades, names of features, ...
        text-<key>           an empty file; the key is a digest of the paths, sizes, times and options of a text
        corpus-<name>        an empty file, named after the corpus in the catalogue
    arrays/<kinds>-<key>/    orders and ranks of rankers, one .npy file for each

A folder is written under a temporary name and then renamed, so it is always complete. If there is no room for a new
folder, the folders that were not used for the longest time are deleted.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ltr_duel.core import InputError, cache_home, digest_of, handed_over, host, mapped
from ltr_duel.core import files as core_files
from ltr_duel.data.dataset import Dataset
from ltr_duel.data.text.dialects import sidecar_of
from ltr_duel.data.text.options import ReadOptions

LIMIT = "LTR_DUEL_CACHE_GB"  # the environment variable

Arrays = dict[str, NDArray[Any]]
Kinds = Mapping[str, tuple[DTypeLike, tuple[int, ...]]]  # numeric type and shape of each array, by the name of its file

_FORMAT = 6  # increase it when a folder has other content, or the same text becomes other numbers
_NAME = re.compile(r"\.?[^.].*-[0-9a-f]{20}(\.[0-9a-f]{16}\.tmp)?")  # .tmp: being written, or being deleted
_FACTS = ("name", "grades", "sha256", "lower_is_better", "omits", "feature_names")  # of a corpus, in corpus.json
_DAMAGE = (OSError, ValueError, KeyError, TypeError, EOFError, MemoryError, RecursionError)


class Entry(NamedTuple):
    """One folder of the cache."""

    path: Path
    size: int  # bytes
    used: float  # time of the last use, in seconds since the epoch


def text_key(files: Sequence[Path], options: ReadOptions) -> str:
    """Return a digest of the paths, sizes and times of files, and of the options for reading."""
    facts = []
    for file in (*files, *filter(None, map(sidecar_of, files))):
        status = file.stat()
        facts.append([str(file.resolve()), status.st_size, status.st_mtime_ns])
    return digest_of([facts, dataclasses.asdict(options), _FORMAT])[:20]


def find_corpus(mark: str) -> Path | None:
    """Return the folder of the cache that contains a file with the name ``mark``, or None."""
    with suppress(InputError):  # the user has no home folder
        return next((path.parent for path in (cache_home() / "corpora").glob(f"*/{mark}")), None)
    return None


def keep_corpus(dataset: Dataset, mark: str) -> Path:
    """Store a corpus if it is not stored yet, add the file ``mark``, and return its folder. Raises `InputError`."""
    key = digest_of([dataset.sha256, dataset.grades, dataset.lower_is_better, dataset.omits, _FORMAT])[:20]
    corpora = cache_home() / "corpora"
    folder = next(corpora.glob(f"[!.]*-{key}"), None)
    if folder is None:
        readable = re.sub(r"[^A-Za-z0-9.-]+", "-", dataset.name).strip("-.")[:39] or "corpus"
        folder = corpora / f"{readable}-{key}"
        arrays = {name: getattr(dataset, name) for name in ("relevance", "query_ptr", "query_ids", "doc_ids")}
        arrays = {"columns": dataset.features.T} | {name: array for name, array in arrays.items() if array is not None}

        def copy(files: Arrays) -> None:
            for column, values in zip(files["columns"], arrays["columns"], strict=True):
                column[:] = values
                mapped.release_pages(column)
                mapped.release_pages(values)
            for name in files.keys() - {"columns"}:
                files[name][:] = arrays[name]

        facts = {name: getattr(dataset, name) for name in _FACTS}
        _write(folder, {name: (array.dtype, array.shape) for name, array in arrays.items()}, copy, facts)
    with suppress(OSError):  # another process has just removed the folder, or the cache is read-only
        (folder / mark).touch()
    return folder


def is_corpus(path: Path) -> bool:
    """Return whether this folder contains a stored corpus."""
    with suppress(OSError):  # no permission to read the folder
        return (path / "corpus.json").is_file()
    return False


def open_corpus(folder: Path) -> Dataset:
    """Open a stored corpus, with read-only memory maps as arrays. Raises `InputError` if a file is damaged."""
    try:
        facts = json.loads((folder / "corpus.json").read_bytes())
        if facts["format"] == _FORMAT:
            arrays = _read(folder, [file.stem for file in folder.glob("*.npy")])
            facts["feature_names"] = tuple(facts["feature_names"])
            fields: dict[str, Any] = {"doc_ids": None, **arrays, **{name: facts[name] for name in _FACTS}}
            return Dataset(fields.pop("columns").T, **fields)
    except _DAMAGE as error:
        raise InputError(f"{folder}: damaged ({error}); remove this folder and read the text again") from None
    raise InputError(f"{folder}: made by another version; remove this folder and read the text again")


def cached_arrays(key: Mapping[str, object] | None, kinds: Kinds, compute: Callable[[Arrays], None]) -> Arrays:
    """Return read-only arrays. The first call computes and stores them, and later calls read them.

    key: all facts that determine the values. If the key is None, the arrays are not stored.
    """
    if key is not None:
        named = {**key, "kinds": {kind: (np.dtype(dtype).str, shape) for kind, (dtype, shape) in kinds.items()}}
        folder = cache_home() / "arrays" / f"{'-'.join(kinds)}-{digest_of(named)[:20]}"
        if folder.is_dir():
            with suppress(*_DAMAGE):  # damaged, or just removed by another process
                return _read(folder, kinds)
            remove(folder)
        with suppress(OSError, InputError):  # the disk is full, or another process has just removed the folder
            _write(folder, kinds, compute)
            return _read(folder, kinds)
    arrays = {kind: mapped.new_array(shape, dtype) for kind, (dtype, shape) in kinds.items()}
    compute(arrays)
    return {kind: handed_over(array) for kind, array in arrays.items()}


def _write(folder: Path, kinds: Kinds, fill: Callable[[Arrays], None], facts: Mapping[str, Any] | None = None) -> None:
    _make_room(sum(prod(shape) * np.dtype(dtype).itemsize for dtype, shape in kinds.values()))
    with core_files.replacing_folder(folder) as temporary:
        arrays: Arrays = {}
        for name, (dtype, shape) in kinds.items():
            path = temporary / f"{name}.npy"
            arrays[name] = np.lib.format.open_memmap(path, mode="w+", dtype=np.dtype(dtype), shape=shape)
            with path.open("rb+") as file:  # reserve the room: on a full disk, a mapped file would end the process
                host.reserve(file.fileno(), path.stat().st_size)
        fill(arrays)
        if facts:
            (temporary / "corpus.json").write_text(json.dumps({"format": _FORMAT, **facts}, indent=1))


def _read(folder: Path, names: Sequence[str] | Kinds) -> Arrays:
    maps = {name: np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False) for name in names}
    with suppress(OSError):  # a read-only cache
        os.utime(folder)  # the time of the last use
    return {name: np.asarray(array) for name, array in maps.items()}


def entries() -> list[Entry]:
    """Return all folders of the cache, also unfinished folders, the least recently used first."""
    folders = []
    for path in (path for kind in ("corpora", "arrays") for path in (cache_home() / kind).glob("*")):
        if _NAME.fullmatch(path.name):
            with suppress(OSError):  # another process has just removed the folder
                size = sum(file.lstat().st_size for file in path.iterdir())
                folders.append(Entry(path, size, path.stat().st_mtime))
    return sorted(folders, key=lambda entry: entry.used)


def limit() -> int:
    """Return the largest size of the cache in bytes, by default 30 GB."""
    text = os.environ.get(LIMIT) or "30"
    with suppress(ValueError, OverflowError):
        if (size := int(float(text) * 1e9)) >= 0:
            return size
    raise InputError(f"{LIMIT} must be a number of gigabytes, 0 or more, not '{text}'")


def clear() -> int:
    """Delete all entries, and return the number of freed bytes. Files of other programs are kept."""
    freed = entries()
    for entry in freed:
        remove(entry.path)
    if stuck := [entry.path for entry in freed if entry.path.exists()]:
        raise InputError(f"{stuck[0]}: cannot be deleted, because a file is in use or the folder is read-only")
    return sum(entry.size for entry in freed)


def remove(path: Path) -> None:
    """Remove an entry. It is renamed first, so that no process finds an incomplete entry."""
    doomed = path.with_name(f".{path.name.lstrip('.')[:60]}.{secrets.token_hex(8)}.tmp")
    with suppress(OSError):  # on Windows a mapped file cannot be removed
        path.rename(doomed)
        shutil.rmtree(doomed, ignore_errors=True)


def _make_room(size: int) -> None:
    """Remove the least recently used entries until ``size`` more bytes fit."""
    home, most, used = cache_home(), limit(), entries()
    with core_files.named_errors(home):
        home.mkdir(parents=True, exist_ok=True)
    if size > most or 2 * size > shutil.disk_usage(home).free:
        why = f"the limit of the cache, {LIMIT}" if size > most else "half of the free disk"
        raise InputError(f"{home}: {size / 1e9:,.3g} GB is more than {why}")
    total = sum(entry.size for entry in used)
    for entry in used:
        if total + size <= most:
            break
        remove(entry.path)
        total -= entry.size
