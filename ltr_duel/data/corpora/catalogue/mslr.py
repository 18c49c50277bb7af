"""MSLR-WEB: queries and web pages of the search engine Bing."""

from ltr_duel.data.corpora.corpus import CORPORA, MICROSOFT, Archive, Corpus

_PAGE = "https://www.microsoft.com/en-us/research/project/mslr/"

CORPORA.add(
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
        cite="qin2013letor",
        terms_url=_PAGE,
        archives=(
            Archive(
                "MSLR-WEB10K.zip",
                digest="sha256:2902142ea33f18c59414f654212de5063033b707d5c3939556124b1120d3a0ba",
                size=1_234_144_912,
            ),
        ),
        obtain="Open https://1drv.ms/u/s!AtsMfWUz5l8nbOIoJ6Ks0bEMp78 in a browser, accept, save MSLR-WEB10K.zip",
    )
)

CORPORA.add(
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
        cite="qin2013letor",
        terms_url=_PAGE,
        archives=(
            Archive(
                "MSLR-WEB30K.zip",
                digest="sha256:08cb7977e1d5cbdeb57a9a2537a0923dbca6d46a76db9a6afc69e043c85341ae",
                size=3_849_406_307,
            ),
        ),
        obtain="Open https://1drv.ms/u/s!AtsMfWUz5l8nbXGPBlwD1rnFdBY in a browser, accept, save MSLR-WEB30K.zip",
    )
)
