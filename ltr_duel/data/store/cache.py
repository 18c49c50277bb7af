"""Where converted corpora and computed arrays are kept, under ``cache_home()``.

corpora/<name>-<key>/    see `converted`; the key is a digest of the content, the options and the format
arrays/<kind>-<key>.npy  arrays computed once from a corpus, such as orders of rankers
known_files.json         which file had which digest when it was last read: opening what was converted from it need not
                         read it again. A file counts as unchanged if its size, its inode and its times of modification
                         and of change are the same.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ltr_duel.core import cache_home
from ltr_duel.core import digest as core_digest
from ltr_duel.core import files as core_files

KINDS = ("corpora", "arrays")
_KNOWN_FILES = "known_files.json"
_MOST_KNOWN = 1000  # entries kept, the newest


def cached_arrays(
    key: Mapping[str, object],
    dtypes: Mapping[str, DTypeLike],
    shape: tuple[int, ...],
    compute: Callable[[dict[str, NDArray[Any]]], None],
) -> dict[str, NDArray[Any]]:
    """Return arrays that are computed once, together, and memory-mapped ever after.

    Parameters
    ----------
    key : mapping
        Everything that determines the values: digest of the corpus, columns, tie rule, seed, format version.
    dtypes : mapping of str to dtype
        What the arrays are, for the names of the files, for example ``"orders"``; no objects.
    shape : tuple of int
        Of each array.
    compute : callable
        Fills the arrays it is given, which are memory maps.

    Returns
    -------
    dict of str to ndarray
        Read-only memory maps, C order.
    """
    folder = cache_home() / "arrays"
    paths = {
        kind: folder / f"{kind}-{_short({**key, 'shape': shape, 'dtype': np.dtype(dtype).str})}.npy"
        for kind, dtype in dtypes.items()
    }
    try:
        return _mapped(paths)
    except (OSError, ValueError, EOFError):  # not there, or cut short
        pass
    with ExitStack() as stack:
        made = {}
        for kind, path in paths.items():
            temporary = stack.enter_context(core_files.replacing(path))
            made[kind] = np.lib.format.open_memmap(temporary, mode="w+", dtype=np.dtype(dtypes[kind]), shape=shape)
        compute({**made})
        for array in made.values():
            array.flush()
        del array, made
    return _mapped(paths)


def _mapped(paths: Mapping[str, Path]) -> dict[str, NDArray[Any]]:
    return {kind: np.asarray(np.load(path, mmap_mode="r", allow_pickle=False)) for kind, path in paths.items()}


def corpus_folder(name: str, key: Mapping[str, object]) -> Path:
    """Return the place of a converted corpus; it need not exist."""
    readable = re.sub(r"[^A-Za-z0-9.-]+", "-", name).strip("-.")[:60] or "corpus"
    return cache_home() / "corpora" / f"{readable}-{_short(key)}"


def usage() -> dict[str, tuple[int, int]]:
    """Return for each folder in the cache, ours or not, how many entries it has and their bytes."""
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
    (cache_home() / _KNOWN_FILES).unlink(missing_ok=True)
    return freed


def known_digest(files: Sequence[Path]) -> str | None:
    """Return the digest of these files, in this order, or None if they are unknown or have changed."""
    try:
        return _known_files().get(_signature(files))
    except OSError:
        return None


def remember_digest(files: Sequence[Path], digest: str) -> None:
    """Keep the digest of files that were just read."""
    known = dict([*_known_files().items(), (_signature(files), digest)][-_MOST_KNOWN:])
    with core_files.replacing(cache_home() / _KNOWN_FILES) as temporary:
        temporary.write_text(json.dumps(known, indent=1))


def _known_files() -> dict[str, str]:
    try:
        known = json.loads((cache_home() / _KNOWN_FILES).read_text())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _signature(files: Sequence[Path]) -> str:
    facts = []
    for file in files:
        s = file.stat()
        facts.append(f"{file.resolve()}|{s.st_size}|{s.st_ino}|{s.st_mtime_ns}|{s.st_ctime_ns}")
    return "\n".join(facts)


def _short(key: Mapping[str, object]) -> str:
    return core_digest.digest_of(key)[:20]
