"""Dueling Bandits, a survey: Wolfenfeld. All rows are about policies, so MQ2008 decides them in place of MQ2007."""

from functools import partial

from ltr_duel.papers import corpus, figure, rank, ratio, row, study, utilities

from .problems import MQ2007, PAPERS_RULE, SIXTY_FOUR_ARMS

RUCB, RCS = "rucb:alpha=0.5", "rcs:alpha=0.5"
DOUBLERS = ["improved_doubler", "thompson_doubler"]
ALL = ["savage", "doubler", RUCB, RCS, "sparring", *DOUBLERS, "thompson_sparring"]
HALF = (
    "RUCB and RCS are run with U(x, x) = 1/2, as in RUCB's paper, and with alpha = .5, as in the author's code; boxes "
    "3 and 4 of the survey demand alpha > 1/2 and print U(x, x) <- 0. With the latter, an arm is never compared with "
    "itself, and regret is linear: on a linear list of 7 arms the regret of RCS would be about 5,600 instead of 125."
)
EPOCHS = "Doubler's epochs are 1, 2, 4, ... steps long; in the survey's text they are 2, 4, 8, ... steps long."
CORRECTION = "Improved Doubler follows the survey's box 9; in the survey's derivation the correction is twice as large."
NO_NUMBERS = (
    "The survey's figures have no numbers on their axes; 131,072 steps and 20 runs are the values of the author's code."
)
UTILITY_NOTES = [
    f"{NO_NUMBERS} The survey's subsets of features are random and not named, its code takes the first K features; "
    "here 20 random subsets with 5 runs each.",
    "An arm's utility is 1 with a probability equal to the mean of its feature, else 0; the mean is over the "
    "documents, after scaling the feature to 0..1 within each query.",
]
PREFERENCE_NOTES = [
    NO_NUMBERS,
    "The click model is not printed; here it is navigational, with 4,000 comparisons of each pair. The author's code "
    "reads a stored matrix: the panel '64 arms' uses the matrix published with this code.",
]
ON_SUBSETS = {"column": "regret_utility", "each": ["rankers"], "subsets": True}
PAIRS = [RCS, "doubler", *DOUBLERS, "sparring", "thompson_sparring"]

of_paper = partial(figure, "wolfenfeld", drawing="regret")
utility_figure = partial(of_paper, column="regret_utility", notes=UTILITY_NOTES)
preference_figure = partial(of_paper, columns=2, notes=PREFERENCE_NOTES)
runs = partial(study, horizon=131_072, repetitions=20)
statement = partial(row, anywhere=True)


def by_utility(policies, *sizes):
    """Measure the regret in utility on random subsets of the features; all 46 are one set."""
    arms = partial(utilities, *MQ2007, name="MQ2007", model="linear")
    some = [arms(subsets={"size": [size for size in sizes if size < 46], "count": 20})]
    whole = [runs(policies, arms(size=46), regrets=["utility", "average"])] if 46 in sizes else []
    return [runs(policies, *some, repetitions=5, regrets=["utility", "average"]), *whole]


def last(policy, other, words):
    """Rank a policy from the most regret, among all policies but one that may have even more."""
    among = [one for one in ALL if one not in (policy, other)]
    return rank(policy, among, most=True, low=1, high=1, words=words, **ON_SUBSETS)


@utility_figure("Figure 1", notes=[*UTILITY_NOTES, HALF, EPOCHS, CORRECTION], seconds=(22, 40), rows=[
    statement("W1", "7 arms: SAVAGE and Doubler are outperformed by the other algorithms", "5.1, Figure 1",
        last("savage", "doubler", "savage among all but doubler, rank by regret, most first"),
        last("doubler", "savage", "doubler among all but savage, rank by regret, most first"),
        why="ranges over 20 random subsets; Balanced Doubler is not run: its hot start would take K^2 / gap steps"),
])  # fmt: skip
def wolfenfeld_figure_1():
    """All algorithms, 7 arms.

    The paper: "the SAVAGE and Doubler algorithms are outperformed by the other algorithms".

    Setting: Utility-based regret with 7 arms, linear link; the arms are features of MQ2007.
    """
    return by_utility(ALL, 7)


@utility_figure("Figure 2", notes=[*UTILITY_NOTES, HALF, EPOCHS, CORRECTION], seconds=(10, 40), rows=[
    statement("W3",
        "for a larger number of arms RCS and RUCB are outperformed by the other algorithms; Sparring beats RCS",
        "5.1, 5.2, Figures 2, 3, 4",
        *(rank(policy, ["sparring", *DOUBLERS, "thompson_sparring"], most=True, low=1, high=1,
               **ON_SUBSETS | {"where": {"rankers": 24}}) for policy in (RCS, RUCB)),
        ratio(RCS, "sparring", low=1, **ON_SUBSETS | {"where": {"rankers": 16}}),
        ratio(RCS, "sparring", low=1, column="regret_utility", where={"rankers": 46, "model": "linear"},
            words="46 arms, rcs / sparring"),
        ratio(RCS, "sparring", low=1, where={"rankers": 46, "top": 10}, words="preference regret, rcs / sparring"),
        also=["wolfenfeld_utility", "wolfenfeld_preference"], why="24, 16 and 46 arms"),
    statement("W5",
        "Unforgetful Thompson Sampling Doubler outperformed all the other algorithms apart from Thompson Sampling "
        "Sparring", "4.0.10",
        rank("thompson_doubler", [one for one in ALL if "thompson" not in one], low=1, high=1, **ON_SUBSETS),
        why="24 arms; ranges over 20 random subsets"),
])  # fmt: skip
def wolfenfeld_figure_2():
    """All algorithms, 24 arms.

    The paper: "For a larger number of arms we can see that RCS and RUCB are outperformed by the other algorithms".

    Setting: Utility-based regret with 24 arms, linear link; the arms are features of MQ2007.
    """
    return by_utility(ALL, 24)


@utility_figure("Figures 3, 5, 7, 9, 10 and 12", seconds=(15, 40),
    notes=[*UTILITY_NOTES, HALF, EPOCHS, CORRECTION], rows=[
    statement("W2",
        "with a small number of arms RCS quickly converges to the optimal arm; less regret than Sparring (figure)",
        "5.2, Figures 1, 3 (a)", ratio("sparring", RCS, low=1, **ON_SUBSETS | {"where": {"rankers": 7}}),
        why="7 arms; with U(x, x) = 0, as printed, RCS has linear regret"),
    statement("W4",
        "Doubler has more regret than Sparring (figure), Improved Doubler and Thompson Doubler (paraphrase)",
        "5.3, 4.0.9, 4.0.10, Figures 5 to 8, 10, 11",
        *(ratio("doubler", better, low=1, **ON_SUBSETS) for better in ("sparring", *DOUBLERS)),
        why="46 arms are all features, 7 and 16 random subsets"),
])  # fmt: skip
def wolfenfeld_utility():
    """Pairs of algorithms, utility-based regret.

    The paper: with few arms RCS "quickly converges to the optimal arm"; Doubler has more regret than Sparring; Improved
    Doubler and Thompson Doubler forget nothing; Sparring with two Thompson samplers has less regret than with two UCBs.

    Setting: Utility-based regret with 7, 16 and 46 arms, linear link; the arms are features of MQ2007.

    Note: The survey shows each pair in a figure of its own. The printed caption of Figure 10 repeats that of Figure 7.
    """
    return by_utility(PAIRS, 7, 16, 46)


@preference_figure("Figures 4, 6, 8, 11 and 13", seconds=(15, 20),
    notes=[*PREFERENCE_NOTES, HALF, EPOCHS, CORRECTION], rows=[
    statement("W6", "for 46 arms Sparring with Thompson Sampling methods performs better than all the other algorithms",
        "5.1, 5.7, Figures 12, 13",
        rank("thompson_sparring", PAIRS[:-1], low=1, high=1, where={"rankers": 46, "top": 10},
            words="preference regret, rank of thompson_sparring"),
        ratio("sparring", "thompson_sparring", low=1, **ON_SUBSETS | {"where": {"rankers": 16, "model": "linear"}}),
        also=["wolfenfeld_utility"], why="46 arms by preference, 16 arms by utility"),
])  # fmt: skip
def wolfenfeld_preference():
    """Pairs of algorithms, preference-based regret.

    The paper: Sparring has less regret than RCS, Doubler more than Sparring; "Sparring with Thompson Sampling methods
    performs better than all the other algorithms".

    Setting: Preference-based regret with all 46 feature rankers of MQ2007.
    """
    features = corpus("MQ2007", *MQ2007, drop_constant=False, **PAPERS_RULE)
    return [runs(PAIRS, features, SIXTY_FOUR_ARMS, regrets=["average", "copeland"])]
