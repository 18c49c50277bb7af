"""Get a public corpus: show its terms, download and unpack its archive, read the files, and store the corpus."""

from __future__ import annotations

import gzip
import hashlib
import logging
import lzma
import shutil
import subprocess
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ltr_duel.core import InputError, progress, texts
from ltr_duel.core import files as core_files
from ltr_duel.data.cache import keep_corpus
from ltr_duel.data.catalogue import Corpus
from ltr_duel.data.folders import default_name, feature_files
from ltr_duel.data.load import load_dataset
from ltr_duel.data.text.chunks import refuse_web_page

RETRIES = 4
_UNRAR = {  # programs that unpack rar, with their arguments
    "unrar": "x -idq -o+ {archive} {folder}/",
    "unar": "-quiet -force-overwrite -no-directory -output-directory {folder} {archive}",
    "7z": "x -y -bd -o{folder} {archive}",
    "bsdtar": "-x -f {archive} -C {folder}",
}
_DAMAGED = (
    zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error, lzma.LZMAError, RuntimeError,
)  # fmt: skip


def fetch(
    corpus: Corpus,
    *,
    accept_terms: bool = False,
    archive: Path | None = None,
    folder: Path | None = None,
    urls: Sequence[str] = (),
    split: str | None = None,
    fold: int | None = None,
    reading: Mapping[str, Any],
    report: Callable[[str], object] = print,
) -> Path:
    """Get a public corpus, store it in the cache, and return its folder there.

    archive: the archive, if the user has it. By default, it is downloaded, unless an earlier call has unpacked it.
    folder: where the archive and its files are stored, by default ``corpora/<name>``.
    urls: addresses that are tried before the addresses of the catalogue.
    reading: options that replace the options of the catalogue.
    report: a function that is called with a line of text for each step.
    """
    report(f"{corpus.title}\n  licence  {corpus.licence}\n  terms    {corpus.terms_url}")
    if not accept_terms:
        raise InputError("read the terms above; if you accept them, run this again with --accept-terms")
    options = corpus.reading(**reading)
    folder = folder or Path("corpora") / corpus.name
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: this is a file, but a folder for the archive and its files is needed")
    unpacked = folder / "unpacked"
    if is_new := bool(archive) or not unpacked.is_dir():
        source = _checked(archive, corpus) if archive else download(corpus, (*urls, *corpus.urls), folder)
        report(f"unpack   {source}")
        shutil.rmtree(unpacked, ignore_errors=True)
        unpack(source, unpacked)
    try:
        name = default_name(Path(corpus.name), split, fold)
        grades = corpus.grades if options.labels == corpus.labels else None
        part = _part_to_read(unpacked, corpus)
        dataset = load_dataset(part, name=name, split=split, fold=fold, grades=grades, **vars(options))
    except InputError:
        if is_new:  # otherwise the next call would use these files
            shutil.rmtree(unpacked)
            with suppress(OSError):  # not empty
                folder.rmdir()
        raise
    stored = keep_corpus(dataset, f"corpus-{corpus.name}" if split is None and fold is None else "part")
    report(f"stored   {stored}: {dataset.n_queries:,} queries, {dataset.n_docs:,} documents")
    return stored


def _part_to_read(folder: Path, corpus: Corpus) -> Path:
    folders = [folder, *sorted((p for p in folder.rglob("*") if p.is_dir()), key=lambda p: (len(p.parts), p))]
    for path in (*(p / corpus.main_part for p in folders if corpus.main_part), *folders, *folder.glob("*")):
        try:
            feature_files(path)
        except InputError:
            continue
        return path
    raise InputError(f"{folder}: no feature files found; is this the archive of {corpus.title}?")


def download(corpus: Corpus, urls: Sequence[str], folder: Path) -> Path:
    """Download the archive of a corpus from the first address that works, if this was not done before."""
    import pooch

    manually = f"{corpus.obtain}; then: --accept-terms --archive {corpus.archive}"
    if not urls:
        raise InputError(f"this corpus cannot be downloaded automatically. {manually}")
    pooch.get_logger().setLevel(logging.WARNING)
    registry, failures = {corpus.archive: corpus.digest or None}, []
    for url in urls:
        files = pooch.create(folder, "", registry=registry, urls={corpus.archive: url}, retry_if_failed=RETRIES)
        with progress.progress_bar(total=1, unit="B", unit_scale=True, desc=corpus.archive) as bar:
            transfer = pooch.HTTPDownloader(progressbar=bar, chunk_size=2**20, timeout=30)
            try:
                return Path(files.fetch(corpus.archive, downloader=transfer))
            except (OSError, ValueError) as error:  # OSError: of the network too; ValueError: another digest
                cause = getattr((*error.args, None)[0], "reason", None)  # of a failed connection
                failures.append(f"{url}: {str(cause).rpartition(': ')[2] if cause else ' '.join(str(error).split())}")
    with suppress(OSError):  # not empty
        folder.rmdir()
    raise InputError(f"{corpus.archive} could not be downloaded; {'; '.join(failures)}. To do it manually: {manually}")


def _checked(archive: Path, corpus: Corpus) -> Path:
    """Check that the user's archive is the published archive, and return its path."""
    if not archive.is_file():
        raise InputError(f"{archive}: there is no such file")
    kind, _, expected = corpus.digest.partition(":")
    with archive.open("rb") as source:
        if kind and (digest := hashlib.file_digest(source, kind).hexdigest()) != expected:
            raise InputError(f"{archive}: its {kind} is {digest}, not the published {expected}; get it again")
    return archive


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a zip, tar (also compressed) or rar file into a new folder. A file with feature text is copied.

    The folder appears only when everything is unpacked. An archive cannot write files outside of the folder.
    """
    with core_files.reading(archive, "an archive") as raw:
        head = raw.read(512)
    refuse_web_page(archive, head)
    with core_files.replacing_folder(folder) as temporary:
        try:
            if head.startswith(b"Rar!"):
                _unpack_rar(archive, temporary)
            elif head.startswith(b"PK"):
                with zipfile.ZipFile(archive) as zipped:
                    zipped.extractall(temporary)
            elif tarfile.is_tarfile(archive):
                with tarfile.open(archive) as tarred:
                    tarred.extraction_filter = getattr(tarfile, "data_filter", lambda member, path: member)
                    tarred.extractall(temporary)  # Python 3.11.3 and older have no filters
            else:
                with core_files.reading(archive, "an archive") as raw:
                    first = texts.unpacked(archive, raw).peek(1)[:1]
                if not first or first not in b"0123456789-#":
                    raise InputError(f"{archive}: this is neither zip, tar nor rar, or it is cut short; get it again")
                shutil.copyfile(archive, temporary / archive.name)
        except _DAMAGED as error:
            raise InputError(f"{archive}: the archive is damaged or cut short ({error}); get it again") from None
        if not any(temporary.iterdir()):
            raise InputError(f"{archive}: the archive is empty")


def _unpack_rar(archive: Path, folder: Path) -> None:
    program = next(filter(shutil.which, _UNRAR), None)
    if program is None:
        raise InputError(f"{archive}: to unpack rar, one of these programs must be installed: {', '.join(_UNRAR)}")
    words = [word.format(archive=archive.resolve(), folder=folder) for word in _UNRAR[program].split()]
    done = subprocess.run([program, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    if done.returncode:
        why = (done.stderr or done.stdout).strip()[:200] or done.returncode
        raise InputError(f"{archive}: {program} cannot unpack it ({why})")
