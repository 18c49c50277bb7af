"""The cache: folders under ``cache_home()`` whose content can be made again.

    corpora/<name>-<key>/    a corpus; the key is a digest of its arrays, so texts with equal arrays share a folder
        features.npy         float32, column-major, opened as a memory map
        documents.arrow      relevance, and document ids if there are any
        queries.arrow        query ids and first rows
        corpus.json          name, grades, names of features, and the options with which it was read
        text-<key>           empty: paths, sizes and times of a text with this content, and options for reading it
        corpus-<name>        empty: the name in the catalogue
    arrays/<kinds>-<key>/    orders and ranks of rankers, one .npy file for each

A folder is written under another name and renamed, so it is complete or absent. Its time is that of its last use; the
least recently used folders make room for new ones. Nothing is pickled.
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

from ltr_duel.core import InputError, arguments, cache_home, digest_of, handed_over, host, mapped
from ltr_duel.core import files as core_files
from ltr_duel.data.dataset import Dataset
from ltr_duel.data.text.dialects import sidecar_of
from ltr_duel.data.text.options import ReadOptions

KINDS = ("corpora", "arrays")
LIMIT = "LTR_DUEL_CACHE_GB"  # the environment variable

_FORMAT = 5  # increase it when a folder has other content, or the same text becomes other numbers
_DEFAULT_LIMIT = 30.0  # gigabytes
_NAME = re.compile(r"\.?[^.].*-[0-9a-f]{20}(\.[0-9a-f]{16}\.tmp)?")  # with a final part: not finished, or being deleted
_FIELDS = ("name", "grades", "sha256", "lower_is_better", "omitted", "feature_names")  # of a corpus, in corpus.json
_DAMAGE = (OSError, ValueError, KeyError, IndexError, TypeError, EOFError, MemoryError, RecursionError)


class Entry(NamedTuple):
    """One folder of the cache."""

    path: Path
    size: int  # bytes
    used: float  # seconds since the epoch


def text_key(files: Sequence[Path], options: ReadOptions) -> str:
    """Return the key of texts: it changes with their paths, sizes, times and the options. Raises `OSError`."""
    facts = []
    for file in (*files, *filter(None, map(sidecar_of, files))):
        status = file.stat()
        facts.append([str(file.resolve()), status.st_size, status.st_mtime_ns])
    return digest_of([facts, dataclasses.asdict(options), _FORMAT])[:20]


def find_corpus(mark: str) -> Path | None:
    """Return the folder with this mark: ``text-<key>`` or ``corpus-<name>``."""
    try:
        return next((path.parent for path in (cache_home() / "corpora").glob(f"*/{mark}")), None)
    except InputError:  # the user has no home folder
        return None


def keep_corpus(dataset: Dataset, mark: str, options: ReadOptions) -> Path:
    """Store a corpus, unless it is stored already; mark its folder and return it. Raises `InputError`."""
    key = digest_of([dataset.sha256, dataset.grades, dataset.lower_is_better, dataset.omitted, _FORMAT])[:20]
    corpora = cache_home() / "corpora"
    folder = next(corpora.glob(f"[!.]*-{key}"), None)
    if folder is None:
        readable = re.sub(r"[^A-Za-z0-9.-]+", "-", dataset.name).strip("-.")[:39] or "corpus"
        folder = corpora / f"{readable}-{key}"
        _make_room(dataset.features.nbytes)
        with core_files.replacing_folder(folder) as temporary:
            _write_corpus(temporary, dataset, options)
    with suppress(OSError):  # another process has just removed the folder, or the cache is read-only
        (folder / mark).touch()
    return folder


def is_corpus(path: str | Path) -> bool:
    """Return whether this folder contains a stored corpus."""
    try:
        return (arguments.as_path("a corpus", path) / "corpus.json").is_file()
    except OSError:  # no permission to read the folder
        return False


def open_corpus(folder: Path, asked: ReadOptions | None = None, *, part: bool = False) -> Dataset:
    """Open a stored corpus; its features are a read-only memory map.

    Raises `InputError` if a file is damaged, the options are others than those with which the text was read, or a
    ``part`` is asked for.
    """
    again = "remove this folder and read the text again"
    try:
        facts = json.loads((folder / "corpus.json").read_bytes())
        version, options = facts["format"], facts["options"]
    except _DAMAGE:
        raise InputError(f"{folder}: corpus.json cannot be read; {again}") from None
    if version != _FORMAT:
        raise InputError(f"{folder}: made by another version (format {version}); {again}")
    chosen = {} if asked is None else asked.chosen
    if part or any(options.get(key) != value for key, value in chosen.items()):
        made, wanted = (", ".join(f"{key} {value}" for key, value in how.items()) for how in (options, chosen))
        raise InputError(
            f"{folder}: this corpus was read with {made or 'no options'}, not with {wanted or 'a split or fold'}; to"
            " read it differently, give the path of its text"
        )
    try:
        features = np.asarray(np.load(folder / "features.npy", mmap_mode="r", allow_pickle=False))
        documents, queries = _read_arrow(folder / "documents.arrow"), _read_arrow(folder / "queries.arrow")
        dataset = Dataset(
            features=features,
            relevance=documents["relevance"],
            query_ptr=np.append(queries["first_row"], len(features)).astype(np.int64, casting="safe"),
            query_ids=queries["id"],
            doc_ids=documents.get("id"),
            **{field: facts[field] for field in _FIELDS} | {"feature_names": tuple(facts["feature_names"])},
        )
    except _DAMAGE as error:
        raise InputError(f"{folder}: a file is missing or damaged ({error}); {again}") from None
    _mark_used(folder)
    return dataset


def _write_corpus(folder: Path, dataset: Dataset, options: ReadOptions) -> None:
    with (folder / "features.npy").open("wb", buffering=0) as out:
        layout = {"descr": "<f4", "fortran_order": True, "shape": dataset.features.shape}
        np.lib.format.write_array_header_1_0(out, layout)
        for column in dataset.features.T:
            data = np.ascontiguousarray(column).data.cast("B")
            while data:
                data = data[out.write(data) :]
            mapped.release_pages(column)
    _write_arrow(folder / "documents.arrow", {"relevance": dataset.relevance, "id": dataset.doc_ids})
    _write_arrow(folder / "queries.arrow", {"id": dataset.query_ids, "first_row": dataset.query_ptr[:-1]})
    facts = {field: getattr(dataset, field) for field in _FIELDS}
    (folder / "corpus.json").write_text(json.dumps({"format": _FORMAT, **facts, "options": options.chosen}, indent=1))


def _write_arrow(path: Path, columns: dict[str, NDArray[Any] | None]) -> None:
    import pyarrow as pa

    table = pa.table({name: pa.array(column) for name, column in columns.items() if column is not None})
    with pa.OSFile(str(path), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table)


def _read_arrow(path: Path) -> dict[str, NDArray[Any]]:
    """Return the columns of a file: numbers without a copy, and strings as arrays."""
    import pyarrow as pa

    table = pa.ipc.open_file(pa.memory_map(str(path))).read_all().combine_chunks()
    columns = {name: table[name].chunk(0) for name in table.column_names}
    return {
        name: np.array(column.to_pylist(), np.str_) if pa.types.is_string(column.type) else column.to_numpy()
        for name, column in columns.items()
    }


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
    folder = cache_home() / "arrays" / f"{'-'.join(kinds)}-{digest_of(named)[:20]}"

    def opened() -> dict[str, NDArray[Any]]:
        maps = {kind: np.load(folder / f"{kind}.npy", mmap_mode="r", allow_pickle=False) for kind in kinds}
        _mark_used(folder)
        return {kind: np.asarray(array) for kind, array in maps.items()}

    if folder.is_dir():
        with suppress(*_DAMAGE):  # damaged, or just removed by another process
            return opened()
        remove(folder)
    with suppress(OSError, InputError):  # the disk is full, or another process has just removed the folder
        _make_room(sum(prod(shape) * np.dtype(dtype).itemsize for dtype, shape in kinds.values()))
        with core_files.replacing_folder(folder) as temporary:
            compute({kind: _new_file(temporary / f"{kind}.npy", *how) for kind, how in kinds.items()})
        return opened()
    arrays = {kind: mapped.new_array(shape, dtype) for kind, (dtype, shape) in kinds.items()}
    compute(arrays)
    return {kind: handed_over(array) for kind, array in arrays.items()}


def _new_file(path: Path, dtype: DTypeLike, shape: tuple[int, ...]) -> NDArray[Any]:
    array = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
    with path.open("rb+") as file:
        host.reserve(file.fileno(), path.stat().st_size)  # on a full disk, a write to a mapped file ends the process
    return array


def entries() -> list[Entry]:
    """Return all folders of the cache, also those of killed processes, the least recently used first."""
    found = []
    for kind in KINDS:
        with suppress(OSError):  # no such folder
            for path in filter(lambda path: _NAME.fullmatch(path.name), (cache_home() / kind).iterdir()):
                with suppress(OSError):  # another process has just removed the entry
                    size = sum(file.lstat().st_size for file in path.iterdir())
                    found.append(Entry(path, size, path.stat().st_mtime))
    return sorted(found, key=lambda entry: entry.used)


def limit() -> int:
    """Return the limit on the bytes of all entries: ``LTR_DUEL_CACHE_GB``, by default 30 GB."""
    text = os.environ.get(LIMIT) or str(_DEFAULT_LIMIT)
    with suppress(ValueError, OverflowError):
        if (size := int(float(text) * 1e9)) >= 0:
            return size
    raise InputError(f"{LIMIT} must be a number of gigabytes, 0 or more, not '{text}'")


def clear() -> int:
    """Delete all entries; return the number of freed bytes. Files with other names may be the user's, and stay."""
    freed = entries()
    for entry in freed:
        remove(entry.path)
    if stuck := [entry.path for entry in freed if entry.path.exists()]:
        raise InputError(f"{stuck[0]}: cannot be deleted, because a file is in use or the folder is read-only")
    return sum(entry.size for entry in freed)


def remove(path: Path) -> None:
    """Remove an entry in one step, so that no process finds it incomplete; existing memory maps stay readable.

    On Windows a mapped file cannot be removed, so the entry remains.
    """
    doomed = path.with_name(f".{path.name.lstrip('.')[:60]}.{secrets.token_hex(8)}.tmp")
    with suppress(OSError):
        path.rename(doomed)
        shutil.rmtree(doomed, ignore_errors=True)


def _make_room(size: int) -> None:
    """Remove the least recently used entries until ``size`` more bytes fit; raise `InputError` if they cannot."""
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


def _mark_used(folder: Path) -> None:
    with suppress(OSError):  # a read-only cache
        os.utime(folder)
