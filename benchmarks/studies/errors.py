"""Error rates: false alarms among many rankers, coverage, plans that are kept; with their Monte Carlo errors.

    python -m benchmarks.studies.errors [--experiments 2000] [PART ...]

Logs are drawn as the sums that `ltr_duel.logs` keeps of them: outcomes by pair and user. Returning users: 5 % of them
make half of the impressions, and 55 % of a user's outcomes of a pair repeat one that is his alone (correlation .3).
"""

from __future__ import annotations

import argparse
import itertools
from typing import NamedTuple

import numpy as np
import pandas as pd

from benchmarks.studies.timing import table
from ltr_duel.core import FloatMatrix, FloatVector, IntVector, statistics, stream
from ltr_duel.logs.clusters import cautious_means, clustered_means, interval_ends, reach
from ltr_duel.rankers import evaluate_rankers
from ltr_duel.simulation import summarise
from tests.conftest import random_rankings
from tests.logs.sequences import boundary

LEVEL = 0.05
RANKERS, IMPRESSIONS, TIES = (2, 5, 10, 20), (100, 300, 1000, 10_000), (0.0, 0.3, 0.95)
USERS = ("independent", "returning")
_REPEAT = 0.3**0.5
_LOOKS = 30


class DrawnLog(NamedTuple):
    """A log as rows: pair and user of each impression, and its outcome."""

    pair: IntVector
    user: IntVector
    y: FloatVector

    def sums(self, pairs: int) -> tuple[FloatMatrix, FloatMatrix, FloatVector]:
        """Return numbers and sums of outcomes by pair and user, and sums of squares by pair."""
        users = int(self.user.max()) + 1
        cell, shape = self.pair * users + self.user, (pairs, users)
        count = np.bincount(cell, minlength=pairs * users).reshape(shape).astype(np.float64)
        total = np.bincount(cell, self.y, pairs * users).reshape(shape)
        return count, total, np.bincount(self.pair, self.y**2, pairs)


def users_of(n: int, kind: str, users: int, rng: np.random.Generator) -> IntVector:
    """Return the user of each impression."""
    if kind == "independent":
        return np.arange(n)
    heavy = max(1, users // 20)
    often = rng.random(n) < 0.5
    return np.where(often, rng.integers(0, heavy, n), rng.integers(heavy, users, n))


def drawn_log(
    pairs: int, n: int, ties: float, kind: str, rng: np.random.Generator, mean: float = 0.0, users: int = 0
) -> DrawnLog:
    """Draw a log of pairs that all have this mean outcome; by default a user returns five times on average."""
    user = users_of(n, kind, users or max(20, n // 5), rng)
    pair = rng.integers(0, pairs, n)
    chances = [(1 - ties + mean) / 2, (1 - ties - mean) / 2, ties]
    y = rng.choice([1.0, -1.0, 0.0], n, p=chances)
    if kind == "returning":
        _, own = np.unique(user * pairs + pair, return_inverse=True)
        y = np.where(rng.random(n) < _REPEAT, rng.choice([1.0, -1.0, 0.0], own.max() + 1, p=chances)[own], y)
    return DrawnLog(pair, user, y)


def false_alarm(log: DrawnLog, pairs: int) -> bool:
    """Say whether the test of `logs compare`, corrected by Holm, finds a difference anywhere."""
    count, total, square = log.sums(pairs)
    met = count.any(axis=1)
    p = statistics.student_p(*cautious_means(count[met], total[met], square[met]))
    limit = LEVEL / len(p)  # the smallest p decides, and the exact test can only raise it
    return any(statistics.sign_flip_p(total[met][k]) < limit for k in np.flatnonzero(p < limit))


def false_stop(log: DrawnLog, pairs: int, limits: FloatVector) -> bool:
    """Say whether the sequential test stops wrongly at one of thirty looks; of each user and pair the first counts."""
    _, first = np.unique(log.user * pairs + log.pair, return_index=True)
    first.sort()
    looks = np.searchsorted(first, np.linspace(0, len(log.y), _LOOKS + 1)[1:])
    lead, decided = (
        np.array([np.bincount(log.pair[first[:n]], part[first[:n]], pairs) for n in looks]) for part in (log.y, log.y**2)
    )
    return bool((np.abs(lead) >= limits[decided.astype(np.int64)]).any())


def family_wise(experiments: int) -> None:
    """Print how often identical rankers differ, of the fixed and of the sequential test."""
    rows = []
    for rankers, n, ties, kind in itertools.product(RANKERS, IMPRESSIONS, TIES, USERS):
        pairs = rankers * (rankers - 1) // 2
        limits = boundary(n, LEVEL / pairs)
        found = np.zeros(2)
        for k in range(experiments):
            log = drawn_log(pairs, n, ties, kind, stream(k, "family", f"{rankers} {n} {ties} {kind}"))
            found += false_alarm(log, pairs), false_stop(log, pairs, limits)
        rows.append([f"{rankers} rankers, {n:,} impressions, {ties:.0%} ties, {kind}", *shares(found, experiments)])
        print(*rows[-1], flush=True)
    table(f"Family-wise error at {LEVEL:.0%}, {experiments:,} experiments", ["logs", "fixed", "daily looks"], rows)


def shares(found: FloatVector, n: int) -> list[str]:
    """Return shares with their standard errors, as texts."""
    return [f"{x / n:.1%} ± {(max(x, 1) / n * (1 - x / n) / n) ** 0.5:.1%}" for x in found]


def coverage(users: int, kind: str, ties: float, mean: float, experiments: int) -> FloatVector:
    """Return how often the 95 % interval of `logs compare`, and one of the errors alone, hold the truth."""
    hits = np.zeros(2)
    for k in range(experiments):
        rng = stream(k, "coverage", f"{users} {kind} {ties} {mean}")
        log = drawn_log(1, users if kind == "independent" else 5 * users, ties, kind, rng, mean, users)
        count, total, square = log.sums(1)
        low, high = interval_ends(cautious_means(count, total, square), 0.95)
        plain = clustered_means(count, total)
        hits += low[0] <= mean <= high[0], abs(plain.mean[0] - mean) <= reach(plain, 0.95)[0]
    return hits


def intervals(experiments: int) -> None:
    """Print coverage."""
    rows = []
    for users, kind, ties, part in itertools.product((2, 5, 20, 100, 400), USERS, TIES, (0.0, 0.5, 0.9)):
        mean = part * (1 - ties)
        hits = coverage(users, kind, ties, mean, experiments)
        rows.append([f"{users} users, {kind}, {ties:.0%} ties, mean {mean:.3f}", *shares(hits, experiments)])
        print(*rows[-1], flush=True)
    table("95 % intervals that hold the truth", ["logs", "logs compare", "errors alone"], rows)


def against_the_best(experiments: int) -> None:
    """Print how often equal policies, and equal rankers, differ from the best of the same data."""
    rows = []
    for items in RANKERS:
        policies = np.repeat([f"p{k}" for k in range(items)], 30)
        runs = pd.DataFrame({"policy": policies, "repetition": np.tile(np.arange(30), items), "t": 1})
        found = np.zeros(3)
        for k in range(experiments):
            rng = stream(k, "best", str(items))
            runs["regret_average"] = rng.gamma(2, 1, 30 * items)
            tested = summarise(runs)
            graded = evaluate_rankers(random_rankings(items, 40, 6, seed=k), ["NDCG@5"])
            found += (tested["p_wilcoxon"] < LEVEL).any(), (tested["p_t"] < LEVEL).any(), (graded["p"] < LEVEL).any()
        rows.append([f"{items}", *shares(found, experiments)])
        print(*rows[-1], flush=True)
    heads = ["equal items", "summary: signed ranks", "summary: means", "rankers evaluate"]
    table(f"Family-wise error against the best of the same data, {experiments:,} experiments", heads, rows)


PARTS = {"family": family_wise, "intervals": intervals, "best": against_the_best}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []])
    parser.add_argument("--experiments", type=int, default=2000)
    given = parser.parse_args()
    for name in given.parts or PARTS:
        PARTS[name](given.experiments)


if __name__ == "__main__":
    main()
