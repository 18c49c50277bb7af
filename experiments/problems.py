"""The data of the papers, declared once: possible paths of a corpus or matrix, and replacements for missing data."""

from functools import partial

from ltr_duel.papers import another, excerpt, matrix, published, real, surrogate, utilities
from ltr_duel.papers import corpus as any_corpus

# The papers' estimates use the sign of the marginal outcome and one user for each list. The package has other defaults.
PAPERS_RULE = {"outcome": "marginal_sign", "comparisons": 4000, "variance_reduction": []}
corpus = partial(any_corpus, **PAPERS_RULE)

NP2004_MATRIX = "preference_matrices/wolfenfeld_PMat_64.npy"  # published with Wolfenfeld's code, without names
MSLR_PERFECT_MATRIX = "preference_matrices/MergeDTS_MSLR-Perfect.txt"
MSLR_NAVIGATIONAL_MATRIX = "preference_matrices/MergeDTS_MSLR-Nabigational.txt"  # the authors' spelling

MSLR_SURROGATE = surrogate(queries=500, documents=60, features=148, grades=5)
NP2004_SURROGATE = surrogate(queries=75, documents=100, features=70, grades=2)
MQ2007_SURROGATE = surrogate(queries=336, documents=41, features=46, grades=3)
MSLR_EXCERPT = excerpt("MSLR_excerpt/Fold1", note="36 queries of MSLR-WEB30K")


def yahoo_surrogate(features, seed, quick_features):
    """Return a surrogate of a set of Yahoo, with fewer rankers at the quick scale."""
    few = {"queries": 300, "features": quick_features}
    return surrogate(queries=1000, documents=20, features=features, grades=5, seed=seed, quick=few)


MSLR = corpus(
    "MSLR",
    real("mslr-web30k", "MSLR-WEB30K/Fold1"),
    another("mslr-web10k", "MSLR-WEB10K/Fold1", note="MSLR-WEB10K stands in for MSLR-WEB30K"),
    MSLR_EXCERPT,
    MSLR_SURROGATE,
)
YLR1 = corpus("YLR1", real("yahoo-set1", "Yahoo/set1"), yahoo_surrogate(565, 1, quick_features=109))
YLR1_LARGER = corpus("YLR1", real("yahoo-set1", "Yahoo/set1"), yahoo_surrogate(565, 1, quick_features=131))
YLR2 = corpus("YLR2", real("yahoo-set2", "Yahoo/set2"), yahoo_surrogate(648, 2, quick_features=131))
YANDEX = corpus(
    "Yandex",
    real("imat2009", "IMAT2009/imat2009_learning.txt", labels="round"),
    surrogate(queries=1000, documents=11, features=267, grades=5, seed=3, quick={"queries": 300, "features": 100}),
)
MSLR_MATRIX = matrix(published(MSLR_NAVIGATIONAL_MATRIX), name="MSLR matrix", optional=True)
NP2004 = corpus(
    "NP2004",
    published(NP2004_MATRIX),
    excerpt("NP2004/Fold1", ties="redraw_at_inference", note="some of the 75 queries of NP2004"),
    NP2004_SURROGATE,
    clicks="informational",
)
MQ2007 = corpus(
    "MQ2007",
    real("MQ2007/Fold1"),
    another("MQ2008/Fold1", name="MQ2008 for MQ2007", note="MQ2008 stands in for MQ2007"),
    MQ2007_SURROGATE,
    drop_constant=False,
)
MQ2007_FEATURES = utilities(
    real("MQ2007/Fold1/test.txt"),
    another("MQ2008/Fold1/test.txt", name="MQ2008 for MQ2007", note="MQ2008 stands in for MQ2007"),
    MQ2007_SURROGATE,
    name="MQ2007",
    model="linear",
)
SIXTY_FOUR_ARMS = matrix(published(NP2004_MATRIX), name="64 arms", optional=True)

_SAME_MATRIX = "very probably the paper's own matrix, its rankers in another order"
NP2004_FOR_MEASURES = [
    published(NP2004_MATRIX, note=_SAME_MATRIX),
    excerpt("NP2004/Fold1", note="some of the 75 queries of NP2004"),
    surrogate(
        queries=75,
        documents=200,
        features=64,
        grades=2,
        name="NP2004 surrogate",
        note="64 rankers on a synthetic corpus with two grades",
    ),
]

REAL_CORPORA = [  # corpora that are used if they are available, whole or in part; with the package's default rules
    any_corpus(name, *sources, optional=True, comparisons=20_000, quick={"comparisons": 1000})
    for name, *sources in (
        ("NP2004", excerpt("NP2004/Fold1", note="15 of the 75 queries of NP2004")),
        ("MQ2007", real("MQ2007/Fold1")),
        ("MQ2008", real("MQ2008/Fold1")),
        ("OHSUMED", real("OHSUMED/Fold1")),
        ("MSLR", MSLR.sources[0], MSLR_EXCERPT),
        ("YLR1", YLR1.sources[0]),
        ("YLR2", YLR2.sources[0]),
        ("Yandex", YANDEX.sources[0]),
    )
]
