"""Error rates with Monte Carlo errors: false alarms among many rankers, coverage, and the power of plans.

python -m benchmarks.studies.errors [--experiments 2000] [PART ...]
"""

from __future__ import annotations

import argparse
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.studies.tables import table
from ltr_duel.data import load_dataset
from ltr_duel.logs import PairVariance, required_impressions
from ltr_duel.rankers import rankers_named
from tests.log_studies.drawn_logs import (
    LEVEL,
    coverage,
    differences_from_the_best,
    false_alarms,
    false_stops,
    parts_that_differ,
    plan_from_a_log_kept,
    plan_kept,
    plan_of_returning_users_kept,
    users_needed,
    winner_found,
)
from tests.log_studies.sound_logs import DRAWN, RUNS, SHIFTING, false_alarms_of_checks

RANKERS, IMPRESSIONS, TIES = (2, 5, 10, 20), (100, 300, 1000, 10_000), (0.0, 0.3, 0.95)
USERS = ("independent", "returning")
LONG = {"horizon": 10_000}
BY_CHANCE = {"pairs": "probabilistic", "outcome": "sampled"}
Rows = Iterator[tuple[str, Sequence[float]]]


def family(experiments: int) -> Rows:
    """Print the share of identical rankers that are reported as different."""
    for rankers, n, ties, kind in itertools.product(RANKERS, IMPRESSIONS, TIES, USERS):
        found = false_alarms(rankers, n, ties, kind, experiments)
        yield f"{rankers} rankers, {n:,} impressions, {ties:.0%} ties, {kind}", found


def intervals(experiments: int) -> Rows:
    """Print the share of intervals that contain the true value."""
    for users, kind, ties, part in itertools.product((2, 5, 20, 100, 400), USERS, TIES, (0.0, 0.5, 0.9)):
        mean = part * (1 - ties)
        hits = coverage(users, kind, ties, mean, experiments)
        yield f"{users} users, {kind}, {ties:.0%} ties, mean {mean:.3f}", hits


def best(experiments: int) -> Rows:
    """Print the share of equal policies and rankers that are reported as different from the best in the same data."""
    for items in RANKERS:
        yield f"{items} equal items", differences_from_the_best(items, experiments)


def power(experiments: int) -> Rows:
    """Print the power of plans for power .8."""
    for rankers, effect in itertools.product((2, 3, 5, 10), (0.1, 0.3, 0.6, 0.9)):
        yield f"{rankers} rankers, effect {effect}", plan_kept(rankers, effect, experiments)


def winner(experiments: int) -> Rows:
    """Print the power of plans for power .8, for one pair and for a winner against all others."""
    for rankers, effect in itertools.product((3, 5, 10), (0.1, 0.3)):
        yield f"{rankers} rankers, effect {effect}", winner_found(rankers, effect, experiments)


def returning(experiments: int) -> Rows:
    """Print the power of plans for power .8 with returning users."""
    for rankers, effect, heavy in itertools.product((2, 3, 5, 10), (0.1, 0.3), (False, True)):
        found, plan = plan_of_returning_users_kept(rankers, effect, heavy, experiments)
        words = f"{rankers} rankers, effect {effect}, {'5 % make half' if heavy else 'equally often'}"
        yield words + ", at least" * plan.few_users, found


def from_a_log(experiments: int) -> Rows:
    """Print the mean and lowest tenth of the power of plans for power .8 from a log of few users, and their length."""
    for users, (visits, correlation) in itertools.product(
        (6, 10, 20, 50), ((200, 0.05), (20, 0.0), (20, 0.1), (20, 0.3))
    ):
        found, plans = plan_from_a_log_kept(users, visits, correlation, experiments, each=25)
        pair = PairVariance("a", "b", 0.1, 1.0, 1 + correlation * (visits - 1), float(visits))
        length = np.median(plans) / required_impressions(pair)[0].fixed
        tenth = np.quantile(found, 0.1)
        words = f"{users} users, {visits} impressions each, correlation {correlation}, {length:.2f} times as long"
        yield words, [found.sum(), tenth * experiments / 25]


def looks(experiments: int) -> Rows:
    """Print the share of identical rankers for which the test of all impressions stops."""
    for rankers, n, ties, kind in itertools.product(RANKERS, (100, 1000, 10_000), TIES, USERS):
        found = false_stops(rankers, n, ties, kind, experiments)
        yield f"{rankers} rankers, {n:,} impressions, {ties:.0%} ties, {kind}", [found]


def parts(experiments: int) -> Rows:
    """Print the share of identical parts of a log that are reported as different."""
    for n, number in ((100, 5), (200, 5), (400, 20), (1200, 28)):
        yield f"{n:,} impressions, {number} parts", [parts_that_differ(n, number, experiments)]


PARTS = {
    "family": (family, f"Family-wise error at {LEVEL:.0%}", ["fixed", "daily looks"]),
    "intervals": (intervals, "95 % intervals that contain the true value", ["logs compare", "errors alone"]),
    "parts": (parts, "Parts that differ: error", ["parts differ"]),
    "best": (best, "Family-wise error against the best", ["summary, ranks", "summary, means", "evaluate"]),
    "looks": (looks, "Sequential test of all impressions: family-wise error", ["thirty looks"]),
    "power": (power, "Power of plans for power .8", ["fixed", "sequential"]),
    "from_a_log": (from_a_log, "Power of plans for power .8 from a log", ["fixed", "one plan in ten at most"]),
    "winner": (
        winner,
        "Power of plans for power .8",
        ["one pair", "a winner", "a winner, by the plan of one pair"],
    ),
    "returning": (returning, "Power of plans for power .8 with returning users", ["fixed", "sequential"]),
}


def users(experiments: int) -> None:
    """Print the number of users until a sequential test stops."""
    rows = []
    for effect, visits, correlation in ((0.05, 20, 0.1), (0.1, 20, 0.1), (0.2, 20, 0.1), (0.5, 2, 0.2)):
        found = users_needed(effect, experiments, visits, correlation, max(0.5, 1.4 * effect))
        (first, every), error = found.mean(axis=0), found.std(axis=0, ddof=1) / experiments**0.5
        share = every / first
        rest = share * float(np.hypot(*(error / found.mean(axis=0))))
        words = [f"{first:,.0f} ± {error[0]:,.0f}", f"{every:,.0f} ± {error[1]:,.0f}", f"{share:.3f} ± {rest:.3f}"]
        rows.append([f"{effect}; {visits}; {correlation}", *words])
        print(*rows[-1], flush=True)
    head = ["effect; impressions per user; correlation", "first impressions", "all", "all / first"]
    table(f"Users until the test stops, mean of {experiments}", head, rows)


def checks(experiments: int, data: str) -> None:
    """Print how often each check fails for a sound log."""
    made: dict[str, Counter[str]] = {}
    alarms: dict[str, Counter[str]] = {}
    settings = list(itertools.product((2, 5, 10), (40, 600)))
    kinds: dict[str, list[tuple[Any, ...]]] = {
        kind: [(kind, *one, {}) for one in settings]
        for kind in (*DRAWN, SHIFTING, RUNS, "random", "rucb", "rmed1", "winner_stays_strong")
    }
    if data:  # a corpus with features on which rankers agree
        corpus = load_dataset(f"{data}/MQ2008/Fold1")
        few, many = (rankers_named(corpus, [f"features:{names}"]) for names in ("25,37,39", "25,37,39,40,41"))
        kinds = {
            "3 features": [("random", few, 0, LONG)],
            "5 features": [("random", many, 0, LONG)],
            "rucb": [("rucb", many, 0, LONG)],
            "probabilistic, users return": [("random", many, 2000, LONG | BY_CHANCE)],
        }
    for kind, of_kind in kinds.items():
        made[kind], alarms[kind] = Counter(), Counter()
        for policy, rankers, users, given in of_kind:
            found = false_alarms_of_checks(policy, rankers, users, experiments // len(of_kind), **given)
            made[kind].update(found[0])
            alarms[kind].update(found[1])
        print(kind, dict(alarms[kind]), flush=True)
    names = dict.fromkeys(itertools.chain(*made.values()))
    rows = [[name, *(f"{alarms[kind][name]} of {made[kind][name]}" for kind in kinds)] for name in names]
    table(f"Checks that fail, of {experiments} sound logs each", ["check", *kinds], rows)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join([*PARTS, "users", "checks"]))
    parser.add_argument("--data", default="", help="checks: a folder with MQ2008, to check logs of this corpus instead")
    parser.add_argument("--experiments", type=int, default=2000)
    given = parser.parse_args()
    for name in given.parts or [*PARTS, "users", "checks"]:
        if name in ("users", "checks"):
            runs = given.experiments // 20
            users(runs) if name == "users" else checks(runs, given.data)
            continue
        part, title, heads = PARTS[name]
        rows = []
        for words, found in part(given.experiments):
            rows.append([words, *(_share(float(x), given.experiments) for x in found)])
            print(*rows[-1], flush=True)
        table(f"{title}, {given.experiments:,} experiments", [name, *heads], rows)


def _share(hits: float, n: int) -> str:
    """Return a share with its standard error."""
    if hits == 0:
        return f"0 of {n:,}"
    return f"{hits / n:.2%} ± {(hits / n * (1 - hits / n) / n) ** 0.5:.2%}"


if __name__ == "__main__":
    main()
