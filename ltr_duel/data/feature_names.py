"""Readable names for the features of well-known corpora, which are recognised by their number of columns and by ids.

In web corpora, most kinds of features are computed for five parts of a document, for example its body and its title.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_FIELDS = ("body", "anchor", "title", "URL", "document")


def _grid(kinds: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{kind} {field}" for kind in kinds for field in _FIELDS)


def _listed(names: str) -> tuple[str, ...]:
    return tuple(" ".join(name.split()) for name in names.split(";"))


_LETOR_GRID = _grid(("TF", "IDF", "TF-IDF", "length", "BM25", "LM absolute", "LM Dirichlet", "LM Jelinek-Mercer"))

LETOR4 = (*_LETOR_GRID, "PageRank", "inlinks", "outlinks", "URL slashes", "URL length", "child pages")

_GOV = """
sitemap term propagation; sitemap score propagation; link score propagation, weighted in;
link score propagation, weighted out; link score propagation, uniform out; link feature propagation, weighted in;
link feature propagation, weighted out; link feature propagation, uniform out; HITS authority; HITS hub; PageRank;
HostRank; topical PageRank; topical HITS authority; topical HITS hub; inlinks; outlinks; URL slashes; URL length;
child pages; BM25 extracted title; LM absolute extracted title; LM Dirichlet extracted title;
LM Jelinek-Mercer extracted title"""
LETOR3_GOV = (*_LETOR_GRID, *_listed(_GOV))

_STATISTICS = ("sum", "min", "max", "mean", "variance")

_WEB = """
URL slashes; URL length; inlinks; outlinks; PageRank; SiteRank; quality score; quality score 2; query-URL clicks;
URL clicks; URL dwell time"""
MSLR = (
    *_grid(("covered terms", "covered term ratio", "length", "IDF")),
    *_grid(tuple(f"{kind} {s}" for kind in ("TF", "normalised TF", "TF-IDF") for s in _STATISTICS)),
    *_grid(("boolean", "vector space", "BM25", "LM absolute", "LM Dirichlet", "LM Jelinek-Mercer")),
    *_listed(_WEB),
)

_OHSUMED_KINDS = """
TF; log TF; normalised TF; log normalised TF; IDF; log IDF; inverse collection TF; log normalised TF-IDF; TF-IDF;
log normalised TF-ICF; BM25; log BM25; LM absolute; LM Dirichlet; LM Jelinek-Mercer"""
OHSUMED = tuple(
    f"{kind} {part}" for part in ("title", "abstract", "title+abstract") for kind in _listed(_OHSUMED_KINDS)
)

RANK_LISTS = (21, 25)  # number of runs in MQ2007-agg and MQ2008-agg

# Columns of BM25 and log BM25 (title, abstract, both), in which the official OHSUMED "min" files fill NULL with 0.
OHSUMED_WITHOUT_MINIMUM = frozenset(i - 1 for i in (11, 12, 26, 27, 41, 42))

_ROWS_LOOKED_AT = 10_000  # only these rows are checked, because the matrix may be far larger than memory


def numbered(columns: int) -> tuple[str, ...]:
    """Return ``"1"``, ``"2"``, ..., the names of the features of an unknown corpus."""
    return tuple(str(i) for i in range(1, columns + 1))


def known_names(features: NDArray[np.float32], document: str) -> tuple[str, ...]:
    """Return the names of the features of a well-known corpus, and numbers as names for other corpora.

    document: the id of the first document, or "" if documents have no ids. Its form helps to recognise a corpus.
    """
    columns = features.shape[1]
    if columns == len(LETOR4) and document.startswith("GX"):
        return LETOR4
    if columns == len(LETOR3_GOV) and document.startswith("G"):
        return LETOR3_GOV
    if columns in RANK_LISTS and document.startswith("GX"):
        return tuple(f"run {i}" for i in range(1, columns + 1))
    if is_ohsumed(columns, document):
        return OHSUMED
    if columns == len(MSLR) and not document and _looks_like_mslr(features):
        return MSLR
    return numbered(columns)


def is_ohsumed(columns: int, document: str) -> bool:
    """Return whether the number of columns and the form of the document id match OHSUMED."""
    return columns == len(OHSUMED) and document.isdecimal()


def _looks_like_mslr(features: NDArray[np.float32]) -> bool:
    """Return whether two groups of columns have values as in MSLR: ratios from 0 to 1, and zeros and ones."""
    ratios = features[:_ROWS_LOOKED_AT, 5:10]
    boolean = features[:_ROWS_LOOKED_AT, 95:100]
    return bool(np.all((ratios >= 0) & (ratios <= 1)) and np.all((boolean == 0) | (boolean == 1)))
