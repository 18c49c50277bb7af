"""Multi-Dueling Bandits and Their Application to Online Ranker Evaluation: Brost, Seldin, Cox, Lioma. CIKM 2016."""

from functools import partial

from ltr_duel.papers import another, figure, measured, real, study, surrogate, utilities

from .problems import MSLR, MSLR_EXCERPT, MSLR_MATRIX, YANDEX, YLR1, YLR1_LARGER, YLR2

PAIRWISE = ["rmed1", "rucb", "merge_rucb"]
ALL = ["mdb", *PAIRWISE]
CLICKS = ["perfect", "navigational", "informational"]
UTILITY_SETS = [
    *("1good5poor", "1good50poor", "1good200poor"),
    *("2good4poor", "11good40poor", "41good160poor"),
    *("3good3poor", "21good30poor", "81good120poor"),
    *("arith6", "arith51", "arith201"),
    *("geom6", "geom51", "geom201"),
]
LESS_NOISE = {"comparisons": 720, "variance_reduction": ["integrated", "antithetic", "control"]}
REGRET_MATRIX = (
    "The paper does not state which preferences define the regret. Here, the preferences of probabilistic interleaving "
    "under the same click model are used for all policies. They are estimated with expected outcomes over users, "
    "mirrored lists and outcomes corrected for their queries: the standard errors of 720 lists of each pair are at "
    "most the standard errors of 4,000 plain comparisons."
)
PRIOR_WINS = (
    "RUCB starts without prior wins; Lerot's RUCB, which the paper used, starts with one prior win of each arm against "
    "each other arm. On the sets 1good50poor and arith51 the regret of both versions is the same within 2 %."
)
SURROGATE = (
    "A surrogate is a synthetic corpus with the same numbers of rankers, grades and documents per query; it has fewer "
    "queries."
)

of_paper = partial(figure, "multi_dueling")
average = partial(study, horizon=5_000_000, regrets=["average"])
ten_runs = partial(average, repetitions=10, quick={"horizon": 100_000, "repetitions": 3})
one_run = partial(average, repetitions=1, checkpoints_per_decade=5, quick={"horizon": 50_000})


def users(corpus, *, subsets=None, quick_subsets=None, **settings):
    """Simulate users of all rankers of a corpus, or of random subsets of them that have a Condorcet winner."""
    settings, quick = {**LESS_NOISE, **settings}, {"comparisons": 1000, "variance_reduction": []}
    if subsets:
        settings["subsets"], quick["subsets"] = ({**one, "condorcet": True} for one in (subsets, quick_subsets))
    return corpus.using(answers="live", quick=quick, **settings)


@of_paper("Table 1", drawing="table", seconds=(1, 1))
def multi_dueling_table_1():
    """Fifteen sets of utilities.

    The table shows the utilities of each synthetic problem and its difficulty: the winner's gaps, and the factors of
    ln T in the lower bounds on regret.

    Setting: Arms with normal scores around their utility, variance 1; the higher score wins.

    Note: lower_bound is for policies that compare two arms per step (Komiyama et al., COLT 2015). multiduel_bound is an
    analogue for policies that compare sets, for orientation only.

    Note: The paper prints the utilities, but neither gaps nor bounds.
    """
    items = ["smallest_gap", "mean_gap", "lower_bound", "multiduel_bound"]
    printed = {name: {"utility second": 0.2 if name.startswith("1good") else 0.7} for name in UTILITY_SETS}
    printed |= {"utility best": 0.8, "utility last": 0.2}
    return [measured("properties", matrices=UTILITY_SETS, items=items, printed=printed)]


@of_paper("Table 3", drawing="table", rows=["corpus", "rankers"], columns=["clicks"], seconds=(97, 391))
def multi_dueling_table_3():
    """Distortion: who beats the Condorcet winner in large sets.

    The table shows how many rankers of a large set, multileaved as a whole, beat the ranker that beats all others in
    pairs. In the paper, there are many such rankers on MSLR, because of one feature (past clicks), and few elsewhere.

    Setting: Random sets of 3, 10 and 100 rankers that contain a Condorcet winner, multileaved 3,000 times with SOSM,
    top 10; the percentage of the others that beat the winner; 30 sets of each size.

    Note: The paper's conclusion attributes 41.3% to navigational clicks, its table to informational clicks.

    Note: The winner comes from a matrix estimated with probabilistic interleave, with expected outcomes over users,
    mirrored lists and outcomes corrected for their queries: the standard errors of 720 lists of each pair (360 for YLR1
    and YLR2) are at most the standard errors of 4,000 (2,000) plain comparisons. The paper does not state how it found
    the winner.

    Note: MSLR* is MSLR without ranker 133 (counted from 0; feature 134, past clicks on the document). A surrogate has
    no such feature, so its MSLR and MSLR* differ only by chance.

    Note: The column clear counts only rankers that beat the winner by more than two standard errors of a fair coin,
    because rankers of the same quality may be ahead by chance.
    """
    sampled = {"sizes": [3, 10, 100], "multileavings": 3000, "repetitions": 30, "seed": 0, **LESS_NOISE}
    quick = {"repetitions": 8, "comparisons": 600, "variance_reduction": []}
    row = partial(measured, "distortion", clicks=CLICKS, **sampled, quick=quick)
    shape = partial(surrogate, queries=1000, grades=5, dead=0.0, constant=0.0)
    few, note = {"queries": 200, "features": 150}, "a synthetic corpus of {} rankers, of 150 at quick scale".format
    mslr = [
        real("mslr-web30k", "MSLR-WEB30K/Fold1"),
        another("mslr-web10k", note="MSLR-WEB10K stands in for MSLR-WEB30K"),
        MSLR_EXCERPT,
        shape(
            documents=60,
            features=136,
            name="MSLR surrogate",
            note="136 rankers on a synthetic corpus",
            quick={"queries": 200},
        ),
    ]
    ylr1 = shape(documents=24, features=519, name="YLR1 surrogate", note=note(519), quick=few)
    ylr2 = shape(documents=27, features=596, name="YLR2 surrogate", note=note(596), quick=few)
    yandex = shape(documents=11, features=245, name="Yandex surrogate", note=note(245), quick=few)

    def printed(*percents):
        """Return the percentages for the three sizes by click model."""
        return dict(zip(CLICKS, percents, strict=True))

    of_mslr = printed([0.0, 0.0, 9.2], [0.0, 0.0, 15.2], [0.0, 6.8, 41.3])
    without = printed([1.7, 3.1, 3.3], [1.7, 4.0, 3.5], [0.0, 2.9, 2.7])
    of_ylr1 = printed([0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.3])
    of_ylr2 = printed([0.0, 0.0, 0.4], [0.0, 0.4, 0.8], [0.0, 1.0, 0.9])
    of_yandex = printed([0.0, 1.1, 1.4], [3.3, 4.5, 3.8], [3.3, 3.9, 3.4])
    return [
        row(*mslr, corpus="MSLR", printed=of_mslr),
        row(*mslr, corpus="MSLR*", without=133, printed=without),
        row(real("yahoo-set1"), ylr1, corpus="YLR1", comparisons=360, printed=of_ylr1),
        row(real("yahoo-set2"), ylr2, corpus="YLR2", comparisons=360, printed=of_ylr2),
        row(real("imat2009"), yandex, corpus="Yandex", printed=of_yandex),
    ]


@of_paper("Figure 1", drawing="regret", columns=3, seconds=(31, 31), notes=[PRIOR_WINS])
def multi_dueling_figure_1():
    """Regret on the fifteen sets of utilities.

    MDB has the least regret on every set, and its advantage grows with the number of arms; its regret hardly depends on
    this number.

    Setting: The sets of Table 1; in each step, one normal score of variance 1 is sampled for each compared arm, and the
    higher score wins. MDB with alpha .5 and beta 1.5, RMED1, RUCB with alpha .51, MergeRUCB with alpha 1.01; 10 runs.

    Note: The horizon is not printed; here it is a million steps.

    Note: In each step one score of each arm orders the whole set. A set of m arms gives m (m - 1) / 2 outcomes, a pair
    gives one outcome.
    """
    quick = {"horizon": 100_000, "repetitions": 5}
    return [ten_runs(ALL, utilities(set=UTILITY_SETS), horizon=1_000_000, quick=quick)]


@of_paper("Figure 2", drawing="regret", columns=3, seconds=(54, 393), notes=[PRIOR_WINS, REGRET_MATRIX, SURROGATE])
def multi_dueling_figure_2():
    """Regret on MSLR, both sets of Yahoo, and Yandex.

    MDB has about a third of RMED1's regret on MSLR, and a tenth to a hundredth elsewhere; RMED1 has less regret than
    RUCB and MergeRUCB.

    Setting: Simulated users with navigational clicks; 136, 519, 596 and 200 feature rankers; 5 million steps, 10 runs;
    probabilistic interleaving for pairs, sample-only scored multileaving for sets.

    Note: The panel 'MSLR matrix' shows the pairwise policies on the navigational matrix published with MergeDTS.

    Note: The quick scale has fewer rankers on the surrogates of Yahoo and Yandex.
    """
    yandex = users(YANDEX, subsets={"size": 200}, quick_subsets={"size": 75})
    return [ten_runs(ALL, users(MSLR), users(YLR1), users(YLR2), yandex), ten_runs(PAIRWISE, MSLR_MATRIX)]


@of_paper("Figure 3", drawing="size", panel="corpus", seconds=(18, 581), notes=[PRIOR_WINS, REGRET_MATRIX, SURROGATE])
def multi_dueling_figure_3():
    """Regret against the number of rankers, YLR1.

    MDB's regret hardly depends on the number of rankers; the regret of RUCB and MergeRUCB grows most, and MergeRUCB
    comes close to random sets.

    Setting: 10, 25, ..., 145 random rankers of YLR1 with a Condorcet winner, a different subset for each of the 10
    runs; navigational clicks; 5 million steps. The random policy compares a random set of rankers at each step.

    Note: The random policy, whose regret hardly varies, is run on the first three of the ten subsets.
    """
    sizes, quick_sizes = list(range(10, 146, 15)), [10, 40, 70, 100]
    ten, three = (
        users(
            YLR1_LARGER,
            subsets={"size": sizes, "count": count},
            quick_subsets={"size": quick_sizes, "count": quick_count},
        )
        for count, quick_count in ((10, 4), (3, 2))
    )
    return [one_run(ALL, ten), one_run(["random_slate"], three)]


@of_paper("Figure 4", drawing="regret", columns=3, seconds=(18, 370), notes=[PRIOR_WINS, REGRET_MATRIX, SURROGATE])
def multi_dueling_figure_4():
    """Regret under three click models, YLR1.

    Under each click model, MDB has a tenth to a hundredth of the regret of the best pairwise policy. Each change to a
    noisier click model doubles the regret of the pairwise policies; only the first change doubles MDB's regret.

    Setting: 200 random rankers of YLR1; perfect, navigational and informational clicks; 5 million steps, 10 runs.
    """
    return [ten_runs(ALL, users(YLR1, clicks=CLICKS, subsets={"size": 200}, quick_subsets={"size": 80}))]


@of_paper("Figure 5", drawing="regret", column="regret_ndcg", seconds=(2, 50))
def multi_dueling_figure_5():
    """Regret in NDCG, all rankers of Yandex.

    Without a Condorcet winner, MDB has about a tenth of RMED1's regret in NDCG.

    Setting: All 245 feature rankers, which have no Condorcet winner; navigational clicks; regret in NDCG@10, equation
    (4); 5 million steps, 10 runs.

    Note: A surrogate is a synthetic corpus with the same numbers of rankers, grades and documents per query; it has
    fewer queries, and its rankers may have a Condorcet winner.
    """
    return [ten_runs(ALL, users(YANDEX), regrets=["ndcg", "average"])]


@of_paper("Figure 6", drawing="regret", seconds=(15, 62), notes=[PRIOR_WINS, REGRET_MATRIX])
def multi_dueling_figure_6():
    """Regret on MSLR with informational clicks.

    This is the only case of the paper in which MDB does not have clearly less regret than RMED1.

    Setting: All 136 feature rankers of MSLR; informational clicks; 5 million steps, 10 runs.

    Note: The paper attributes this to one ranker, feature 134 of MSLR (the click count), which distorts comparisons of
    sets that contain it; a surrogate has no such feature, so the effect appears only on the real corpus.
    """
    return [ten_runs(ALL, users(MSLR, clicks="informational"))]
