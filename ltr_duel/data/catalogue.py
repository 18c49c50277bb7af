"""The public corpora. For each corpus, the catalogue says where its terms are, how to get it, and how to read it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ltr_duel.core import components, errors
from ltr_duel.data.text.options import ReadOptions


@dataclass(frozen=True, eq=False, kw_only=True)
class Corpus(components.Component):
    """A public corpus.

    Parameters
    ----------
    name, title : str
        The name that users type, and the name that sentences use.
    grades, features : int
        The numbers of relevance grades and of features.
    dialect, labels : str
        How the files of the corpus are read (see `ReadOptions`).
    licence, terms_url : str
        The short name of the licence, and the page with the terms, which the user must accept.
    obtain : str
        What a user must do if the corpus cannot be downloaded automatically, without a full stop at the end.
    archive : str
        The name of the file that contains the corpus.
    urls : tuple of str
        The addresses of the archive, in the order in which they are tried. Empty if it must be downloaded manually.
    digest : str
        The published digest of the archive, ``"sha256:..."`` or ``"md5:..."``, if there is one.
    queries, documents : int, optional
        The published numbers of queries and documents of the whole corpus, if there are any.
    main_part : str
        The folder to read inside the unpacked archive, or the beginning of the names of the files to read.
    params, limits, choices, cite, where
        `ltr_duel.core.Component` explains these parameters.

    Examples
    --------
    >>> from ltr_duel.data import CORPORA
    >>> CORPORA["mq2008"].reading(fill="min").chosen
    {'dialect': 'letor', 'features': 46, 'fill': 'min'}
    """

    title: str
    grades: int
    features: int
    dialect: str
    labels: str = field(default="grades", repr=False)
    licence: str = field(repr=False)
    terms_url: str = field(repr=False)
    obtain: str = field(repr=False)
    archive: str = field(repr=False)
    urls: tuple[str, ...] = field(default=(), repr=False)
    digest: str = field(default="", repr=False)
    queries: int | None = None
    documents: int | None = None
    main_part: str = field(default="", repr=False)

    def reading(self, **options: Any) -> ReadOptions:
        """Return the options for reading the corpus. Arguments that are not None replace options of the catalogue."""
        declared: dict[str, Any] = {"dialect": self.dialect, "features": self.features, "labels": self.labels}
        return ReadOptions(**declared | {key: value for key, value in options.items() if value is not None})

    def facts(self) -> dict[str, str]:
        """Return a row for a table of corpora, as a dictionary from column headings to texts."""
        return {
            "corpus": self.title,
            "queries": f"{self.queries:,}" if self.queries else "?",
            "documents": f"{self.documents:,}" if self.documents else "?",
            "features": str(self.features),
            "grades": str(self.grades),
            "licence": self.licence,
            "source": super().facts()["source"],
        }


class _Corpora(dict[str, Corpus]):
    def __missing__(self, name: str) -> Corpus:
        raise errors.unknown_name("corpus", name, self, command="ltr-duel list corpora")


_MICROSOFT: dict[str, Any] = {"licence": "Microsoft research agreement, no redistribution"}
_LETOR: dict[str, Any] = {
    **_MICROSOFT, "dialect": "letor",
    "terms_url": "https://www.microsoft.com/en-us/research/project/letor-learning-rank-information-retrieval/",
}  # fmt: skip
_LETOR4: dict[str, Any] = {
    **_LETOR, "cite": "qin2013letor", "features": 46, "grades": 3,
    "obtain": "Open https://1drv.ms/f/s!Aqi9ONgj3OqPaynoZZSZVfHPJd0 in a browser, save the archive",
}  # fmt: skip
_LETOR3: dict[str, Any] = {
    **_LETOR, "cite": "qin2010letor",
    "obtain": "The old link is presumed dead. Find LETOR 3.0 from the terms page, accept, save the archive",
}  # fmt: skip
_MSLR: dict[str, Any] = {
    **_MICROSOFT, "dialect": "mslr", "features": 136, "grades": 5, "cite": "qin2013letor",
    "terms_url": "https://www.microsoft.com/en-us/research/project/mslr/",
}  # fmt: skip
_ISTELLA: dict[str, Any] = {
    "dialect": "istella", "features": 220, "grades": 5, "licence": "Istella licence, non-commercial",
    "terms_url": "https://istella.ai/data/", "obtain": "Accept the licence on the terms page",
}  # fmt: skip
_YAHOO: dict[str, Any] = {
    "dialect": "yahoo", "features": 700, "grades": 5, "licence": "Yahoo Webscope agreement, on request only",
    "terms_url": "https://webscope.sandbox.yahoo.com/catalog.php?datatype=c&did=64", "cite": "chapelle2011yahoo",
    "archive": "ltrc_yahoo.tar.bz2",
    "obtain": "Fill in the request form of the terms page; the archive that is sent to you contains both sets",
}  # fmt: skip
_MIRROR = "http://www.bigdatalab.ac.cn/benchmark/upload/download_source"
_LETOR3_FILES = "http://research.microsoft.com/en-us/um/beijing/projects/letor/LETOR3.0"

_ALL = (
    Corpus(
        name="imat2009", title="Yandex IMAT2009", queries=9_124, documents=97_290, features=245, grades=5,
        dialect="imat2009", labels="round",  # labels are means over several judges, so they have decimals
        licence="Yandex contest terms", terms_url="http://imat2009.yandex.ru/en/datasets",
        archive="imat2009_learning.txt",
        obtain="The site may no longer exist; save imat2009_learning.txt from its page of data sets",
    ),
    Corpus(
        name="istella", title="Istella LETOR", cite="dato2016fast", main_part="full", **_ISTELLA,
        archive="istella-letor.tar.gz", urls=("http://library.istella.it/dataset/istella-letor.tar.gz",),
        digest="sha256:d45899d9a6a0e48afb250aac7ee3dc50e73e263687f15761d754515cd8284e0b",
    ),
    Corpus(
        name="istella-s", title="Istella-S, a sample of Istella", cite="lucchese2016post", main_part="sample",
        archive="istella-s-letor.tar.gz", urls=("http://library.istella.it/dataset/istella-s-letor.tar.gz",),
        digest="sha256:41b21116a3650cc043dbe16f02ee39f4467f9405b37fdbcc9a6a05e230a38981", **_ISTELLA,
    ),
    Corpus(
        name="istella-x", title="Istella-X, many documents per query", cite="lucchese2018selective", **_ISTELLA,
        archive="istella-X.tar.gz", urls=("http://quickrank.isti.cnr.it/istella-datasets-mirror/istella-X.tar.gz",),
        digest="sha256:e67be60d1c6a68983a669e4de9df2c395914717b2017cb3b68a97eb89f2ea763",
    ),
    Corpus(
        name="letor3-gov", title="LETOR 3.0 Gov: NP, HP, TD of 2003 and 2004", features=64, grades=2, **_LETOR3,
        main_part="Gov/QueryLevelNorm/2004_np_dataset", archive="Gov.rar", urls=(f"{_LETOR3_FILES}/Gov.rar",),
    ),
    Corpus(
        name="letor3-ohsumed", title="LETOR 3.0 OHSUMED", queries=106, documents=16_140, features=45, grades=3,
        main_part="OHSUMED/QueryLevelNorm", archive="OHSUMED.zip", urls=(f"{_LETOR3_FILES}/OHSUMED.zip",), **_LETOR3,
    ),
    Corpus(
        name="mq2007", title="LETOR 4.0 MQ2007", queries=1_692, documents=69_623, main_part="MQ2007", **_LETOR4,
        archive="MQ2007.rar", urls=(f"{_MIRROR}/7b6dbbe2-842c-11e4-a536-bcaec51b9163_MQ2007.rar",),
        digest="md5:7be1640ae95c6408dab0ae7207bdc706",
    ),
    Corpus(
        name="mq2008", title="LETOR 4.0 MQ2008", queries=784, documents=15_211, main_part="MQ2008", **_LETOR4,
        archive="MQ2008.rar",
        urls=(
            "https://s3-us-west-2.amazonaws.com/xgboost-examples/MQ2008.rar",
            f"{_MIRROR}/edb7cbe2-9d73-11e4-aa78-bcaec51b9163_MQ2008.rar",
        ),
    ),
    Corpus(
        name="mslr-web10k", title="MSLR-WEB10K", queries=10_000, documents=1_200_193, archive="MSLR-WEB10K.zip",
        obtain="Open https://1drv.ms/u/s!AtsMfWUz5l8nbOIoJ6Ks0bEMp78 in a browser, accept, save MSLR-WEB10K.zip",
        digest="sha256:2902142ea33f18c59414f654212de5063033b707d5c3939556124b1120d3a0ba", **_MSLR,
    ),
    Corpus(
        name="mslr-web30k", title="MSLR-WEB30K", queries=31_531, documents=3_771_126, archive="MSLR-WEB30K.zip",
        obtain="Open https://1drv.ms/u/s!AtsMfWUz5l8nbXGPBlwD1rnFdBY in a browser, accept, save MSLR-WEB30K.zip",
        digest="sha256:08cb7977e1d5cbdeb57a9a2537a0923dbca6d46a76db9a6afc69e043c85341ae", **_MSLR,
    ),
    Corpus(
        name="yahoo-set1", title="Yahoo LTRC set 1", queries=29_921, documents=709_877, main_part="set1", **_YAHOO
    ),
    Corpus(name="yahoo-set2", title="Yahoo LTRC set 2", queries=6_330, main_part="set2", **_YAHOO),
)  # fmt: skip

CORPORA: dict[str, Corpus] = _Corpora({corpus.name: corpus for corpus in _ALL})
