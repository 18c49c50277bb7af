"""MSLR-WEB: queries and web pages of the search engine Bing."""

from ltr_duel.data.corpora.corpus import CORPORA, MICROSOFT, Archive, Corpus

_PAGE = "https://www.microsoft.com/en-us/research/project/mslr/"
_10K = "sha256:2902142ea33f18c59414f654212de5063033b707d5c3939556124b1120d3a0ba"
_30K = "sha256:08cb7977e1d5cbdeb57a9a2537a0923dbca6d46a76db9a6afc69e043c85341ae"

for _title, _queries, _documents, _digest, _size, _link in (
    ("MSLR-WEB10K", 10_000, 1_200_193, _10K, 1_234_144_912, "s!AtsMfWUz5l8nbOIoJ6Ks0bEMp78"),
    ("MSLR-WEB30K", 31_531, 3_771_126, _30K, 3_849_406_307, "s!AtsMfWUz5l8nbXGPBlwD1rnFdBY"),
):
    CORPORA.add(
        Corpus(
            name=_title.lower(),
            title=_title,
            grades=5,
            features=136,
            queries=_queries,
            documents=_documents,
            folds=5,
            dialect="mslr",
            licence=MICROSOFT,
            cite="qin2013letor",
            terms_url=_PAGE,
            archives=(Archive(f"{_title}.zip", digest=_digest, size=_size),),
            obtain=f"Open https://1drv.ms/u/{_link} in a browser, accept, save {_title}.zip",
        )
    )
