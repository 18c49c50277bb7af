"""The table of public corpora."""

from __future__ import annotations

from typing import Any

from ltr_duel.core import errors
from ltr_duel.data.corpora.corpus import Archive, Corpus

_MICROSOFT = "Microsoft research agreement, no redistribution"
_ISTELLA = "http://library.istella.it/dataset"
_LETOR3 = "http://research.microsoft.com/en-us/um/beijing/projects/letor/LETOR3.0"
_LETOR4 = "https://1drv.ms/f/s!Aqi9ONgj3OqPaynoZZSZVfHPJd0"
_MIRROR = "http://www.bigdatalab.ac.cn/benchmark/upload/download_source"


class _Named(dict[str, Corpus]):
    """The corpora by name; the error for an unknown name lists the known names."""

    def __missing__(self, name: str) -> Corpus:
        raise errors.unknown_name("corpus", name, self)


def _istella(name: str, title: str, cite: str, part: str, archive: Archive) -> Corpus:
    return Corpus(
        name=name,
        title=title,
        grades=5,
        features=220,
        dialect="istella",
        licence="Istella licence, non-commercial",
        cite=cite,
        terms_url="https://istella.ai/data/",
        archives=(archive,),
        obtain="Accept the licence on the terms page",
        main_part=part,
    )


def _letor3(name: str, title: str, archive: str, **facts: Any) -> Corpus:
    return Corpus(
        name=name,
        title=title,
        folds=5,
        dialect="letor",
        licence=_MICROSOFT,
        cite="qin2010letor",
        terms_url="https://www.microsoft.com/en-us/research/project/letor-learning-rank-information-retrieval/",
        archives=(Archive(archive, (f"{_LETOR3}/{archive}",)),),
        obtain=f"The old link is presumed dead. Find LETOR 3.0 from the terms page, accept, save {archive}",
        **facts,
    )


def _letor4(name: str, title: str, **facts: Any) -> Corpus:
    return Corpus(
        name=name.lower(),
        title=f"LETOR 4.0 {title}",
        grades=3,
        licence=_MICROSOFT,
        cite="qin2013letor",
        terms_url="https://www.microsoft.com/en-us/research/project/letor-learning-rank-information-retrieval/",
        obtain=f"Open {_LETOR4} in a browser, save {name}.rar" + ("" if "folds" in facts else ", unpack it"),
        **facts,
    )


def _million_queries(name: str, queries: int, documents: int, archive: Archive) -> Corpus:
    return _letor4(
        name, name, features=46, queries=queries, documents=documents, folds=5, dialect="letor",
        archives=(archive,), main_part=name,
    )  # fmt: skip


def _rank_lists(name: str, runs: int) -> Corpus:
    return _letor4(name, f"{name}, rank lists", features=runs, dialect="letor-agg", fill="last")


def _mslr(title: str, queries: int, documents: int, digest: str, size: int, link: str) -> Corpus:
    return Corpus(
        name=title.lower(),
        title=title,
        grades=5,
        features=136,
        queries=queries,
        documents=documents,
        folds=5,
        dialect="mslr",
        licence=_MICROSOFT,
        cite="qin2013letor",
        terms_url="https://www.microsoft.com/en-us/research/project/mslr/",
        archives=(Archive(f"{title}.zip", digest=digest, size=size),),
        obtain=f"Open https://1drv.ms/u/{link} in a browser, accept, save {title}.zip",
    )


def _yahoo(number: int, queries: int, documents: int | None) -> Corpus:
    return Corpus(
        name=f"yahoo-set{number}",
        title=f"Yahoo LTRC set {number}",
        grades=5,
        features=700,
        queries=queries,
        documents=documents,
        dialect="yahoo",
        licence="Yahoo Webscope agreement, on request only",
        cite="chapelle2011yahoo",
        terms_url="https://webscope.sandbox.yahoo.com/catalog.php?datatype=c&did=64",
        archives=(Archive("ltrc_yahoo.tar.bz2"),),
        obtain="Fill in the request form of the terms page; the archive that is sent to you contains both sets",
        main_part=f"set{number}",
    )


_DECLARED = (
    Corpus(
        name="imat2009",  # labels are means over several judges, so they have decimals
        title="Yandex IMAT2009",
        grades=5,
        features=245,
        queries=9_124,
        documents=97_290,
        dialect="imat2009",
        labels="round",
        licence="Yandex contest terms",
        terms_url="http://imat2009.yandex.ru/en/datasets",
        archives=(Archive("imat2009_learning.txt"),),
        obtain="The site may no longer exist; save imat2009_learning.txt from its page of data sets",
    ),
    _istella(
        "istella", "Istella LETOR", "dato2016fast", "full",
        Archive(
            "istella-letor.tar.gz",
            (f"{_ISTELLA}/istella-letor.tar.gz",),
            digest="sha256:d45899d9a6a0e48afb250aac7ee3dc50e73e263687f15761d754515cd8284e0b",
            size=1_288_401_248,
        ),
    ),
    _istella(
        "istella-s", "Istella-S, a sample of Istella", "lucchese2016post", "sample",
        Archive(
            "istella-s-letor.tar.gz",
            (f"{_ISTELLA}/istella-s-letor.tar.gz",),
            digest="sha256:41b21116a3650cc043dbe16f02ee39f4467f9405b37fdbcc9a6a05e230a38981",
            size=472_129_615,
        ),
    ),
    _istella(
        "istella-x", "Istella-X, many documents per query", "lucchese2018selective", "",
        Archive(
            "istella-X.tar.gz",
            ("http://quickrank.isti.cnr.it/istella-datasets-mirror/istella-X.tar.gz",),
            digest="sha256:e67be60d1c6a68983a669e4de9df2c395914717b2017cb3b68a97eb89f2ea763",
            size=4_743_657_398,
        ),
    ),
    _letor3(
        "letor3-gov", "LETOR 3.0 Gov: NP, HP, TD of 2003 and 2004", "Gov.rar",
        grades=2, features=64, main_part="Gov/QueryLevelNorm/2004_np_dataset",
    ),
    _letor3(
        "letor3-ohsumed", "LETOR 3.0 OHSUMED", "OHSUMED.zip",
        grades=3, features=45, queries=106, documents=16_140, main_part="OHSUMED/QueryLevelNorm",
    ),
    _million_queries(
        "MQ2007", 1_692, 69_623,
        Archive(
            "MQ2007.rar",
            (f"{_MIRROR}/7b6dbbe2-842c-11e4-a536-bcaec51b9163_MQ2007.rar",),
            digest="md5:7be1640ae95c6408dab0ae7207bdc706",
        ),
    ),
    _rank_lists("MQ2007-agg", 21),
    _million_queries(
        "MQ2008", 784, 15_211,
        Archive(
            "MQ2008.rar",
            (
                "https://s3-us-west-2.amazonaws.com/xgboost-examples/MQ2008.rar",
                f"{_MIRROR}/edb7cbe2-9d73-11e4-aa78-bcaec51b9163_MQ2008.rar",
            ),
        ),
    ),
    _rank_lists("MQ2008-agg", 25),
    _mslr(
        "MSLR-WEB10K", 10_000, 1_200_193,
        "sha256:2902142ea33f18c59414f654212de5063033b707d5c3939556124b1120d3a0ba",
        1_234_144_912, "s!AtsMfWUz5l8nbOIoJ6Ks0bEMp78",
    ),
    _mslr(
        "MSLR-WEB30K", 31_531, 3_771_126,
        "sha256:08cb7977e1d5cbdeb57a9a2537a0923dbca6d46a76db9a6afc69e043c85341ae",
        3_849_406_307, "s!AtsMfWUz5l8nbXGPBlwD1rnFdBY",
    ),
    _yahoo(1, 19_944 + 2_994 + 6_983, 473_134 + 71_083 + 165_660),
    _yahoo(2, 1_266 + 1_266 + 3_798, None),
)  # fmt: skip

CORPORA: dict[str, Corpus] = _Named({corpus.name: corpus for corpus in _DECLARED})
