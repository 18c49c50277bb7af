"""Feature files become a converted corpus, once, in bounded memory.

pass 1  read: digest of the bytes, number of documents       (is it converted already?)
pass 2  read, parse on all cores, write each column's piece to its place in the file
then    fill NULL column by column, write the small tables, give the folder its name
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from pathlib import Path

import psutil

from ltr_duel.core import InputError, arguments, parallel, progress
from ltr_duel.core import files as core_files
from ltr_duel.data.store.cache import corpus_folder, known_digest, remember_digest
from ltr_duel.data.store.converted import FEATURES, FORMAT, is_converted, write_tables
from ltr_duel.data.store.folders import default_name, feature_files
from ltr_duel.data.text import chunks
from ltr_duel.data.text.dialects import sidecar_of
from ltr_duel.data.text.feature_buffers import FileBuffer
from ltr_duel.data.text.options import ReadOptions
from ltr_duel.data.text.reading import Naming, read_files
from ltr_duel.data.text.scan import count_documents

_LEAST_BUFFERS = 8 * 2**20


def convert(
    path: str | Path,
    options: ReadOptions | None = None,
    *,
    naming: Naming | None = None,
    split: str | None = None,
    fold: int | None = None,
    jobs: int = -1,
    memory: int | None = None,
) -> Path:
    """Convert a corpus, unless that has been done; `load_dataset` opens what was converted.

    Parameters
    ----------
    path, split, fold
        As for `load_dataset`.
    options : ReadOptions, optional
        How to read.
    naming : Naming, optional
        Name, grades and names of features; default: as `load_dataset` finds them.
    jobs : int
        Threads, -1 for all cores.
    memory : int, optional
        Bytes of resident memory that the process stays below. The matrix need not fit.

    Returns
    -------
    Path
        The folder, to be opened with `open_converted`.

    Raises
    ------
    InputError
        If something breaks the format, ``memory`` is too little, or the cache cannot be written to; nothing is left
        behind.

    Examples
    --------
    >>> import tempfile, unittest.mock
    >>> from ltr_duel.data import make_corpus, open_converted, write_svmlight
    >>> with tempfile.TemporaryDirectory() as home, unittest.mock.patch.dict("os.environ", LTR_DUEL_HOME=home):
    ...     file = write_svmlight(make_corpus(queries=2, features=3), Path(home) / "corpus.txt")
    ...     open_converted(convert(file))
    <Dataset corpus: 2 queries, 142 documents, 3 features, grades 0..4>
    """
    path = arguments.as_path("a corpus", path)
    options = options or ReadOptions()
    files = feature_files(path, split, fold)
    naming = naming or Naming(default_name(path, split, fold))
    workers = parallel.checked_jobs(jobs)
    size = _chunk_bytes(workers, memory)
    total = sum(file.stat().st_size for file in files)
    with (
        progress.progress_bar(total=2 * total, unit="B", unit_scale=True, desc="convert") as bar,
        chunks.FileDigest(workers, bar) as digest,
        chunks.FileDigest(workers, bar) as again,
    ):
        documents = 0
        for file in files:
            for chunk in chunks.read_chunks(file, digest, chunks.ChunkSize(size), options.limit_bytes):
                documents += count_documents(chunk.text)
            digest.end_file()
        folder = corpus_folder(naming.name, content_key(files, digest.hexdigest(), options))
        if is_converted(folder):
            remember_digest(files, digest.hexdigest())
            return folder
        with core_files.replacing_folder(folder) as temporary:
            buffer = FileBuffer(temporary / FEATURES, documents, options.limit_bytes)
            try:
                dataset, part_starts = read_files(files, options, buffer, naming, again, workers, size)
            except OSError as error:
                raise InputError(f"{folder}: cannot be written ({error.strerror})") from None
            finally:
                buffer.close()
            if again.hexdigest() != digest.hexdigest():
                raise InputError(f"{path}: the files changed while they were read; convert them again")
            write_tables(
                temporary,
                dataset,
                {
                    "corpus": naming.corpus,
                    "options": _kept(options),
                    "parts": [
                        {"file": str(file.resolve()), "first_query": first, "sha256": sha256}
                        for file, first, sha256 in zip(files, part_starts, digest.files, strict=True)
                    ],
                },
            )
            del dataset
    remember_digest(files, digest.hexdigest())
    return folder


def find_converted(path: Path, options: ReadOptions, split: str | None = None, fold: int | None = None) -> Path | None:
    """Return the converted corpus of a path whose files have not changed since, or None. Reads no feature text."""
    try:
        files = feature_files(path, split, fold)
    except InputError:
        return None
    digest = known_digest(files)
    if digest is None:
        return None
    folder = corpus_folder(default_name(path, split, fold), content_key(files, digest, options))
    ending = folder.name.rpartition("-")[2]
    return next((f for f in folder.parent.glob(f"*-{ending}") if is_converted(f)), None)


def content_key(files: Sequence[Path], digest: str, options: ReadOptions) -> dict[str, object]:
    """Return everything that determines the converted numbers."""
    sidecars = [sidecar.read_bytes() for file in files if (sidecar := sidecar_of(file))]
    return {
        "sha256": digest,
        "sizes": [file.stat().st_size for file in files],
        "sidecars": hashlib.sha256(b"\0".join(sidecars)).hexdigest() if sidecars else None,
        "format": FORMAT,
        **_kept(options),
    }


def _kept(options: ReadOptions) -> dict[str, object]:
    """Return the options that a converted corpus depends on: all but the limit."""
    return {key: value for key, value in dataclasses.asdict(options).items() if key != "limit"}


def _chunk_bytes(workers: int, memory: int | None) -> int:
    """Return how much text to take at a time, so that text and numbers of all chunks on the way fit."""
    if memory is None:
        return chunks.CHUNK_BYTES
    used = psutil.Process().memory_info().rss
    room = memory - used
    if room < _LEAST_BUFFERS:
        least = (used + _LEAST_BUFFERS) // 2**20 + 1
        raise InputError(f"--memory {memory / 2**20:.0f} MB is too little; the least that works here is {least} MB")
    return int(min(chunks.CHUNK_BYTES, room / (6 * (workers + 3))))
