"""The public corpora, as declarations: what they are, who may have them, how to get them.

Nothing here downloads. ``data_scripts/`` does, where the licence allows it; ``obtain`` says what is left to do by hand.
"""

from __future__ import annotations

from typing import NamedTuple

from ltr_duel.core import unknown_name

MICROSOFT = "Microsoft research agreement, no redistribution"


class Archive(NamedTuple):
    """One file to download, and what it must be."""

    name: str
    urls: tuple[str, ...] = ()  # tried in this order; empty: by hand only
    digest: str | None = None  # "sha256:..." or "md5:...", where one was published
    size: int | None = None  # bytes


class Corpus(NamedTuple):
    """A public corpus."""

    name: str
    title: str
    grades: int
    features: int
    licence: str
    terms_url: str
    obtain: str
    dialect: str
    queries: int | None = None  # of the whole corpus, each document once
    documents: int | None = None
    folds: int = 1
    archives: tuple[Archive, ...] = ()
    main_part: str = ""  # folder or file inside the unpacked archive to convert first


_LETOR_PAGE = "https://www.microsoft.com/en-us/research/project/letor-learning-rank-information-retrieval/"
_MSLR_PAGE = "https://www.microsoft.com/en-us/research/project/mslr/"
_LETOR4_FOLDER = "https://1drv.ms/f/s!Aqi9ONgj3OqPaynoZZSZVfHPJd0"
_OLD_LETOR = "http://research.microsoft.com/en-us/um/beijing/projects/letor"
_ISTELLA_PAGE = "https://istella.ai/data/"

CORPORA = {
    corpus.name: corpus
    for corpus in (
        Corpus(
            name="letor3-gov",
            title="LETOR 3.0 Gov: NP, HP, TD of 2003 and 2004",
            grades=2,
            features=64,
            folds=5,
            dialect="letor",
            licence=MICROSOFT,
            terms_url=_LETOR_PAGE,
            archives=(Archive("Gov.rar", (f"{_OLD_LETOR}/LETOR3.0/Gov.rar",)),),
            obtain="The old link is presumed dead. Find LETOR 3.0 from the terms page, accept, save Gov.rar",
            main_part="Gov/QueryLevelNorm/2004_np_dataset",
        ),
        Corpus(
            name="letor3-ohsumed",
            title="LETOR 3.0 OHSUMED",
            grades=3,
            features=45,
            queries=106,
            documents=16_140,
            folds=5,
            dialect="letor",
            licence=MICROSOFT,
            terms_url=_LETOR_PAGE,
            archives=(Archive("OHSUMED.zip", (f"{_OLD_LETOR}/LETOR3.0/OHSUMED.zip",)),),
            obtain="The old link is presumed dead. Find LETOR 3.0 from the terms page, accept, save OHSUMED.zip",
            main_part="OHSUMED/QueryLevelNorm",
        ),
        Corpus(
            name="mq2007",
            title="LETOR 4.0 MQ2007",
            grades=3,
            features=46,
            queries=1_692,
            documents=69_623,
            folds=5,
            dialect="letor",
            licence=MICROSOFT,
            terms_url=_LETOR_PAGE,
            archives=(
                Archive(
                    "MQ2007.rar",
                    (
                        "http://www.bigdatalab.ac.cn/benchmark/upload/download_source/"
                        "7b6dbbe2-842c-11e4-a536-bcaec51b9163_MQ2007.rar",
                    ),
                    digest="md5:7be1640ae95c6408dab0ae7207bdc706",
                ),
            ),
            obtain=f"Open {_LETOR4_FOLDER} in a browser, save MQ2007.rar",
            main_part="MQ2007",
        ),
        Corpus(
            name="mq2008",
            title="LETOR 4.0 MQ2008",
            grades=3,
            features=46,
            queries=784,
            documents=15_211,
            folds=5,
            dialect="letor",
            licence=MICROSOFT,
            terms_url=_LETOR_PAGE,
            archives=(
                Archive(
                    "MQ2008.rar",
                    (
                        "https://s3-us-west-2.amazonaws.com/xgboost-examples/MQ2008.rar",
                        "http://www.bigdatalab.ac.cn/benchmark/upload/download_source/"
                        "edb7cbe2-9d73-11e4-aa78-bcaec51b9163_MQ2008.rar",
                    ),
                ),
            ),
            obtain=f"Open {_LETOR4_FOLDER} in a browser, save MQ2008.rar",
            main_part="MQ2008",
        ),
        Corpus(
            name="mq2007-agg",
            title="LETOR 4.0 MQ2007-agg, rank lists",
            grades=3,
            features=21,
            dialect="letor-agg",
            licence=MICROSOFT,
            terms_url=_LETOR_PAGE,
            obtain=f"Open {_LETOR4_FOLDER} in a browser, save MQ2007-agg.rar, unpack it",
        ),
        Corpus(
            name="mq2008-agg",
            title="LETOR 4.0 MQ2008-agg, rank lists",
            grades=3,
            features=25,
            dialect="letor-agg",
            licence=MICROSOFT,
            terms_url=_LETOR_PAGE,
            obtain=f"Open {_LETOR4_FOLDER} in a browser, save MQ2008-agg.rar, unpack it",
        ),
        Corpus(
            name="mslr-web10k",
            title="MSLR-WEB10K",
            grades=5,
            features=136,
            queries=10_000,
            documents=1_200_193,
            folds=5,
            dialect="mslr",
            licence=MICROSOFT,
            terms_url=_MSLR_PAGE,
            archives=(
                Archive(
                    "MSLR-WEB10K.zip",
                    digest="sha256:2902142ea33f18c59414f654212de5063033b707d5c3939556124b1120d3a0ba",
                    size=1_234_144_912,
                ),
            ),
            obtain="Open https://1drv.ms/u/s!AtsMfWUz5l8nbOIoJ6Ks0bEMp78 in a browser, accept, save MSLR-WEB10K.zip",
        ),
        Corpus(
            name="mslr-web30k",
            title="MSLR-WEB30K",
            grades=5,
            features=136,
            queries=31_531,
            documents=3_771_126,
            folds=5,
            dialect="mslr",
            licence=MICROSOFT,
            terms_url=_MSLR_PAGE,
            archives=(
                Archive(
                    "MSLR-WEB30K.zip",
                    digest="sha256:08cb7977e1d5cbdeb57a9a2537a0923dbca6d46a76db9a6afc69e043c85341ae",
                    size=3_849_406_307,
                ),
            ),
            obtain="Open https://1drv.ms/u/s!AtsMfWUz5l8nbXGPBlwD1rnFdBY in a browser, accept, save MSLR-WEB30K.zip",
        ),
        Corpus(
            name="yahoo-set1",
            title="Yahoo LTRC set 1",
            grades=5,
            features=700,
            queries=19_944 + 2_994 + 6_983,
            documents=473_134 + 71_083 + 165_660,
            dialect="yahoo",
            licence="Yahoo Webscope agreement, on request only",
            terms_url="https://webscope.sandbox.yahoo.com/catalog.php?datatype=c&did=64",
            archives=(Archive("ltrc_yahoo.tar.bz2"),),
            obtain="Fill in the request form of the terms page; the archive that is sent to you holds both sets",
            main_part="set1",
        ),
        Corpus(
            name="yahoo-set2",
            title="Yahoo LTRC set 2",
            grades=5,
            features=700,
            queries=1_266 + 1_266 + 3_798,
            dialect="yahoo",
            licence="Yahoo Webscope agreement, on request only",
            terms_url="https://webscope.sandbox.yahoo.com/catalog.php?datatype=c&did=64",
            archives=(Archive("ltrc_yahoo.tar.bz2"),),
            obtain="Fill in the request form of the terms page; the archive that is sent to you holds both sets",
            main_part="set2",
        ),
        Corpus(
            name="imat2009",
            title="Yandex IMAT2009",
            grades=5,
            features=245,
            queries=9_124,
            documents=97_290,
            dialect="imat2009",
            licence="Yandex contest terms",
            terms_url="http://imat2009.yandex.ru/en/datasets",
            archives=(Archive("imat2009_learning.txt"),),
            obtain="The site may be gone; save imat2009_learning.txt from its page of data sets",
        ),
        Corpus(
            name="istella",
            title="Istella LETOR",
            grades=5,
            features=220,
            dialect="istella",
            licence="Istella licence, non-commercial",
            terms_url=_ISTELLA_PAGE,
            archives=(
                Archive(
                    "istella-letor.tar.gz",
                    ("http://library.istella.it/dataset/istella-letor.tar.gz",),
                    digest="sha256:d45899d9a6a0e48afb250aac7ee3dc50e73e263687f15761d754515cd8284e0b",
                    size=1_288_401_248,
                ),
            ),
            obtain="Accept the licence on the terms page",
            main_part="full",
        ),
        Corpus(
            name="istella-s",
            title="Istella-S, a sample of Istella",
            grades=5,
            features=220,
            dialect="istella",
            licence="Istella licence, non-commercial",
            terms_url=_ISTELLA_PAGE,
            archives=(
                Archive(
                    "istella-s-letor.tar.gz",
                    ("http://library.istella.it/dataset/istella-s-letor.tar.gz",),
                    digest="sha256:41b21116a3650cc043dbe16f02ee39f4467f9405b37fdbcc9a6a05e230a38981",
                    size=472_129_615,
                ),
            ),
            obtain="Accept the licence on the terms page",
            main_part="sample",
        ),
        Corpus(
            name="istella-x",
            title="Istella-X, many documents a query",
            grades=5,
            features=220,
            dialect="istella",
            licence="Istella licence, non-commercial",
            terms_url=_ISTELLA_PAGE,
            archives=(
                Archive(
                    "istella-X.tar.gz",
                    ("http://quickrank.isti.cnr.it/istella-datasets-mirror/istella-X.tar.gz",),
                    digest="sha256:e67be60d1c6a68983a669e4de9df2c395914717b2017cb3b68a97eb89f2ea763",
                    size=4_743_657_398,
                ),
            ),
            obtain="Accept the licence on the terms page",
        ),
    )
}


def corpus_named(name: str) -> Corpus:
    """Return a corpus by its name; `InputError` names the legal ones."""
    if name not in CORPORA:
        raise unknown_name("corpus", name, CORPORA)
    return CORPORA[name]
