"""Mutants that change nothing a test could see, each with the reason."""

from __future__ import annotations

from tests.mutants.making import Mutant

BOUND = "alpha ln t of a real time is never exactly a quotient of whole numbers"
CHANCE = "a uniform number hits a given number with probability 0"
ROUNDING = "the tolerance of rounding errors, which are far smaller than any difference that counts"
PIECES = "pieces of work may be of any size; a test demands that nothing depends on it"
NOBODY = "any negative owner means nobody"
EQUIVALENT = {  # (module, the changed line): why the change has no visible effect
    ("bandits/check", "plain = play(given, p, steps, seed=5, plain=False)"): (
        "where nothing is compiled, plain and not plain are the same; compiled, the tests of whole runs see it"
    ),
    ("bandits/check", "cycle = np.array([[0.5, 0.7, 0.3], [0.3, 0.5, 1.0499999999999998], [0.7, 0.3, 0.5]])"): (
        "any cycle will do to see that a policy goes on without a winner"
    ),
    (
        "bandits/policies/beat_the_mean",
        "now = registers(Now, n_active=n_arms, n_waiting=n_arms, best=best, low=0.5, high=0.5, radius=1.5, **terms)",
    ): "means lie within 0 and 1, so no radius of 1/2 or more lets an arm leave",
    ("bandits/policies/beat_the_mean", "worst, left = 1, 0"): "the arm to leave is always found before it is looked at",
    ("bandits/policies/ccb", "state.bounds.release[loser] = -1.5"): "any negative release asks for the row anew",
    ("bandits/policies/double_thompson", "known.release[loser] = -1.5"): "any negative release asks for the row anew",
    (
        "bandits/policies/self_sparring",
        "winner, loser = (slate[a], slate[b]) if won[a, b] >= 0 else (slate[b], slate[a])",
    ): ("0 stands only between two places of one arm, which then wins and loses in either order"),
    (
        "bandits/policies/versatile_db",
        "x = max(x, low - 2.0 / sqrt(state.loss.shape[0]) / eta)  # at this x the sum is at most 1",
    ): "Newton's method finds the same root from any start above it",
    ("bandits/thompson", "return theta if uniform(rng) <= ratio else level"): CHANCE,
    ("bandits/statistics", "crossings[loser, winner] = crossing if d >= 0 else 0.0"): "with d = 0 it is 0",
    ("clicks/fit/api", "iterations: int = 1001,"): "a bound against endless loops",
    (
        "interleaving/check",
        "_check_lists(kind, comparer, lambda c, rng: draw_pair(c.method, c.lists, 0, 0, 2, c.page, rng))",
    ): "lists of any pair will do to see that they are lists of the query's documents",
    ("interleaving/check", '_CLICKS = ClickModel("of the check", (0.44999999999999996, 0.9), (0.1, 0.5))'): (
        "any users will do who click better documents more often"
    ),
    ("interleaving/check", "same = bool((np.abs(mean + mirrored) < sqrt(3) * most).all())"): (
        "the number of standard errors that chance may explain is a choice"
    ),
    ("interleaving/methods/optimized", "page.owner[: len(shown)] = -2"): NOBODY,
    ("interleaving/methods/pairwise_preference", "_EQUAL = 1e-06  # closer scores differ by rounding alone"): ROUNDING,
    ("interleaving/registration", "page.owner[: len(shown)] = -2"): NOBODY,
    (
        "preferences/estimate/counting",
        'stop = int(np.searchsorted(before, before[start] + _PIECE, side="right")) - 2',
    ): PIECES,
    ("preferences/io", "head = file.peek(7)[:6]"): "the number is a hint, of which buffered files make no use",
    (
        "preferences/properties/confidence",
        "draws = max(100, min(draws, _MOST_NUMBERS * max(1, int(doubtful.sum()))))",
    ): ("a bound on memory, which no test can reach"),
    ("preferences/properties/subsets", "step = min(1, _NUMBERS_AT_ONCE // max(n, size * size))"): PIECES,
}


def reason_of(mutant: Mutant) -> str:
    """Return why the mutant is equivalent, or an empty string if no proof is listed."""
    page = mutant.path.removeprefix("ltr_duel/").removesuffix(".py")
    return EQUIVALENT.get((page, mutant.after.strip()), "")
