"""Dueling Bandits, a survey: Wolfenfeld."""

from functools import partial

from ltr_duel.papers import figure, study, utilities

from .problems import MQ2007, MQ2007_FEATURES, SIXTY_FOUR_ARMS

DOUBLERS = ["improved_doubler", "balanced_doubler", "thompson_doubler"]
ALL = ["savage", "doubler", "rucb:alpha=0.5", "rcs:alpha=0.5", "sparring", *DOUBLERS, "thompson_sparring"]
HALF = (
    "RUCB and RCS are run with U(x, x) = 1/2, as in RUCB's paper. Boxes 3 and 4 of the survey print U(x, x) <- 0. Then "
    "an arm is never compared with itself, and regret is linear: on a linear list of 7 arms the regret of RCS would be "
    "about 5,600 instead of 125; Sparring's is 190."
)
EPOCHS = "Doubler's epochs are 1, 2, 4, ... steps long; in the survey's text they are 2, 4, 8, ... steps long."
CORRECTION = "Improved Doubler follows the survey's box 9; in the survey's derivation the correction is twice as large."
NO_NUMBERS = (
    "The survey's figures have no numbers on their axes; 131,072 steps and 20 runs are the values of the author's code."
)
UTILITY_NOTES = [
    f"{NO_NUMBERS} As in this code, the arms are the first K features.",
    "An arm's utility is 1 with a probability equal to the mean of its feature, else 0; the mean is over the "
    "documents, after scaling the feature to 0..1 within each query.",
    "The panels of synthetic arms are the sets of the author's code: one strong arm, a linear list, three close arms, "
    "uniform arms.",
]
PREFERENCE_NOTES = [
    NO_NUMBERS,
    "The click model is not printed; here it is navigational, with 4,000 comparisons of each pair. The author's code "
    "reads a stored matrix: the panel '64 arms' uses the matrix published with this code.",
]

of_paper = partial(figure, "wolfenfeld", drawing="regret", store="wolfenfeld")
utility_figure = partial(of_paper, column="regret_utility", columns=3, notes=UTILITY_NOTES)
preference_figure = partial(of_paper, columns=2, notes=PREFERENCE_NOTES)
runs = partial(study, horizon=131_072, repetitions=20, quick={"repetitions": 5})


def by_utility(policies, size, synthetic_size=16):
    """Measure the regret in utility: arms that are features, and the four sets of arms of the author's code."""
    families = ["one_strong_arm", "linear_list", "close_arms", "uniform_arms"]
    synthetic = utilities(family=families, size=synthetic_size, model="linear")
    return [runs(policies, MQ2007_FEATURES.using(size=size), synthetic, regrets=["utility", "average"])]


def by_preference(policies):
    """Measure the regret in preference: all feature rankers, and the published matrix."""
    return [runs(policies, MQ2007, SIXTY_FOUR_ARMS, regrets=["average", "copeland"])]


@utility_figure("Figure 1", notes=[*UTILITY_NOTES, HALF, EPOCHS, CORRECTION], seconds=(22, 22))
def wolfenfeld_figure_1():
    """All algorithms, 7 arms.

    SAVAGE and Doubler have more regret than all other policies.

    Setting: Utility-based regret with 7 arms, linear link; the arms are features of MQ2007.
    """
    return by_utility(ALL, 7, synthetic_size=7)


@utility_figure("Figure 2", notes=[*UTILITY_NOTES, HALF, EPOCHS, CORRECTION], seconds=(8, 8))
def wolfenfeld_figure_2():
    """All algorithms, 24 arms.

    With more arms RCS and RUCB are overtaken by the others.

    Setting: Utility-based regret with 24 arms, linear link; the arms are features of MQ2007.
    """
    return by_utility(ALL, 24, synthetic_size=24)


@utility_figure("Figure 3", notes=[*UTILITY_NOTES, HALF], seconds=(1, 2))
def wolfenfeld_figure_3():
    """RCS and Sparring.

    RCS converges quickly with few arms; with many arms, Sparring has less regret.

    Setting: Utility-based regret with 7, 16 and 46 arms, linear link; the arms are features of MQ2007.
    """
    return by_utility(["rcs:alpha=0.5", "sparring"], [7, 16, 46])


@preference_figure("Figure 4", notes=[*PREFERENCE_NOTES, HALF], seconds=(5, 5))
def wolfenfeld_figure_4():
    """RCS and Sparring, preference-based regret.

    With 46 arms Sparring has less regret than RCS.

    Setting: Preference-based regret with all 46 feature rankers of MQ2007.
    """
    return by_preference(["rcs:alpha=0.5", "sparring"])


@utility_figure("Figure 5", notes=[*UTILITY_NOTES, EPOCHS], seconds=(1, 1))
def wolfenfeld_figure_5():
    """Doubler and Sparring.

    Doubler has more regret than Sparring for every number of arms.

    Setting: Utility-based regret with 7, 16 and 46 arms, linear link; the arms are features of MQ2007.
    """
    return by_utility(["doubler", "sparring"], [7, 16, 46])


@preference_figure("Figure 6", notes=[*PREFERENCE_NOTES, EPOCHS], seconds=(1, 1))
def wolfenfeld_figure_6():
    """Doubler and Sparring, preference-based regret.

    Doubler has more regret than Sparring.

    Setting: Preference-based regret with all 46 feature rankers of MQ2007.
    """
    return by_preference(["doubler", "sparring"])


@utility_figure("Figure 7", notes=[*UTILITY_NOTES, EPOCHS, CORRECTION], seconds=(1, 1))
def wolfenfeld_figure_7():
    """Improved Doubler and Sparring.

    The figure compares Improved Doubler, which forgets nothing between its epochs, with Sparring.

    Setting: Utility-based regret with 7, 16 and 46 arms, linear link; the arms are features of MQ2007.
    """
    return by_utility(["improved_doubler", "sparring"], [7, 16, 46])


@preference_figure("Figure 8", notes=[*PREFERENCE_NOTES, EPOCHS, CORRECTION], seconds=(2, 2))
def wolfenfeld_figure_8():
    """Improved Doubler and Sparring, preference-based regret.

    The figure compares Improved Doubler with Sparring.

    Setting: Preference-based regret with all 46 feature rankers of MQ2007.
    """
    return by_preference(["improved_doubler", "sparring"])


@utility_figure("Figure 9", notes=[*UTILITY_NOTES, EPOCHS], seconds=(1, 1))
def wolfenfeld_figure_9():
    """Balanced Doubler and Sparring, 16 arms.

    The figure compares Balanced Doubler with Sparring.

    Setting: Utility-based regret with 16 arms, linear link; the arms are features of MQ2007.
    """
    return by_utility(["balanced_doubler", "sparring"], 16)


@utility_figure("Figure 10", notes=[*UTILITY_NOTES, EPOCHS], seconds=(3, 3))
def wolfenfeld_figure_10():
    """Thompson Doubler and Sparring.

    The figure compares Thompson Doubler, which forgets nothing, with Sparring. The printed caption repeats the caption
    of Figure 7.

    Setting: Utility-based regret with 7, 16 and 46 arms, linear link; the arms are features of MQ2007.
    """
    return by_utility(["thompson_doubler", "sparring"], [7, 16, 46])


@preference_figure("Figure 11", notes=[*PREFERENCE_NOTES, EPOCHS], seconds=(3, 3))
def wolfenfeld_figure_11():
    """Thompson Doubler and Sparring, preference-based regret.

    The figure compares Thompson Doubler, which forgets nothing, with Sparring. The printed caption repeats the caption
    of Figure 8.

    Setting: Preference-based regret with all 46 feature rankers of MQ2007.
    """
    return by_preference(["thompson_doubler", "sparring"])


@utility_figure("Figure 12", seconds=(3, 3))
def wolfenfeld_figure_12():
    """Thompson Sparring and Sparring, 16 arms.

    Sparring with two Thompson samplers has less regret than Sparring with two upper confidence bounds.

    Setting: Utility-based regret with 16 arms, linear link; the arms are features of MQ2007.
    """
    return by_utility(["thompson_sparring", "sparring"], 16)


@preference_figure("Figure 13", seconds=(3, 3))
def wolfenfeld_figure_13():
    """Thompson Sparring and Sparring, preference-based regret.

    Sparring with two Thompson samplers has the least regret.

    Setting: Preference-based regret with all 46 feature rankers of MQ2007.
    """
    return by_preference(["thompson_sparring", "sparring"])
