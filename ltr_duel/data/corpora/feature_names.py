"""Readable names for the columns of corpora that have always the same ones.

Most corpora are a grid: some kinds of feature, each for five parts of the document.
"""

from __future__ import annotations

_FIELDS = ("body", "anchor", "title", "URL", "document")


def _grid(kinds: tuple[str, ...], fields: tuple[str, ...] = _FIELDS) -> tuple[str, ...]:
    return tuple(f"{kind} {field}" for kind in kinds for field in fields)


_LETOR_GRID = _grid(("TF", "IDF", "TF-IDF", "length", "BM25", "LM absolute", "LM Dirichlet", "LM Jelinek-Mercer"))

LETOR4 = (*_LETOR_GRID, "PageRank", "inlinks", "outlinks", "URL slashes", "URL length", "child pages")

LETOR3_GOV = (
    *_LETOR_GRID,
    "sitemap term propagation",
    "sitemap score propagation",
    "link score propagation, weighted in",
    "link score propagation, weighted out",
    "link score propagation, uniform out",
    "link feature propagation, weighted in",
    "link feature propagation, weighted out",
    "link feature propagation, uniform out",
    "HITS authority",
    "HITS hub",
    "PageRank",
    "HostRank",
    "topical PageRank",
    "topical HITS authority",
    "topical HITS hub",
    "inlinks",
    "outlinks",
    "URL slashes",
    "URL length",
    "child pages",
    *_grid(("BM25", "LM absolute", "LM Dirichlet", "LM Jelinek-Mercer"), ("extracted title",)),
)

_STATISTICS = ("sum", "min", "max", "mean", "variance")

MSLR = (
    *_grid(("covered terms", "covered term ratio", "length", "IDF")),
    *_grid(tuple(f"TF {s}" for s in _STATISTICS)),
    *_grid(tuple(f"normalised TF {s}" for s in _STATISTICS)),
    *_grid(tuple(f"TF-IDF {s}" for s in _STATISTICS)),
    *_grid(("boolean", "vector space", "BM25", "LM absolute", "LM Dirichlet", "LM Jelinek-Mercer")),
    "URL slashes",
    "URL length",
    "inlinks",
    "outlinks",
    "PageRank",
    "SiteRank",
    "quality score",
    "quality score 2",
    "query-URL clicks",
    "URL clicks",
    "URL dwell time",
)

_OHSUMED_KINDS = (
    "TF",
    "log TF",
    "normalised TF",
    "log normalised TF",
    "IDF",
    "log IDF",
    "inverse collection TF",
    "log normalised TF-IDF",
    "TF-IDF",
    "log normalised TF-ICF",
    "BM25",
    "log BM25",
    "LM absolute",
    "LM Dirichlet",
    "LM Jelinek-Mercer",
)
OHSUMED = tuple(f"{kind} {part}" for part in ("title", "abstract", "title+abstract") for kind in _OHSUMED_KINDS)

RANK_LISTS = (21, 25)  # how many runs there are in MQ2007-agg and MQ2008-agg


def numbered(columns: int) -> tuple[str, ...]:
    """Return ``"1"``, ``"2"``, ...: the names of columns nobody knows more about."""
    return tuple(str(i) for i in range(1, columns + 1))
