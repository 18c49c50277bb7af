"""The corpora of Istella, an Italian web search engine."""

from ltr_duel.data.corpora.corpus import CORPORA, Archive, Corpus

_LIBRARY = "http://library.istella.it/dataset"

for _name, _title, _cite, _part, _archive in (
    (
        "istella",
        "Istella LETOR",
        "dato2016fast",
        "full",
        Archive(
            "istella-letor.tar.gz",
            (f"{_LIBRARY}/istella-letor.tar.gz",),
            digest="sha256:d45899d9a6a0e48afb250aac7ee3dc50e73e263687f15761d754515cd8284e0b",
            size=1_288_401_248,
        ),
    ),
    (
        "istella-s",
        "Istella-S, a sample of Istella",
        "lucchese2016post",
        "sample",
        Archive(
            "istella-s-letor.tar.gz",
            (f"{_LIBRARY}/istella-s-letor.tar.gz",),
            digest="sha256:41b21116a3650cc043dbe16f02ee39f4467f9405b37fdbcc9a6a05e230a38981",
            size=472_129_615,
        ),
    ),
    (
        "istella-x",
        "Istella-X, many documents per query",
        "lucchese2018selective",
        "",
        Archive(
            "istella-X.tar.gz",
            ("http://quickrank.isti.cnr.it/istella-datasets-mirror/istella-X.tar.gz",),
            digest="sha256:e67be60d1c6a68983a669e4de9df2c395914717b2017cb3b68a97eb89f2ea763",
            size=4_743_657_398,
        ),
    ),
):
    CORPORA.add(
        Corpus(
            name=_name,
            title=_title,
            grades=5,
            features=220,
            dialect="istella",
            licence="Istella licence, non-commercial",
            cite=_cite,
            terms_url="https://istella.ai/data/",
            archives=(_archive,),
            obtain="Accept the licence on the terms page",
            main_part=_part,
        )
    )
