"""The data of the papers, declared once: where a corpus or matrix may lie, and what replaces a missing corpus."""

from functools import partial

from ltr_duel.papers import another, excerpt, matrix, published, real
from ltr_duel.papers import corpus as any_corpus

# The papers' estimates use the sign of the marginal outcome and one user for each list. The package has other defaults.
PAPERS_RULE = {"outcome": "marginal_sign", "comparisons": 4000, "variance_reduction": "none"}
corpus = partial(any_corpus, **PAPERS_RULE)

# Every entry of the matrix is a multiple of 1/6,248, so 6,248 comparisons of each pair are behind it.
NP2004_FILE = "preference_matrices/wolfenfeld_PMat_64.npy"
NP2004 = published(
    NP2004_FILE, comparisons=6248, note="published with Wolfenfeld's code; 6,248 comparisons of each pair"
)
MSLR_EXCERPT = excerpt("MSLR_excerpt/Fold1", note="36 of the 31,531 queries of MSLR-WEB30K")
NP2004_EXCERPT = excerpt("NP2004/Fold1", note="15 of the 75 queries of NP2004")

MSLR = corpus(
    "MSLR",
    real("MSLR-WEB30K/Fold1"),
    another("MSLR-WEB10K/Fold1", note="MSLR-WEB10K stands in for MSLR-WEB30K"),
    MSLR_EXCERPT,
)
YLR1 = corpus("YLR1", real("Yahoo/set1"), optional=True)
YLR2 = corpus("YLR2", real("Yahoo/set2"), optional=True)
YANDEX = corpus("Yandex", real("IMAT2009/imat2009_learning.txt", dialect="imat2009", labels="round"), optional=True)
MQ2008 = corpus("MQ2008", another("MQ2008/Fold1", note="MQ2008 and OHSUMED stand in for YLR1"), optional=True)
OHSUMED = corpus("OHSUMED", another("OHSUMED/Fold1", note="MQ2008 and OHSUMED stand in for YLR1"), optional=True)
MQ2007 = [
    real("MQ2007/Fold1"),
    another("MQ2008/Fold1", note="MQ2008, with the same 46 features, stands in for MQ2007"),
]
SIXTY_FOUR_ARMS = matrix(NP2004, name="64 arms", optional=True)
