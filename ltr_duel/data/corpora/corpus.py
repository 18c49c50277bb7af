"""Declarations of public corpora: title, terms, sources, reading options.

Each module of ``catalogue/`` declares one corpus or a family of corpora. `fetch` downloads a corpus if its licence
allows automatic downloads; otherwise the field ``obtain`` describes the manual steps.
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
    """A file to download, with its published digest and size.

    Examples
    --------
    >>> Archive("MQ2008.rar", ("https://example.org/MQ2008.rar",)).digest is None
    True
    """

    name: str  # name of the file
    urls: tuple[str, ...] = ()  # tried in this order; empty if the file must be downloaded manually
    digest: str | None = None  # "sha256:..." or "md5:...", if published
    size: int | None = None  # in bytes, if published


@dataclass(frozen=True, eq=False, kw_only=True)
class Corpus(components.Component):
    """A public corpus. Call `check_corpus` first, then register it with ``CORPORA.add``.

    Parameters
    ----------
    name : str
        Name that users type: lower-case letters, digits and hyphens.
    title : str
        Name used in sentences.
    grades : int
        Number of relevance grades, 2 or more.
    features : int
        Number of columns.
    dialect : str
        Format of the files, see `ReadOptions`.
    licence : str
        Short name of the licence.
    terms_url : str
        The page with the terms, which the user must accept.
    obtain : str
        Manual steps if the corpus cannot be downloaded; the beginning of a sentence.
    fill, labels, unlabelled, repeated, first_id
        Default options for reading, see `ReadOptions`.
    queries, documents : int, optional
        Published numbers for the whole corpus, in which each document counts once; None if not published.
    folds : int
        5 if the corpus comes in five folds, else 1.
    archives : tuple of Archive
        The files with the corpus; `fetch` uses the first one.
    main_part : str
        Folder to convert inside the unpacked archive, or the beginning of the names of the files to convert.
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
        """Return the options for reading; given values that are not None take precedence.

        Raises
        ------
        InputError
            If a given value is invalid.
        """
        declared = {one.name: getattr(self, one.name) for one in fields(ReadOptions) if one.name != "limit"}
        return ReadOptions(**declared | {key: value for key, value in given.items() if value is not None})

    def grades_read(self, reading: ReadOptions) -> int | None:
        """Return the declared number of grades; None if ``reading`` does not convert labels as declared."""
        return self.grades if reading.labels == self.labels else None

    @property
    def reading_choices(self) -> str:
        """The declared options that change numbers, in the form of the command line; empty for most corpora."""
        return self.reading().as_typed

    def facts(self) -> dict[str, str]:
        """Return the facts about the corpus, keyed by column heading."""
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
    """Check the declaration of a corpus before `fetch` and ``ltr-duel data`` use it.

    Parameters
    ----------
    corpus : Corpus or str
        A declaration, or the name of a registered corpus.

    Raises
    ------
    InputError
        If the corpus is not registered; if a text is empty; if a number or a reading option is invalid; if the number
        of folds is not 1 or 5; if a name, an address, a digest or a path is malformed; or if the cited source is
        unknown.

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
        raise InputError(f"{about}: a name consists of lower-case letters, digits and single hyphens")
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
            raise InputError(f"{about}: '{archive.digest}' is neither 'sha256:' with 64 hex digits nor 'md5:' with 32")
        if archive.size is not None:
            errors.require_between(f"{about}: size of {archive.name}", archive.size, 1)
    for url in (corpus.terms_url, *(url for archive in corpus.archives for url in archive.urls)):
        if not _ADDRESS.fullmatch(url):
            raise InputError(f"{about}: '{url}' is not an address such as https://example.org/corpus.zip")
    for path in (corpus.main_part, *(archive.name for archive in corpus.archives)):
        if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
            raise InputError(f"{about}: '{path}' must be a path inside the archive's folder")
    dialect_named(corpus.reading().dialect or "")
    corpus.facts()  # raises for an unknown source
