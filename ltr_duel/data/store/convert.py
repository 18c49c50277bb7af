"""Convert feature files to a corpus on disk, in bounded memory.

pass 1  digest the files; if a conversion of these bytes exists, return it; read the text and count the documents
pass 2  read the text again, parse it on all cores, write each column's piece to its position in the file
then    replace NULL values column by column, write the small tables, rename the folder
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from pathlib import Path

import psutil

from ltr_duel.core import InputError, arguments, parallel, progress
from ltr_duel.data.dataset import Dataset
from ltr_duel.data.store.cache import corpus_folder
from ltr_duel.data.store.converted import FEATURES, FORMAT, is_converted, write_features, write_tables
from ltr_duel.data.store.entries import is_sound, keep, make_room, new_entry, remove
from ltr_duel.data.store.folders import default_name, feature_files
from ltr_duel.data.store.known_files import Identity, digest_of_files, identity_of, known_digest, remember_digest
from ltr_duel.data.text import chunks
from ltr_duel.data.text.dialects import sidecar_of
from ltr_duel.data.text.feature_buffers import FileBuffer
from ltr_duel.data.text.options import ReadOptions
from ltr_duel.data.text.reading import NUMBERS, Naming, Part, read_files
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
    """Convert a corpus unless it has already been converted; `load_dataset` opens converted corpora.

    Parameters
    ----------
    path, split, fold
        As for `load_dataset`.
    options : ReadOptions, optional
        Options for reading.
    naming : Naming, optional
        Name of the corpus, number of grades and feature names; by default as in `load_dataset`.
    jobs : int
        Number of threads, -1 for all cores.
    memory : int, optional
        Limit on the resident memory of the process, in bytes. The feature matrix may be larger than this limit.

    Returns
    -------
    Path
        The folder, for `open_converted`.

    Raises
    ------
    InputError
        If a file violates the format, ``memory`` is too small, or the cache cannot be written to. No partial result
        remains.

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
    try:
        identity = identity_of(files)
    except OSError as error:
        raise InputError(f"{error.filename}: cannot be read: {error.strerror}") from None
    size = _chunk_bytes(workers, memory)
    known = known_digest(files)
    if known and is_sound(folder := corpus_folder(naming.name, content_key(files, known, options))):
        keep(folder)
        return folder
    digest = known or digest_of_files(files)
    folder = corpus_folder(naming.name, content_key(files, digest, options))
    if is_sound(folder):
        keep(folder)
        remember_digest(identity, digest)
        return folder
    documents = 0
    with progress.progress_bar(unit="B", unit_scale=True, desc="convert") as bar:
        for file in files:
            for chunk in chunks.read_chunks(file, chunks.ChunkSize(size), options.limit_bytes):
                documents += count_documents(chunk.text)
                bar.update(len(chunk.text))
    with new_entry(folder) as temporary:
        buffer = FileBuffer(temporary / FEATURES, documents, options.limit_bytes)
        try:
            dataset, parts = read_files(files, options, buffer, naming, workers, size)
        except OSError as error:
            raise InputError(f"{folder}: cannot be written ({error.strerror})") from None
        finally:
            buffer.close()
        if identity_of(files) != identity:
            raise InputError(f"{path}: the files changed while they were read; convert them again")
        write_tables(temporary, dataset, _provenance(naming, options, files, parts))
        del dataset
    keep(folder)
    remember_digest(identity, digest)
    return folder


def keep_read(
    dataset: Dataset,
    files: Sequence[Path],
    options: ReadOptions,
    parts: Sequence[Part],
    identity: Identity,
) -> Path | None:
    """Cache a corpus that was just read; return its folder, or None if the files changed or the cache is too small."""
    if not make_room(dataset.features.nbytes):
        return None
    try:
        digest = digest_of_files(files)
        folder = corpus_folder(dataset.name, content_key(files, digest, options))
        if identity_of(files) != identity:
            return None
        with new_entry(folder) as temporary:
            write_features(temporary, dataset.features)
            write_tables(temporary, dataset, _provenance(Naming(dataset.name), options, files, parts))
        remember_digest(identity, digest)
    except (InputError, OSError):  # the corpus is usable without the cache
        return None
    return folder


def find_converted(files: Sequence[Path], options: ReadOptions) -> Path | None:
    """Return the folder converted or cached from these files, if they are unchanged; remove damaged folders."""
    digest = known_digest(files)
    if digest is None:
        return None
    folder = corpus_folder("", content_key(files, digest, options))
    ending = folder.name.rpartition("-")[2]
    for found in filter(is_converted, folder.parent.glob(f"*-{ending}")):
        if is_sound(found):
            return found
        remove(found)
    return None


def content_key(files: Sequence[Path], digest: str, options: ReadOptions) -> dict[str, object]:
    """Return all facts that determine the converted numbers."""
    sidecars = [sidecar.read_bytes() for file in files if (sidecar := sidecar_of(file))]
    return {
        "sha256": digest,
        "sizes": [file.stat().st_size for file in files],
        "sidecars": hashlib.sha256(b"\0".join(sidecars)).hexdigest() if sidecars else None,
        "format": FORMAT,
        "numbers": NUMBERS,
        **_kept(options),
    }


def _provenance(
    naming: Naming, options: ReadOptions, files: Sequence[Path], parts: Sequence[Part]
) -> dict[str, object]:
    """Return the origin of a corpus."""
    made_of = [{"file": str(file.resolve()), **part._asdict()} for file, part in zip(files, parts, strict=True)]
    return {
        "corpus": naming.corpus, "declared_grades": naming.grades, "options": _kept(options), "parts": made_of,
    }  # fmt: skip


def _kept(options: ReadOptions) -> dict[str, object]:
    """Return the options that affect a converted corpus: all except the limit."""
    return {key: value for key, value in dataclasses.asdict(options).items() if key != "limit"}


def _chunk_bytes(workers: int, memory: int | None) -> int:
    """Return the bytes of text per chunk such that the process, with all its chunks, uses at most ``memory`` bytes."""
    if memory is None:
        return chunks.CHUNK_BYTES
    used = psutil.Process().memory_info().rss
    room = memory - used
    if room < _LEAST_BUFFERS:
        least = (used + _LEAST_BUFFERS) // 2**20 + 1
        raise InputError(f"memory {memory / 2**20:.0f} MB is too small; at least {least} MB is needed here")
    return int(min(chunks.CHUNK_BYTES, room / (6 * (workers + 3))))
