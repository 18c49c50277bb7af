"""A public corpus as a declaration: what it is, who may have it, how to get it, how to read it.

Each page of ``catalogue/`` declares one corpus or family. Nothing here downloads: `fetch` does, where the licence
allows it; ``obtain`` says what is left to do by hand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from ltr_duel.core import InputError, arguments, components, errors
from ltr_duel.data.text.options import ReadOptions

MICROSOFT = "Microsoft research agreement, no redistribution"

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}|md5:[0-9a-f]{32}")
_ADDRESS = re.compile(r"https?://[^/\s]+/\S*")


class Archive(NamedTuple):
    """One file to download, and what it must be.

    Examples
    --------
    >>> Archive("MQ2008.rar", ("https://example.org/MQ2008.rar",)).digest is None
    True
    """

    name: str  # of the file
    urls: tuple[str, ...] = ()  # tried in this order; none where the file can only be fetched by hand
    digest: str | None = None  # "sha256:..." or "md5:...", where one was published
    size: int | None = None  # in bytes, where published


@dataclass(frozen=True, eq=False, kw_only=True)
class Corpus(components.Component):
    """A public corpus. Register it with ``CORPORA.add``, and `check_corpus` it first.

    Parameters
    ----------
    name : str
        What users type: lower-case letters, digits and hyphens.
    title : str
        What it is called in a sentence.
    grades : int
        Number of relevance grades, 2 or more.
    features : int
        Number of columns.
    dialect : str
        How its files are written, see `ReadOptions`.
    licence : str
        In a few words.
    terms_url : str
        The page with the terms, which the user must accept.
    obtain : str
        What to do by hand where it cannot be downloaded; the beginning of a sentence.
    fill, labels, unlabelled, repeated, first_id
        How it is read unless the user says otherwise, see `ReadOptions`.
    queries, documents : int, optional
        Of the whole corpus, each document once, where published.
    folds : int
        5 where it comes in five folds, else 1.
    archives : tuple of Archive
        The files that hold it; the first one is fetched.
    main_part : str
        Folder or beginning of file names inside the unpacked archive that is converted.
    params, limits, choices, cite, where
        See `Component`; a corpus has no parameters.

    Examples
    --------
    >>> corpus = CORPORA["mq2008"]
    >>> corpus.features, corpus.queries
    (46, 784)
    >>> corpus.reading(fill="min").chosen
    {'dialect': 'letor', 'features': 46, 'fill': 'min'}
    """

    title: str
    grades: int
    features: int
    dialect: str
    licence: str = field(repr=False)
    terms_url: str = field(repr=False)
    obtain: str = field(repr=False)
    fill: float | str | None = field(default=None, repr=False)
    labels: str = field(default="grades", repr=False)
    unlabelled: str = field(default="refuse", repr=False)
    repeated: str = field(default="refuse", repr=False)
    first_id: int = field(default=1, repr=False)
    queries: int | None = None
    documents: int | None = None
    folds: int = field(default=1, repr=False)
    archives: tuple[Archive, ...] = field(default=(), repr=False)
    main_part: str = field(default="", repr=False)

    def reading(self, **given: Any) -> ReadOptions:
        """Return the options to read it with; those that are given and not None take precedence.

        Raises
        ------
        InputError
            If a given value is not legal.
        """
        declared = {one.name: getattr(self, one.name) for one in fields(ReadOptions) if one.name != "limit"}
        return ReadOptions(**declared | {key: value for key, value in given.items() if value is not None})

    def grades_read(self, reading: ReadOptions) -> int | None:
        """Return the number of grades when it is read so; None if labels become grades in another way than declared."""
        return self.grades if reading.labels == self.labels else None

    @property
    def reading_choices(self) -> str:
        """The declared choices that change numbers, as a user would write them; mostly none."""
        return self.reading().as_typed

    def facts(self) -> dict[str, str]:
        """Return what a reader wants to know, by the words of a table's head."""
        return {
            "corpus": self.title,
            "queries": f"{self.queries:,}" if self.queries else "?",
            "documents": f"{self.documents:,}" if self.documents else "?",
            "features": str(self.features),
            "grades": str(self.grades),
            "licence": self.licence,
            "source": super().facts()["source"],
        }


CORPORA = components.Registry[Corpus](
    "corpus", "ltr_duel.data.corpora.catalogue", check="ltr_duel.data.corpora.corpus:check_corpus"
)


def check_corpus(corpus: Corpus | str) -> None:
    """Check the declaration of a corpus: everything that `fetch` and ``ltr-duel data`` rely on.

    Parameters
    ----------
    corpus : Corpus or str
        A declaration, or the name of one that is registered.

    Raises
    ------
    InputError
        If there is no corpus of this name, a size is not legal, an address, a digest or a part's path is not well
        formed, the number of folds is not 1 or 5, its source is unknown, or it cannot be read as declared.

    Examples
    --------
    >>> check_corpus("mq2008")
    >>> from dataclasses import replace
    >>> check_corpus(replace(CORPORA["mq2008"], folds=4))
    Traceback (most recent call last):
    ltr_duel.core.errors.InputError: corpus 'mq2008': folds must be 1 or 5, not 4
    """
    from ltr_duel.data.text.dialects import dialect_named

    corpus = CORPORA[corpus] if isinstance(corpus, str) else corpus
    arguments.require_type("the corpus", corpus, Corpus)
    about = f"corpus '{corpus.name}'"
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", corpus.name):
        raise InputError(f"{about}: a name has lower-case letters, digits and single hyphens")
    for word in ("title", "licence", "obtain"):
        if not getattr(corpus, word).strip():
            raise InputError(f"{about}: {word} is empty")
    errors.require_between(f"{about}: grades", corpus.grades, 2)
    for word in ("features", "queries", "documents"):
        if getattr(corpus, word) is not None:
            errors.require_between(f"{about}: {word}", getattr(corpus, word), 1)
    if corpus.queries and corpus.documents and corpus.documents < corpus.queries:
        raise InputError(f"{about}: {corpus.documents:,} documents are too few for {corpus.queries:,} queries")
    if corpus.folds not in (1, 5):
        raise InputError(f"{about}: folds must be 1 or 5, not {corpus.folds}")
    for archive in corpus.archives:
        if archive.digest is not None and not _DIGEST.fullmatch(archive.digest):
            raise InputError(f"{about}: '{archive.digest}' is not 'sha256:' and 64 or 'md5:' and 32 hexadecimal digits")
        if archive.size is not None:
            errors.require_between(f"{about}: size of {archive.name}", archive.size, 1)
    for url in (corpus.terms_url, *(url for archive in corpus.archives for url in archive.urls)):
        if not _ADDRESS.fullmatch(url):
            raise InputError(f"{about}: '{url}' is not an address such as https://example.org/corpus.zip")
    for path in (corpus.main_part, *(archive.name for archive in corpus.archives)):
        if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
            raise InputError(f"{about}: '{path}' must be a path inside the archive's folder")
    dialect_named(corpus.reading().dialect or "")
    corpus.facts()  # an unknown source is refused
