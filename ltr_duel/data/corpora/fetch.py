"""Get a corpus: terms, download, checksum, unpack, check, convert."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ltr_duel.core import InputError
from ltr_duel.data.corpora.check import check_file, expected_digests
from ltr_duel.data.corpora.corpus import Archive, Corpus
from ltr_duel.data.corpora.download import download
from ltr_duel.data.corpora.unpack import unpack
from ltr_duel.data.store.convert import convert
from ltr_duel.data.store.folders import feature_files
from ltr_duel.data.text.reading import Naming


@dataclass(frozen=True)
class FetchOptions:
    """What the user decided.

    Parameters
    ----------
    accept_terms : bool
        Whether the user has read and accepts the terms.
    archive : Path, optional
        The archive, where it was downloaded by hand.
    folder : Path, optional
        Where the archive and what is unpacked from it are kept; default: ``corpora/<name>``.
    urls : tuple of str
        Other addresses of the archive, tried first.
    """

    accept_terms: bool = False
    archive: Path | None = None
    folder: Path | None = None
    urls: tuple[str, ...] = ()


def fetch(corpus: Corpus, options: FetchOptions, report: Callable[[str], object] = print) -> Path:
    """Get a corpus and convert it. What an earlier call has downloaded or unpacked is used.

    Parameters
    ----------
    corpus : Corpus
        What to get.
    options : FetchOptions
        What the user decided.
    report : callable
        Called with a line of text for each step.

    Returns
    -------
    Path
        The converted corpus.

    Raises
    ------
    InputError
        If the terms are not accepted, or a step fails.
    """
    report(f"{corpus.title}\n  licence  {corpus.licence}\n  terms    {corpus.terms_url}")
    if not options.accept_terms:
        raise InputError("read the terms above; if you accept them, run this again with --accept-terms")
    folder = options.folder or Path("corpora") / corpus.name
    unpacked = folder / "unpacked"
    if not unpacked.is_dir():
        archive = _archive(corpus, options, folder)
        report(f"unpack   {archive}")
        unpack(archive, unpacked)
    part = locate(unpacked, corpus)
    for file in feature_files(part):
        report(f"check    {file}: {_checked(file, corpus)}")
    converted = convert(part, corpus.reading(), naming=Naming(corpus.name, corpus.grades, None, corpus.name))
    report(f"convert  {converted}{corpus.reading_choices and ', read with ' + corpus.reading_choices}")
    return converted


def locate(folder: Path, corpus: Corpus) -> Path:
    """Return the place in an unpacked archive that is to be converted.

    Raises
    ------
    InputError
        If there is none.
    """
    declared = folder / corpus.main_part
    inside = sorted((p for p in folder.rglob("*") if p.is_dir()), key=lambda p: (len(p.parts), p))
    files = [p for p in folder.glob("*") if p.is_file()]
    for place in (declared, folder, *inside, *(p / corpus.main_part for p in inside if corpus.main_part), *files):
        try:
            feature_files(place)
        except InputError:
            continue
        return place
    raise InputError(f"{folder}: no feature files in it; is this the archive of {corpus.title}?")


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
        raise InputError(f"{error}. By hand: {by_hand}") from None


def _check_digest(file: Path, archive: Archive | None) -> None:
    if not file.is_file():
        raise InputError(f"{file}: there is no such file")
    if archive is None or archive.digest is None:
        return
    kind, expected = archive.digest.split(":")
    with file.open("rb") as source:
        found = hashlib.file_digest(source, kind).hexdigest()
    if found != expected:
        raise InputError(f"{file}: its {kind} is {found}, the published one is {expected}; get it again")


def _checked(file: Path, corpus: Corpus) -> str:
    """Check a feature file; return what it is."""
    found = check_file(file, corpus.dialect, decimals=corpus.labels != "grades")
    if not found.known_as:
        expected = expected_digests(file, corpus.name)
        if any(digest.startswith("sha256:") for digest in expected):  # these corpora exist in one version only
            raise InputError(f"{file}: the checksum differs from the published {', '.join(sorted(expected.values()))}")
    if found.errors:
        raise InputError("; ".join(found.errors[:3]))
    known = f", is the published {found.known_as[0]}" if found.known_as else ""
    return f"{found.documents:,} documents, {found.queries:,} queries{known}"
