"""Get a corpus: show its terms, then download, verify, unpack, check and convert it."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ltr_duel.core import InputError
from ltr_duel.core import digest as core_digest
from ltr_duel.data.corpora.check import check_file, expected_digests
from ltr_duel.data.corpora.corpus import Archive, Corpus
from ltr_duel.data.corpora.download import download
from ltr_duel.data.corpora.unpack import unpack
from ltr_duel.data.store.convert import convert
from ltr_duel.data.store.folders import default_name, feature_files
from ltr_duel.data.text.options import ReadOptions
from ltr_duel.data.text.reading import Naming

_UNPACKED = "unpacked-"  # beginning of the name of a folder with an unpacked archive


@dataclass(frozen=True)
class FetchOptions:
    """The user's decisions about fetching a corpus."""

    accept_terms: bool = False  # whether the user has read and accepts the terms
    archive: Path | None = None  # the archive, if downloaded manually
    folder: Path | None = None  # folder for the archive and its unpacked files; default: ``corpora/<name>``
    urls: tuple[str, ...] = ()  # other addresses of the archive, tried first
    split: str | None = None
    fold: int | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)


def fetch(corpus: Corpus, options: FetchOptions, report: Callable[[str], object] = print) -> Path:
    """Get a corpus, convert it and return the folder of the conversion.

    Earlier downloads and unpacked files of the same archive are reused; unpacked files of other archives are removed.
    ``report`` is called with a line of text for each step.
    """
    report(f"{corpus.title}\n  licence  {corpus.licence}\n  terms    {corpus.terms_url}")
    if not options.accept_terms:
        raise InputError("read the terms above; if you accept them, run this again with --accept-terms")
    reading, split, fold = corpus.reading(**options.reading), options.split, options.fold
    folder = options.folder or Path("corpora") / corpus.name
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: this is a file, but a folder for the archive and its files is needed")
    with _left_as_it_was(folder, options.archive):
        unpacked = _unpacked(corpus, options, folder, report)
        part = locate(unpacked, corpus)
        for file in feature_files(part, split, fold):
            report(f"check    {file}: {_checked(file, corpus, reading)}")
    for other in _unpacked_before(folder):
        if other != unpacked:
            shutil.rmtree(other)
    name = default_name(Path(corpus.name), split, fold) if split or fold else corpus.name
    naming = Naming(name, corpus.grades_read(reading), None, corpus.name)
    converted = convert(part, reading, naming=naming, split=split, fold=fold)
    how = reading.as_typed
    report(f"convert  {converted}{how and ', read with ' + how}")
    return converted


@contextmanager
def _left_as_it_was(folder: Path, archive: Path | None) -> Iterator[None]:
    """After an error, remove the folder if it is new and empty; after an `InputError`, also remove new unpacked files.

    The message of the `InputError` then names the archive instead of the removed files' folder.
    """
    was_there, before = folder.exists(), _unpacked_before(folder)
    try:
        yield
    except BaseException as error:
        new = [one for one in _unpacked_before(folder) if one not in before]
        if isinstance(error, InputError):
            for one in new:
                shutil.rmtree(one)
        if not was_there:
            with suppress(OSError):
                folder.rmdir()
        if isinstance(error, InputError) and new:
            raise InputError(str(error).replace(f"{new[0]}{os.sep}", f"{archive or 'the archive'}: ", 1)) from None
        raise


def _unpacked_before(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"{_UNPACKED}*"))


def _unpacked(corpus: Corpus, options: FetchOptions, folder: Path, report: Callable[[str], object]) -> Path:
    """Return the folder with the unpacked archive; its name contains the archive's digest.

    If the user gives no archive, and earlier calls left exactly one such folder, that folder is returned.
    """
    before = _unpacked_before(folder)
    if options.archive is None and len(before) == 1:
        return before[0]
    archive = _archive(corpus, options, folder)
    unpacked = folder / f"{_UNPACKED}{core_digest.sha256_file(archive)[:16]}"
    if not unpacked.is_dir():
        report(f"unpack   {archive}")
        unpack(archive, unpacked)
        try:
            locate(unpacked, corpus)
        except InputError as error:
            raise InputError(f"{archive}: {error}") from None
    return unpacked


def locate(folder: Path, corpus: Corpus) -> Path:
    """Return the path to convert in an unpacked archive; if there is none, raise an `InputError` that names no file."""
    declared = folder / corpus.main_part
    inside = sorted((p for p in folder.rglob("*") if p.is_dir()), key=lambda p: (len(p.parts), p))
    files = [p for p in folder.glob("*") if p.is_file()]
    for place in (declared, folder, *inside, *(p / corpus.main_part for p in inside if corpus.main_part), *files):
        try:
            feature_files(place)
        except InputError:
            continue
        return place
    raise InputError(f"no feature files found; is this the archive of {corpus.title}?")


def _archive(corpus: Corpus, options: FetchOptions, folder: Path) -> Path:
    if options.archive is not None:
        _check_digest(options.archive, next(iter(corpus.archives), None))
        return options.archive
    wanted = corpus.archives[0] if corpus.archives else Archive(f"{corpus.name}.archive")
    wanted = wanted._replace(urls=(*options.urls, *wanted.urls))
    by_hand = f"{corpus.obtain}; then: --accept-terms --archive {wanted.name}"
    if not wanted.urls:
        raise InputError(f"this corpus cannot be downloaded automatically. {by_hand}")
    try:
        return download(wanted, folder)
    except InputError as error:
        raise InputError(f"{error}. To download it manually: {by_hand}") from None


def _check_digest(file: Path, archive: Archive | None) -> None:
    if not file.is_file():
        raise InputError(f"{file}: there is no such file")
    if archive is None or archive.digest is None:
        return
    kind, expected = archive.digest.split(":")
    with file.open("rb") as source:
        found = hashlib.file_digest(source, kind).hexdigest()
    if found != expected:
        raise InputError(f"{file}: its {kind} is {found}, not the published {expected}; get it again")


def _checked(file: Path, corpus: Corpus, reading: ReadOptions) -> str:
    """Check a feature file; return its description."""
    found = check_file(file, reading)
    # A digest is listed only for a file with a single published version.
    if not found.known_as and (expected := expected_digests(file, corpus.name)):
        raise InputError(f"{file}: the checksum differs from the published {', '.join(sorted(expected.values()))}")
    if found.errors:
        raise InputError("; ".join(found.errors[:3]))
    known = f", is the published {found.known_as[0]}" if found.known_as else ""
    return f"{found.documents:,} documents, {found.queries:,} queries{known}"
