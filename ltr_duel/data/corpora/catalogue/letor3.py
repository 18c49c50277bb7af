"""LETOR 3.0: the Gov collection of TREC, and OHSUMED."""

from ltr_duel.data.corpora.corpus import CORPORA, MICROSOFT, Archive, Corpus

_PAGE = "https://www.microsoft.com/en-us/research/project/letor-learning-rank-information-retrieval/"
_OLD_FOLDER = "http://research.microsoft.com/en-us/um/beijing/projects/letor/LETOR3.0"

CORPORA.add(
    Corpus(
        name="letor3-gov",
        title="LETOR 3.0 Gov: NP, HP, TD of 2003 and 2004",
        grades=2,
        features=64,
        folds=5,
        dialect="letor",
        licence=MICROSOFT,
        cite="qin2010letor",
        terms_url=_PAGE,
        archives=(Archive("Gov.rar", (f"{_OLD_FOLDER}/Gov.rar",)),),
        obtain="The old link is presumed dead. Find LETOR 3.0 from the terms page, accept, save Gov.rar",
        main_part="Gov/QueryLevelNorm/2004_np_dataset",
    )
)

CORPORA.add(
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
        cite="qin2010letor",
        terms_url=_PAGE,
        archives=(Archive("OHSUMED.zip", (f"{_OLD_FOLDER}/OHSUMED.zip",)),),
        obtain="The old link is presumed dead. Find LETOR 3.0 from the terms page, accept, save OHSUMED.zip",
        main_part="OHSUMED/QueryLevelNorm",
    )
)
