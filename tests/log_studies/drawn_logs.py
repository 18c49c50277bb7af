"""Simulated sums of logs, and the error rates of tests and intervals on such logs.

Returning users: 5 % of the users make half of the impressions, and 55 % of a user's outcomes of a pair repeat an
individual outcome of the user (correlation .3).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from ltr_duel.core import kernel, statistics, stream
from ltr_duel.logs import PairVariance, required_impressions
from ltr_duel.logs.clusters import (
    Means,
    cautious_means,
    clustered_means,
    interval_ends,
    naive_means,
)
from ltr_duel.logs.comparison import compared
from ltr_duel.logs.outcomes import UNIT
from ltr_duel.logs.power import pairs_in_log
from ltr_duel.logs.sequential import _log_e, _variance, normal_boundary
from ltr_duel.logs.subgroup import interaction_p
from ltr_duel.logs.sums import Clusters, PairSums, Sequences
from ltr_duel.rankers import evaluate_rankers
from ltr_duel.simulation import summarise
from tests.conftest import random_rankings
from tests.log_studies.sequences import boundary

LEVEL = 0.05
_REPEAT = 0.3**0.5
_LOOKS = 30


class Evidence(NamedTuple):
    """The input of the test at any time: means for intervals, p-values of one look, and numbers of impressions."""

    means: Means
    p: np.ndarray
    n: np.ndarray


class DrawnLog(NamedTuple):
    """A log as rows: the pair, the user and the outcome of each impression."""

    pair: np.ndarray
    user: np.ndarray
    y: np.ndarray

    def sums(self, pairs, ends=()):
        """Return numbers and sums of outcomes by pair and user, and sums of squares by pair, up to each look.

        Shapes (looks * pairs, users of a pair) and (looks * pairs,). By default there is one look, at the end.
        """
        ends = np.array(ends or [len(self.y)])
        own, users = np.unique(self.pair * (int(self.user.max()) + 1) + self.user, return_inverse=True)
        pair = own // (int(self.user.max()) + 1)
        column = np.arange(len(own)) - np.searchsorted(pair, np.arange(pairs))[pair]
        look = np.searchsorted(ends, np.arange(len(self.y)), side="right")
        shape = (len(ends), pairs, int(column.max()) + 1)
        cell = (look * pairs + self.pair) * shape[2] + column[users]
        count, total = (
            np.bincount(cell, weight, minlength=int(np.prod(shape))).reshape(shape).cumsum(axis=0).reshape(-1, shape[2])
            for weight in (np.ones(len(cell)), self.y)
        )
        squares = np.bincount(look * pairs + self.pair, self.y**2, len(ends) * pairs).reshape(-1, pairs)
        return count, total, squares.cumsum(axis=0).ravel()


def users_of(n, kind, users, rng):
    """Return the user of each impression."""
    if kind == "independent":
        return np.arange(n)
    heavy = max(1, users // 20)
    often = rng.random(n) < 0.5
    return np.where(often, rng.integers(0, heavy, n), rng.integers(heavy, users, n))


def drawn_log(pairs, n, ties, kind, rng, mean=0.0, users=0):
    """Sample a log whose first pair has this mean outcome, others 0; by default users return five times on average."""
    user = users_of(n, kind, users or max(20, n // 5), rng)
    pair = rng.integers(0, pairs, n)
    u = rng.random(n)
    if kind == "returning":
        _, own = np.unique(user * pairs + pair, return_inverse=True)
        u = np.where(rng.random(n) < _REPEAT, rng.random(own.max() + 1)[own], u)
    wins = (1 - ties + mean * (pair == 0)) / 2
    return DrawnLog(pair, user, (u < wins) * 1.0 - ((u >= wins) & (u < 1 - ties)))


def false_alarm(log, pairs):
    """Return whether the test of `logs compare`, corrected by Holm, finds any difference."""
    count, total, square = log.sums(pairs)
    met = count.any(axis=1)
    p = statistics.student_p(*cautious_means(count[met], total[met], square[met]))
    limit = LEVEL / len(p)  # the smallest p decides, and the exact test can only raise it
    return any(statistics.sign_flip_p(total[met][k]) < limit for k in np.flatnonzero(p < limit))


def false_stop(log, pairs, limits):
    """Return whether the sequential test of users' first impressions stops wrongly at one of thirty looks."""
    _, first = np.unique(log.user * pairs + log.pair, return_index=True)
    first.sort()
    looks = np.searchsorted(first, np.linspace(0, len(log.y), _LOOKS + 1)[1:])
    lead, decided = (
        np.array([np.bincount(log.pair[first[:n]], part[first[:n]], pairs) for n in looks])
        for part in (log.y, log.y**2)
    )
    return bool((np.abs(lead) >= limits[decided.astype(np.int64)]).any())


def false_alarms(rankers, n, ties, kind, experiments):
    """Return how often the fixed and the sequential test find a difference between identical rankers."""
    pairs = rankers * (rankers - 1) // 2
    limits = boundary(n, LEVEL / pairs)
    found = np.zeros(2)
    for k in range(experiments):
        log = drawn_log(pairs, n, ties, kind, stream(k, "family", f"{rankers} {n} {ties} {kind}"))
        found += false_alarm(log, pairs), false_stop(log, pairs, limits)
    return found


def coverage(users, kind, ties, mean, experiments):
    """Return how often the 95 % interval of `logs compare`, and one from the errors alone, contain the truth."""
    hits = np.zeros(2)
    for k in range(experiments):
        rng = stream(k, "coverage", f"{users} {kind} {ties} {mean}")
        log = drawn_log(1, users if kind == "independent" else 5 * users, ties, kind, rng, mean, users)
        count, total, square = log.sums(1)
        low, high = interval_ends(cautious_means(count, total, square), 0.95)
        plain_low, plain_high = interval_ends(clustered_means(count, total), 0.95)
        hits += low[0] <= mean <= high[0], plain_low[0] <= mean <= plain_high[0]
    return hits


def winner_found(rankers, effect, experiments, square=0.5):
    """Return how often a ranker beats a named one under a pair's plan, and all others under a winner's plan.

    The third number is how often the ranker beats all others under a pair's plan.
    """
    pairs, found = rankers * (rankers - 1) // 2, np.zeros(3)
    pair = PairVariance("a", "b", effect, square, each=float(pairs))
    rivals = [pair], [pair] * (rankers - 1)
    plans = [np.ceil(required_impressions(against, tests=pairs)[0].fixed) for against in rivals]
    mean = np.where(np.arange(pairs) < rankers - 1, effect, 0.0)
    chances = np.stack([(square + mean) / 2, (square - mean) / 2, np.full(pairs, 1 - square)], axis=1)
    rng = stream(0, "winner", f"{rankers} {effect}")
    for k, planned in enumerate(plans):
        for _ in range(experiments):
            n = rng.multinomial(int(planned), np.full(pairs, 1 / pairs))
            won, lost, _ = rng.multinomial(n, chances).T
            means = naive_means(n + 2.0, won - lost, won + lost + 2.0)
            p = np.maximum(statistics.student_p(*means), statistics.sign_p(won, lost, won - lost, won + lost))
            ahead = (pairs * p < LEVEL) & (won > lost)
            found[0] += ahead[0] and not k
            found[1 if k else 2] += ahead[: rankers - 1].all()
    return found


def drawn_users(users, visits, correlation, effect, rng):
    """Sample sums of outcomes of 1 and -1 of users who come equally often."""
    mean = effect + correlation**0.5 * rng.choice([-1.0, 1.0], users)
    return 2.0 * rng.binomial(visits, (1 + mean) / 2) - visits


def plan_from_a_log_kept(users, visits, correlation, experiments, effect=0.1, each=100):
    """Return how often the fixed test finds an effect with impressions planned from logs of the given number of users.

    The result has one entry per log, whose plan has ``each`` experiments; the plans are also returned.
    """
    found, planned, plans = [], [], max(experiments // each, 1)
    count = np.full(users, visits)
    for k in range(plans):
        rng = stream(k, "plan from a log", f"{users} {visits} {correlation}")
        total = drawn_users(users, visits, correlation, effect, rng).astype(np.int64)
        clusters = Clusters(np.zeros(users, np.int64), count, total * UNIT, np.ones(users, np.int64))
        wins, n = np.array([(users * visits + total.sum()) // 2]), np.array([users * visits])
        nothing = np.zeros(1, np.int64)
        sums = PairSums("user", wins, n - wins, nothing, 2 * wins - n, n, Sequences(*[nothing] * 6), clusters)
        given = {"confidence": 1 - LEVEL, "impressions": int(n[0]), "provenance": {}}
        (pair,) = pairs_in_log(compared(sums, ("a", "b"), np.array([[0, 1]]), **given))
        (plan,) = required_impressions(pair, [effect])
        enough = max(2, int(np.ceil(plan.fixed / visits)))
        drawn = [drawn_users(enough, visits, correlation, effect, rng) for _ in range(each)]
        sizes = np.full((each, enough), float(visits))
        p = looked_at(sizes, np.array(drawn), sizes.sum(axis=1), LEVEL).p
        found.append(((p < LEVEL) & (np.sum(drawn, axis=1) > 0)).sum())
        planned.append(plan.fixed)
    return np.array(found), np.array(planned)


def parts_that_differ(n, parts, experiments):
    """Return how often parts of a log of identical rankers differ, with outcomes of 1 and -1, users coming once."""
    found, nothing = 0, np.zeros(parts, np.int64)
    for k in range(experiments):
        rng = stream(k, "parts", f"{n} {parts}")
        part, won = rng.integers(0, parts, n), rng.random(n) < 0.5
        wins, losses = (np.bincount(part[mark], minlength=parts) for mark in (won, ~won))
        sums = PairSums(
            "impression", wins, losses, nothing, wins - losses, wins + losses, Sequences(*[nothing] * 6), None
        )
        given = {"confidence": 1 - LEVEL, "impressions": n, "provenance": {}}
        split = compared(sums, ("a", "b"), np.zeros((parts, 2), np.int64), **given)
        found += interaction_p(split.cautious) < LEVEL
    return found


def differences_from_the_best(items, experiments):
    """Return how often equal policies (by signed ranks, by means) and equal rankers differ from the best of them."""
    policies = np.repeat([f"p{k}" for k in range(items)], 30)
    runs = pd.DataFrame({"policy": policies, "repetition": np.tile(np.arange(30), items), "t": 1})
    found = np.zeros(3)
    for k in range(experiments):
        rng = stream(k, "best", str(items))
        runs["regret_average"] = rng.gamma(2, 1, 30 * items)
        tested = summarise(runs)
        graded = evaluate_rankers(random_rankings(items, 40, 6, seed=k), ["NDCG@5"])
        found += (tested["p_wilcoxon"] < LEVEL).any(), (tested["p_t"] < LEVEL).any(), (graded["p"] < LEVEL).any()
    return found


def plan_kept(rankers, effect, experiments):
    """Return how often the fixed and the sequential test find the effect with the impressions that were planned.

    Users come once; the sequential test has thirty looks, of which the last is at the end of the plan.
    """
    pairs, ties = rankers * (rankers - 1) // 2, min(0.5, 1 - effect)
    pair = PairVariance("a", "b", effect, 1 - ties, each=float(pairs))
    (plan,) = required_impressions(pair, tests=pairs)
    found = np.zeros(2)
    for k in range(experiments):
        rng = stream(k, "power", f"{rankers} {effect}")
        for test, n in enumerate((plan.fixed, plan.sequential)):
            log = drawn_log(pairs, int(np.ceil(n)), ties, "independent", rng, effect)
            for end in np.linspace(0, len(log.y), _LOOKS + 1)[:0:-1] if test else [len(log.y)]:
                y = log.y[: int(end)][log.pair[: int(end)] == 0]
                if not len(y):
                    break
                total, decided = y.sum(), np.abs(y).sum()
                means = naive_means(np.array([len(y) + 2.0]), np.array([total]), np.array([decided + 2.0]))
                means = means._replace(freedom=means.freedom - 2)
                signs = statistics.sign_p(*(np.array([one]) for one in ((decided + total) / 2, (decided - total) / 2)),
                                          np.array([total]), np.array([decided]))  # fmt: skip
                p = np.maximum(statistics.student_p(*means), signs)
                seen = Evidence(means, p, np.array([float(len(y))]))
                if ahead(seen, LEVEL / pairs)[0] == 1 if test else p[0] < LEVEL / pairs and total > 0:
                    found[test] += 1
                    break
    return found


def looked_at(count, total, square, alpha=1.0):
    """Return the input of a test from sums by pair and user; signs are counted if they could matter at that error."""
    cautious = cautious_means(count, total, square)
    p = statistics.student_p(*cautious)
    for k in np.flatnonzero(p < 2 * special.ndtr(-np.sqrt(-2 * np.log(alpha)))):
        p[k] = max(p[k], statistics.sign_flip_p(total[k]))
    return Evidence(cautious, p, count.sum(axis=1))


def ahead(test, alpha):
    """Return the sign of each mean for which the test at any time refutes 0, and 0 for the others."""
    log_e = _log_e(special.ndtri(test.p / 2) ** 2, _variance(test.means.error, test.n), alpha)
    sure = (log_e >= -np.log(alpha)) & (test.means.freedom > 0)
    return np.where(sure, np.sign(test.means.mean), 0)


def false_stops(rankers, n, ties, kind, experiments):
    """Return how often the test of all impressions, at thirty looks, stops for one of identical rankers."""
    pairs, found = rankers * (rankers - 1) // 2, 0
    ends = np.linspace(0, n, _LOOKS + 1)[1:].astype(int).tolist()
    nearest = normal_boundary(np.geomspace(1, 1e7, 200), LEVEL / pairs).min() - 0.01
    tail = special.ndtr(-nearest)
    least = statistics.student_quantile(tail, np.arange(n + 1) + 2.0) ** 2  # for each number of users
    least[: int(-np.log2(tail))] = np.inf  # with fewer users, no sign pattern is that rare
    for k in range(experiments):
        log = drawn_log(pairs, n, ties, kind, stream(k, "looks", f"{rankers} {n} {ties} {kind}"))
        cell = np.unique(log.pair * n + log.user, return_inverse=True)[1] if kind == "returning" else log.user
        if may_be_decided(log.pair, cell, log.y, np.array(ends), np.zeros((2, n)), np.zeros((5, pairs)), least):
            count, total, square = log.sums(pairs, ends)
            met = count.any(axis=1)
            seen = looked_at(count[met], total[met], square[met], LEVEL / pairs)
            found += bool(ahead(seen, LEVEL / pairs).any())
    return found


@kernel
def may_be_decided(pair, cell, y, ends, cells, sums, least):
    """Return whether a pair's squared deviation and users may suffice at a look, with any further clusters."""
    look = 0
    for t in range(len(y)):
        p, c = pair[t], cell[t]
        n, total = cells[0, c], cells[1, c]
        sums[0, p] += y[t]
        sums[1, p] += 2 * total * y[t] + y[t] * y[t]
        sums[2, p] += n * y[t] + total + y[t]
        sums[3, p] += 2 * n + 1
        sums[4, p] += n == 0
        cells[0, c] += 1
        cells[1, c] += y[t]
        if t + 1 == ends[look]:
            look += 1
            for k in range(sums.shape[1]):
                rest = sums[1, k] - sums[2, k] ** 2 / max(sums[3, k], 1.0)
                if sums[0, k] ** 2 >= least[int(sums[4, k])] * rest - 1e-9:
                    return True
    return False


def users_needed(effect, experiments, visits=20, correlation=0.1, square=0.5):
    """Return the numbers of users until the tests of first and of all impressions stop; (experiments, 2)."""
    limits = boundary(int(60 / effect**2), LEVEL)
    stops = np.zeros((experiments, 2))
    for k in range(experiments):
        rng = stream(k, "users", str(effect))
        users = int(60 / effect**2)
        taste = np.sqrt(correlation * (square - effect**2)) * rng.choice([-1.0, 1.0], users)
        u = rng.random((users, visits))
        wins = (square + effect + taste)[:, None] / 2
        y = (u < wins) * 1.0 - ((u >= wins) & (u < square))
        outside = np.abs(np.cumsum(y[:, 0])) >= limits[np.cumsum(np.abs(y[:, 0])).astype(int)]
        assert outside.any()
        stops[k, 0] = 1 + outside.argmax()
        n = 3
        while True:
            sums = np.full((1, n), float(visits)), y[:n].sum(axis=1)[None], np.array([np.abs(y[:n]).sum()])
            if ahead(looked_at(*sums), LEVEL).any():
                break
            n = int(np.ceil(1.02 * n))
        stops[k, 1] = n
    return stops


def visits_of_users(n, visits, heavy, pairs, rng):
    """Return the visits of users to one pair, until the pair has n impressions.

    All users come equally often, or each is with probability 5 % one of those who make half of the impressions.
    """
    size = np.full(int(2 * n * pairs / visits) + 200, visits)
    if heavy:
        size = 1 + rng.poisson(np.where(rng.random(len(size)) < 0.05, 10 * visits, visits * 10 / 19) - 1)
    own = rng.binomial(size, 1 / pairs)
    own = own[own > 0]
    own = own[: np.searchsorted(own.cumsum(), n) + 1]
    own[-1] -= own.sum() - int(n)
    return own[own > 0]


def plan_of_returning_users_kept(rankers, effect, heavy, experiments, visits=20, correlation=0.3, square=0.5):
    """Return how often the fixed and the sequential test find the effect with the planned impressions, and the plan.

    The plan knows the visits of users from two million impressions of the pair. Then users come one after the other.
    """
    pairs, square = rankers * (rankers - 1) // 2, max(square, effect)
    sizes = visits_of_users(2_000_000, visits, heavy, pairs, stream(0, "returning", f"{rankers} {heavy}"))
    size = float((sizes**2).sum() / sizes.sum())
    pair = PairVariance("a", "b", effect, square, 1 + correlation * (size - 1), size, float(pairs))
    (plan,) = required_impressions(pair, tests=pairs)
    alpha, found = LEVEL / pairs, np.zeros(2)
    for k in range(experiments):
        rng = stream(k, "returning plan", f"{rankers} {effect} {heavy}")
        for test, planned in enumerate((plan.fixed, plan.sequential)):
            size = visits_of_users(planned / pairs, visits, heavy, pairs, rng)
            user = np.repeat(np.arange(len(size)), size)
            u = np.where(rng.random(len(user)) < correlation**0.5, rng.random(len(size))[user], rng.random(len(user)))
            wins = (square + effect) / 2
            y = (u < wins) * 1.0 - ((u >= wins) & (u < square))
            total, squares = np.bincount(user, y), np.bincount(user, y**2)
            looks = np.array([len(size)])
            if test:  # only some looks; looks that can find nothing are skipped
                looks = np.unique(np.geomspace(2, len(size), 500).astype(int))
                far = total.cumsum()[looks - 1] ** 2 > -1.6 * np.log(alpha) * (total**2).cumsum()[looks - 1]
                looks = looks[far][::-1]
            for n in looks:
                means = cautious_means(size[None, :n].astype(float), total[None, :n], squares[None, :n].sum(axis=1))
                for p in (statistics.student_p(*means), [statistics.sign_flip_p(total[:n])]):  # both must be small
                    seen = Evidence(means, np.array(p), size[None, :n].sum(axis=1))
                    if (ahead(seen, alpha)[0] < 1) if test else (p[0] >= alpha or means.mean[0] < 0):
                        break
                else:
                    found[test] += 1
                    break
    return found, plan
