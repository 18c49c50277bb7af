"""The policies that came after the papers, beside the papers' own."""

from functools import partial

from ltr_duel.papers import corpus, figure, matrix, published, study, utilities

from .problems import (
    MSLR_NAVIGATIONAL_MATRIX,
    MSLR_PERFECT_MATRIX,
    MSLR_SURROGATE,
    NP2004_MATRIX,
    NP2004_SURROGATE,
    REAL_CORPORA,
)

SMALL_SETS_ONLY = ["ecw_rmed", "double_thompson_plus"]
PAIRWISE = [
    *("rucb", "rmed1", "rmed2fh", "ecw_rmed", "double_thompson", "double_thompson_plus", "merge_rucb", "merge_dts"),
    *("self_sparring", "scb", "versatile_db", "winner_stays", "winner_stays_strong", "rcs", "savage"),
]
QUICKER = [policy for policy in PAIRWISE if policy not in SMALL_SETS_ONLY]
ARXIV = [
    [0.50, 0.55, 0.55, 0.54, 0.61, 0.61],
    [0.45, 0.50, 0.55, 0.56, 0.58, 0.60],
    [0.45, 0.45, 0.50, 0.54, 0.51, 0.56],
    [0.46, 0.44, 0.46, 0.50, 0.54, 0.50],
    [0.39, 0.42, 0.49, 0.46, 0.50, 0.51],
    [0.39, 0.40, 0.44, 0.50, 0.49, 0.50],
]


@figure("state_of_the_art", "Comparison", drawing="frontier", seconds=(91, 171))
def state_of_the_art():
    """The policies that came after the papers, on the same problems.

    Which policy pays least where: by number of rankers, by how noisy the comparisons are, and how far each is from the
    lower bound.

    Setting: Published matrices, problems made by a rule with clear and with faint preferences, and utility sets of 6,
    51 and 201 arms; a million steps; 10 runs up to 16 arms, 5 up to 136, 3 with 201; parameters as each paper advises.

    Note: ECW-RMED and D-TS+ cost K^2 a step or more, and are run up to 16 arms.

    Note: MDB and the multi-dueling form of Self-Sparring compare sets, which only utilities answer here: one score of
    each arm orders the whole set, m (m - 1) / 2 outcomes a step, where a pair gives one. On matrices, where they would
    be independent coins, these two are not run. The latter draws five times as many samples a step as Self-Sparring,
    and is run up to 51 arms.

    Note: SAVAGE and RMED2FH are told the horizon; the others are not.
    """
    rule = partial(matrix, source="made by a rule")
    small = [
        matrix(name="arXiv", source="published matrix", p=ARXIV),
        rule(name="clear", family="arithmetic", size=16, gap=0.03),
        rule(name="faint", family="arithmetic", size=16, gap=0.003),
        rule(name="circle", family="cyclic", size=15),
    ]
    mslr = partial(corpus, quick={"comparisons": 1000})
    large = [
        corpus("NP2004 informational", published(NP2004_MATRIX), NP2004_SURROGATE, clicks="informational"),
        mslr("MSLR perfect", published(MSLR_PERFECT_MATRIX), MSLR_SURROGATE, clicks="perfect"),
        mslr("MSLR navigational", published(MSLR_NAVIGATIONAL_MATRIX), MSLR_SURROGATE, clicks="navigational"),
    ]
    sets = utilities(set=["1good5poor", "1good50poor", "arith6", "arith51"])
    large_sets = utilities(set=["1good200poor", "arith201"])
    runs = partial(study, horizon=1_000_000, checkpoints_per_decade=10, regrets=["average", "weak", "strong"])
    five, few = {"horizon": 100_000, "repetitions": 3}, {"horizon": 20_000, "repetitions": 2}
    return [
        runs(PAIRWISE, *small, repetitions=10, quick={"horizon": 100_000, "repetitions": 5}),
        runs(QUICKER, *large, repetitions=5, quick=five),
        runs(["mdb", "multi_self_sparring", *QUICKER], sets, repetitions=5, quick=five),
        runs(["mdb", *QUICKER], large_sets, repetitions=3, quick=few),
    ]


@figure("state_of_the_art", "Real corpora", drawing="regret", column="regret_ndcg", columns=2, seconds=(120, 202))
def real_corpora():
    """Regret with simulated users, on every real corpus at hand.

    How the policies compare where the rankers are the features of real documents, judged by people.

    Setting: All feature rankers of a corpus; navigational clicks; probabilistic interleaving for pairs, sample-only
    scored multileaving for sets; a million steps, 5 runs.

    Note: Regret is in NDCG@10, as most of these corpora have no ranker that beats all others.
    """
    quick = {"horizon": 100_000, "repetitions": 3}
    few = {"comparisons": 1000}
    problems = [problem.using(answers="live", clicks="navigational", quick=few) for problem in REAL_CORPORA]
    policies = ["mdb", "rmed1", "rucb", "merge_rucb", "self_sparring"]
    return [study(policies, *problems, horizon=1_000_000, repetitions=5, regrets=["ndcg", "average"], quick=quick)]
