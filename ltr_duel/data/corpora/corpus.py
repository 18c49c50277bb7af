"""The declaration of a public corpus: title, terms, sources, reading options; `catalogue` contains all of them.

`fetch` downloads a corpus if its licence allows automatic downloads; otherwise the field ``obtain`` describes the
manual steps.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from ltr_duel.core import components
from ltr_duel.data.text.options import ReadOptions


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
    """A public corpus.

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
    >>> from ltr_duel.data import CORPORA
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
        declared = {one.name: getattr(self, one.name) for one in fields(ReadOptions) if hasattr(self, one.name)}
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
