"""The two sets of the Yahoo Learning to Rank Challenge."""

from ltr_duel.data.corpora.corpus import CORPORA, Archive, Corpus

for _set, _queries, _documents in (
    (1, 19_944 + 2_994 + 6_983, 473_134 + 71_083 + 165_660),
    (2, 1_266 + 1_266 + 3_798, None),
):
    CORPORA.add(
        Corpus(
            name=f"yahoo-set{_set}",
            title=f"Yahoo LTRC set {_set}",
            grades=5,
            features=700,
            queries=_queries,
            documents=_documents,
            dialect="yahoo",
            licence="Yahoo Webscope agreement, on request only",
            cite="chapelle2011yahoo",
            terms_url="https://webscope.sandbox.yahoo.com/catalog.php?datatype=c&did=64",
            archives=(Archive("ltrc_yahoo.tar.bz2"),),
            obtain="Fill in the request form of the terms page; the archive that is sent to you contains both sets",
            main_part=f"set{_set}",
        )
    )
