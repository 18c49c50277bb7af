"""Multi-Dueling Bandits and Their Application to Online Ranker Evaluation: Brost, Seldin, Cox, Lioma. CIKM 2016."""

from functools import partial

from ltr_duel.papers import (
    another,
    cell,
    corpus,
    distortion,
    figure,
    measured,
    rank,
    ratio,
    real,
    row,
    study,
    utilities,
)

from .problems import MQ2008, MSLR, MSLR_EXCERPT, NP2004_EXCERPT, OHSUMED, YANDEX, YLR1, YLR2
from .problems import corpus as papers_corpus

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
LESS_NOISE = {"comparisons": 720, "variance_reduction": "auto"}
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
TWENTY = "20 runs instead of the paper's 10."
NDCG = "regret_ndcg"

of_paper = partial(figure, "multi_dueling")
average = partial(study, horizon=5_000_000, repetitions=20, regrets=["average"])
few = {"horizon": 100_000, "repetitions": 4}


def users(of_corpus, *, subsets=None, quick_subsets=None, **settings):
    """Simulate users of all rankers of a corpus, or of random subsets of them that have a Condorcet winner."""
    settings, quick = {**LESS_NOISE, **settings}, {}
    if subsets:
        settings["subsets"], quick["subsets"] = ({**one, "condorcet": True} for one in (subsets, quick_subsets))
    return of_corpus.using(answers="users", quick=quick, **settings)


def growth(policy, along, values, **panels):
    """Divide a policy's regret at the second of two values of a column by its regret at the first."""
    first, second = ({"policy": policy, along: value} for value in values)
    return ratio(second, first, words=f"{policy}, {values[1]} / {values[0]}", **panels)


@of_paper("Table 3", seconds=(60, 600), rows=[
    row("M11",
        "MSLR, 100 rankers: 9.2, 15.2 and 41.3% beat the Condorcet winner; 10 rankers: 0, 0, 6.8%; without ranker "
        "133 (MSLR*) there is no substantial distortion, at most 4.0%", "4.2.6, Table 3",
        *(cell(where={"item": "MSLR", "rankers": 100, "clicks": model}, low=printed - 5, high=printed + 5,
               words=f"MSLR, 100, {model}") for model, printed in zip(CLICKS, (9.2, 15.2, 41.3), strict=True)),
        cell("clear", where={"item": "MSLR", "rankers": 100}, each=["clicks"], words="clearly ahead"),
        cell(where={"item": "MSLR", "rankers": 10, "clicks": CLICKS[2]}, low=1.8, high=11.8, words="MSLR, 10"),
        cell(where={"item": "MSLR*"}, take="mean", high=5, words="MSLR*, mean of all cells"),
        why="the noise of the queries is larger than the effect; clearly ahead: by more than two standard errors"),
    row("M13", "for the MSLR dataset using a navigational click model, the distortion reached 41.3%", "5",
        undecided="the paper contradicts itself: its Table 3 prints 15.2% for navigational and 41.3% for "
        "informational clicks"),
])  # fmt: skip
def multi_dueling_table_3():
    """Distortion: who beats the Condorcet winner in large sets.

    The paper: many rankers beat the ranker that beats all others in pairs on MSLR, because of one feature (past
    clicks), and few elsewhere.

    Setting: Random sets of 3, 10 and 100 rankers that contain a Condorcet winner, multileaved 3,000 times with SOSM,
    top 10; the percentage of the others that beat the winner; 30 sets of each size.

    Note: The intervals cover the queries: the matrix, the sets and the percentage are computed again on resampled
    queries.

    Note: The winner comes from a matrix estimated with probabilistic interleave, with expected outcomes over users,
    mirrored lists and outcomes corrected for their queries. The paper does not state how it found the winner.

    Note: MSLR* is MSLR without ranker 133 (counted from 0; feature 134, past clicks on the document).

    Note: The column clear counts only rankers that beat the winner by more than two standard errors of a fair coin,
    because rankers of the same quality may be ahead by chance.
    """
    sampled = {"sizes": [3, 10, 100], "multileavings": 3000, "repetitions": 30, "resamples": 20, **LESS_NOISE}
    quick = {"repetitions": 6, "resamples": 3, "comparisons": 600, "variance_reduction": "none"}
    table = partial(measured, distortion, clicks=CLICKS, **sampled, quick=quick)
    return [
        table(real("MSLR-WEB30K/Fold1"), MSLR_EXCERPT, corpus="MSLR"),
        table(real("MSLR-WEB30K/Fold1"), MSLR_EXCERPT, corpus="MSLR*", without=133),
        *(
            table(source, optional=True, corpus=problem.settings["name"])
            for problem in (YLR1, YLR2, YANDEX)
            for source in problem.sources
        ),
    ]


@of_paper("Figure 1", drawing="regret", seconds=(31, 62), notes=[PRIOR_WINS, TWENTY], rows=[
    row("M1", "MDB performs better than all the benchmark algorithms for all the datasets", "4.2.1, Figure 1",
        rank("mdb", PAIRWISE, each=["problem"], low=1, high=1), why="the horizon is ours (10^6)"),
    row("M2", "for all the datasets with 51 or more rankers, at least an order of magnitude less regret than RMED1",
        "4.2.1, Figure 1", ratio("rmed1", "mdb", where={"rankers": [51, 201]}, each=["problem"], low=10),
        why="depends on the horizon, which is ours (10^6)"),
    row("M3",
        "the regret does not increase noticeably for MDB as we increase the number of arms, the regret of all the "
        "dueling bandit algorithms increases substantially", "4.2.1, Figure 1",
        *(growth("mdb", "problem", (UTILITY_SETS[n], UTILITY_SETS[n + 2]), high=5) for n in range(0, 15, 3)),
        *(growth("rmed1", "problem", (UTILITY_SETS[n], UTILITY_SETS[n + 2]), low=10) for n in range(0, 15, 3)),
        why="from 6 to 201 arms, 33 times as many; up to 5 times counts as not noticeable, 10 times as substantial"),
])  # fmt: skip
def multi_dueling_figure_1():
    """Regret on the fifteen sets of utilities.

    The paper: MDB performs better than all others for all sets; its regret "does not increase noticeably as we increase
    the number of arms".

    Setting: The sets of Table 1; in each step, one normal score of variance 1 is sampled for each compared arm, and the
    higher score wins. MDB with alpha .5 and beta 1.5, RMED1, RUCB with alpha .51, MergeRUCB with alpha 1.01; 10 runs.

    Note: The horizon is not printed; here it is a million steps.

    Note: In each step one score of each arm orders the whole set. A set of m arms gives m (m - 1) / 2 outcomes, a pair
    gives one outcome.
    """
    return [average(ALL, utilities(set=UTILITY_SETS), horizon=1_000_000, quick={"horizon": 100_000})]


@of_paper("Figure 2", drawing="regret", seconds=(30, 800), notes=[PRIOR_WINS, REGRET_MATRIX, TWENTY], rows=[
    row("M4",
        "MDB outperforms RMED1 by a factor of approximately 3 for MSLR, and approximately 1-2 orders of magnitude "
        "for all the other datasets", "4.2.2, Figure 2",
        ratio("rmed1", "mdb", where={"corpus": "MSLR"}, low=2, high=4.5, words="MSLR, average regret, rmed1 / mdb"),
        ratio("rmed1", "mdb", where={"corpus": ["YLR1", "YLR2", "Yandex"]}, each=["corpus"], low=10, high=150),
        why="the interval covers runs, not queries"),
])  # fmt: skip
def multi_dueling_figure_2():
    """Regret on MSLR, both sets of Yahoo, and Yandex.

    The paper: MDB outperforms RMED1 "by a factor of approximately 3" on MSLR, "and approximately 1-2 orders of
    magnitude for all the other datasets. RMED1 outperforms RUCB and MergeRUCB".

    Setting: Simulated users with navigational clicks; 136, 519, 596 and 200 feature rankers; 5 million steps, 10 runs;
    probabilistic interleaving for pairs, sample-only scored multileaving for sets.
    """
    yandex = users(YANDEX, subsets={"size": 200}, quick_subsets={"size": 75})
    return [average(ALL, users(MSLR), users(YLR1), users(YLR2), yandex, quick=few)]


@of_paper("Figure 2, other corpora", drawing="regret", column=NDCG, columns=2, spread="quantiles", seconds=(60, 300),
    notes=[PRIOR_WINS], rows=[
    row("M5", "MDB performs best for all the datasets; orders of magnitude improvement", "abstract, 4.2.2, Figure 2",
        ratio("rmed1", "mdb", column=NDCG, each=["corpus"], low=1, words="NDCG regret, rmed1 / mdb"),
        why="what the same comparison gives on four corpora that are not the paper's, for each impression"),
    row("M6", "RMED1 outperforms RUCB and MergeRUCB", "4.2.2, Figure 2",
        ratio("rucb", "rmed1", column=NDCG, each=["corpus"], low=1, words="NDCG regret, rucb / rmed1"),
        ratio("merge_rucb", "rmed1", column=NDCG, each=["corpus"], low=1, words="NDCG regret, merge_rucb / rmed1")),
])  # fmt: skip
def multi_dueling_other_corpora():
    """Regret in NDCG on four corpora that the paper does not use.

    The paper: MDB performs best on its four corpora.

    Setting: Ours: all feature rankers; navigational clicks; a million steps, 20 runs; regret in NDCG@10.

    Note: NDCG regret is measured against the ranker with the highest NDCG@10; no estimated matrix enters.
    """
    theirs = partial(another, note="not the paper's corpora, or only parts of them")
    sources = {
        "MQ2008": theirs("MQ2008/Fold1"),
        "OHSUMED": theirs("OHSUMED/Fold1"),
        "MSLR": MSLR_EXCERPT,
        "NP2004": NP2004_EXCERPT,
    }
    live = {"clicks": "navigational", "answers": "users", "comparisons": 1000}
    problems = [corpus(name, source, optional=True, **live) for name, source in sources.items()]
    return [
        average(ALL, *problems, horizon=1_000_000, checkpoints_per_decade=10, regrets=["ndcg", "average"], quick=few)
    ]


@of_paper("Figure 3", drawing="size", panel="corpus", seconds=(30, 1200),
    notes=[PRIOR_WINS, REGRET_MATRIX, TWENTY], rows=[
    row("M7", "as the number of rankers increases the cumulative regret increases most for RUCB and MergeRUCB; regret "
        "appears to be almost independent of the number of rankers for MDB", "4.2.3, Figure 3",
        growth("mdb", "rankers", ("least", "greatest"), high=2),
        *(growth(policy, "rankers", ("least", "greatest"), low=2) for policy in PAIRWISE),
        ratio("merge_rucb", "random_slate", where={"rankers": "greatest"}, words="most rankers, merge_rucb / random"),
        why="from the fewest to the most rankers; up to twice counts as almost independent"),
])  # fmt: skip
def multi_dueling_figure_3():
    """Regret against the number of rankers, YLR1.

    The paper: regret "increases most for RUCB and MergeRUCB, while it increases more slowly for RMED1. Regret appears
    to be almost independent of the number of rankers for MDB".

    Setting: 10, 25, ..., 145 random rankers of YLR1 with a Condorcet winner, a different subset for each of the 10
    runs; navigational clicks; 5 million steps. The random policy compares a random set of rankers at each step.

    Note: Without YLR1, an excerpt of MSLR with 10 to 130 of its rankers stands in. The random policy is run on three
    of the twenty subsets.
    """
    problem = papers_corpus("YLR1 or MSLR", *YLR1.sources, MSLR_EXCERPT)
    sizes, quick_sizes = list(range(10, 131, 15)), [10, 40, 100]
    twenty, three = (
        users(
            problem, subsets={"size": sizes, "count": count}, quick_subsets={"size": quick_sizes, "count": quick_count}
        )
        for count, quick_count in ((20, 4), (3, 2))
    )
    runs = partial(average, repetitions=1, checkpoints_per_decade=5, quick={"horizon": 50_000})
    return [runs(ALL, twenty), runs(["random_slate"], three)]


@of_paper("Figure 4", drawing="regret", column=NDCG, seconds=(60, 900),
    notes=[PRIOR_WINS, REGRET_MATRIX, TWENTY], rows=[
    row("M8",
        "for MDB, the regret doubles from perfect to navigational, but does not increase further for informational; "
        "for the dueling bandit algorithms, it doubles twice", "4.2.4, Figure 4",
        *(growth(policy, "clicks", CLICKS[:2], column=NDCG, each=["corpus"], low=1.5, high=2.7) for policy in ALL),
        growth("mdb", "clicks", CLICKS[1:], column=NDCG, each=["corpus"], high=1.2),
        *(growth(policy, "clicks", CLICKS[1:], column=NDCG, each=["corpus"], low=1.5, high=2.7) for policy in PAIRWISE),
        why="NDCG regret; 1.5 to 2.7 times counts as twice"),
])  # fmt: skip
def multi_dueling_figure_4():
    """Regret under three click models, YLR1.

    The paper: "For MDB, the regret doubles when going from the perfect to the navigational click model, but does not
    increase further for the informational click model"; for the others, it doubles twice.

    Setting: 200 random rankers of YLR1; perfect, navigational and informational clicks; 5 million steps, 10 runs.

    Note: MQ2008 and OHSUMED, with all rankers and a million steps, show the same comparison on other corpora. Regret is
    in NDCG, because with 4,000 comparisons of each pair their estimates need not have a Condorcet winner.
    """
    ylr1 = users(YLR1, clicks=CLICKS, subsets={"size": 200}, quick_subsets={"size": 80})
    others = [users(problem, clicks=CLICKS) for problem in (MQ2008, OHSUMED)]
    runs = partial(average, ALL, regrets=["ndcg", "average"], quick=few)
    return [runs(ylr1), runs(*others, horizon=1_000_000)]


@of_paper("Figure 5", drawing="regret", column=NDCG, seconds=(20, 600), notes=[PRIOR_WINS, TWENTY], rows=[
    row("M9", "without a Condorcet winner, MDB outperforms RMED1 by approximately an order of magnitude",
        "4.2.5, 5, Figure 5", ratio("rmed1", "mdb", column=NDCG, each=["corpus"], low=5, high=20)),
])  # fmt: skip
def multi_dueling_figure_5():
    """Regret in NDCG, all rankers of Yandex.

    The paper: "MDB outperforms the best dueling bandit algorithm, RMED1, by approximately an order of magnitude".

    Setting: All 245 feature rankers, which have no Condorcet winner; navigational clicks; regret in NDCG@10, equation
    (4); 5 million steps, 10 runs.

    Note: Without Yandex, an excerpt of NP2004 stands in, which has no Condorcet winner by the papers' rule, either.
    """
    problem = papers_corpus("Yandex or NP2004", *YANDEX.sources, NP2004_EXCERPT)
    return [average(ALL, users(problem), regrets=["ndcg", "average"], quick=few)]


@of_paper("Figure 6", drawing="regret", seconds=(15, 130), notes=[PRIOR_WINS, REGRET_MATRIX, TWENTY], rows=[
    row("M10", "MSLR with informational clicks: the case in which MDB does not substantially outperform RMED1",
        "4.2.6, Figure 6", ratio("rmed1", "mdb", high=1.5), why="on the excerpt it is not the only case (M4)"),
])  # fmt: skip
def multi_dueling_figure_6():
    """Regret on MSLR with informational clicks.

    The paper: the case in which MDB does not have clearly less regret than RMED1, because one ranker, feature 134 of
    MSLR (the click count), distorts comparisons of sets that contain it.

    Setting: All 136 feature rankers of MSLR; informational clicks; 5 million steps, 10 runs.
    """
    return [average(ALL, users(MSLR, clicks="informational"), quick=few)]
