"""Outcomes that a policy collects, and the statements about them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.bandits import POLICIES, LivePolicy
from ltr_duel.bandits.loop import Run
from ltr_duel.bandits.oracle import duel
from ltr_duel.bandits.recorder import new_recorder
from ltr_duel.core import FloatMatrix, Streams, implement, stream, uniform
from ltr_duel.live.state import beats_all
from ltr_duel.logs import Sequences
from ltr_duel.logs.adaptive import Weighed, adaptive_means, least_of
from ltr_duel.logs.clusters import clustered_means, naive_means, reach

TIES = 0.3
_GROUPS = 1024


class Case(NamedTuple):
    """One kind of experiment."""

    policy: str
    rankers: int
    steps: int
    separated: bool

    @property
    def means(self) -> FloatMatrix:
        """Return the mean outcomes of the row rankers against the column rankers."""
        utility = -0.1 * np.arange(self.rankers) * self.separated
        return np.clip(utility[:, None] - utility[None, :], -0.6, 0.6)


class Held(NamedTuple):
    """Number of shown pairs, and number of their intervals that contain the mean outcome."""

    pairs: NDArray[np.int64]
    plain: NDArray[np.int64]  # Student's, as if the number of outcomes had been fixed
    valid: NDArray[np.int64]  # those of `adaptive_means`
    alarms: NDArray[np.int64]  # experiments in which a true hypothesis is rejected, corrected by Bonferroni


class Outcomes(NamedTuple):
    """For the pairs i < j: numbers of ties (0), wins (1) and losses (-1); weighted sums, if probabilities are known."""

    score: np.ndarray  # (4, K, K)
    sums: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float, float] | None  # fields of `Weighed`


class TiedCoins(NamedTuple):
    """Outcomes with ties; the policy gets the sign of a coin for a tie."""

    means: FloatMatrix
    score: np.ndarray  # (4, K, K), counted here


def _duel(oracle, first, second, streams):
    a, b = min(first, second), max(first, second)
    u = uniform(streams.feedback)
    won = (1 - TIES + oracle.means[a, b]) / 2
    y = 1 if u < won else -1 if u < 1 - TIES else 0
    oracle.score[y, a, b] += 1
    if y == 0:
        y = 1 if uniform(streams.feedback) < 0.5 else -1
    return y if a == first else -y


implement(duel, TiedCoins, _duel)


def collected(case: Case, seed: int, compiled: bool) -> Outcomes:
    """Run a policy and return the collected outcomes."""
    given = POLICIES.configure(case.policy)
    if given.component.chance is not None:
        return collected_with_chances(case, seed)
    k, rng = case.rankers, stream(seed, "adaptive", case.policy)
    oracle = TiedCoins(case.means, np.zeros((4, k, k)))
    streams = Streams(stream(seed, "policy", case.policy), rng, rng, rng, rng)
    run = Run(given.component, given.params, k, oracle, streams, new_recorder(k), horizon=case.steps, compiled=compiled)
    run.advance(case.steps)
    return Outcomes(oracle.score, None)


def collected_with_chances(case: Case, seed: int) -> Outcomes:
    """Run a policy that reports its choice probabilities, and return the collected outcomes."""
    k, means, rng = case.rankers, case.means, stream(seed, "adaptive", case.policy)
    policy = LivePolicy(case.policy, k, horizon=case.steps, rng=rng)
    score = np.zeros((4, k, k))
    count, total = np.zeros((2, k, k, _GROUPS))
    square, inverse = np.zeros((2, k, k))
    chances = []
    for step in range(case.steps):
        a, b = policy.ask()
        if a == b:
            policy.tell()
            continue
        first, second = min(a, b), max(a, b)
        u = rng.random()
        won = (1 - TIES + means[first, second]) / 2
        y = 1 if u < won else -1 if u < 1 - TIES else 0
        score[y, first, second] += 1
        weight = policy.chance() ** -0.5
        count[first, second, step % _GROUPS] += weight
        total[first, second, step % _GROUPS] += weight * y
        square[first, second] += weight * y**2
        inverse[first, second] += weight**2
        chances.append(policy.chance())
        sign = y or (1 if rng.random() < 0.5 else -1)
        policy.tell(sign if a == first else -sign)
    least = least_of(min(chances), max(chances), int((inverse > 0).sum()))
    return Outcomes(score, (count, total, square, inverse, len(chances), least))


def experiment(case: Case, seed: int, *, compiled: bool = False) -> tuple[int, ...]:
    """Run the policy, and return the fields of `Held` for its outcomes."""
    found, upper = collected(case, seed, compiled), np.triu_indices(case.rankers, 1)
    ties, wins, losses = (found.score[y][upper] for y in (0, 1, -1))
    n = ties + wins + losses
    shown = n > 0
    truth, none = case.means[upper][shown], np.zeros(shown.sum())
    plain = naive_means(n[shown], (wins - losses)[shown], (wins + losses)[shown])
    half = reach(plain, 0.95)
    sums = None
    if found.sums is not None:
        sums = Weighed(*(part[upper][shown] for part in found.sums[:4]), *found.sums[4:])
    sequences = Sequences(wins[shown], losses[shown], ties[shown], none, none, none)
    given = adaptive_means(sequences, sums, 0.95)
    inside = (given.low <= truth) & (truth <= given.high)
    alarm = bool((given.p[truth == 0] < 0.05 / len(n)).any())
    return len(truth), int((np.abs(plain.mean - truth) <= half + 1e-12).sum()), int(inside.sum()), int(alarm)


def coverage(case: Case, experiments: int, *, compiled: bool = False) -> Held:
    """Return the results of experiments; each field has one entry per experiment."""
    found = [experiment(case, seed, compiled=compiled) for seed in range(experiments)]
    return Held(*map(np.array, zip(*found, strict=True)))


def share(found: NDArray[np.int64], of: NDArray[np.int64]) -> tuple[float, float]:
    """Return a share and its standard error, clustered by experiment."""
    mean, error, _ = clustered_means(of[None].astype(np.float64), found[None].astype(np.float64))
    return float(mean[0]), float(error[0])


def calibration(experiments: int, ties: float, observations: int, seed: int = 0) -> list[tuple[float, float, int]]:
    """Return, in five bins, the stated probability of the winner, the share of true statements, and their number.

    The share of decided pages that the first of two rankers wins is uniform, as in the prior.
    """
    rng = stream(seed, "calibration", str(ties))
    share = rng.random(experiments)
    decided = rng.binomial(observations, 1 - ties, experiments)
    wins = rng.binomial(decided, share)
    given = np.array([beats_all(np.array([[0, w], [n - w, 0]]))[0] for w, n in zip(wins, decided, strict=True)])
    right = np.where(given >= 0.5, share > 0.5, share < 0.5)
    given = np.maximum(given, 1 - given)
    bins = np.digitize(given, [0.6, 0.75, 0.9, 0.99])
    return [(given[bins == b].mean(), right[bins == b].mean(), int((bins == b).sum())) for b in range(5)]


def misses_of_a_pair_left_to_chance(often, seldom, steps, others, experiments, *, dropped=False, seed=0):
    """Return how often the printed interval of equal rankers is above 0, below 0, and computed by weights.

    Their pair is shown with probability ``often`` while it is ahead (or until it is dropped, two errors behind), then
    with probability ``seldom``; the other pairs share the rest.
    """
    rng, size = stream(seed, "chance", f"{often} {seldom} {steps} {others} {dropped}"), experiments
    score, sums, lost = np.zeros((3, size)), np.zeros((2, size)), np.zeros(size, np.bool_)
    count, total = np.zeros((2, size, min(steps, _GROUPS)))
    least = np.ones(size)
    for step in range(steps):
        lead, decided = score[1] - score[2], score[1] + score[2]
        lost = (lost | (decided > 20) & (lead < -2 * decided**0.5)) if dropped else lead < 0
        chance = np.where(lost, seldom, often)
        shown = rng.random(size) < chance
        y = np.where(rng.random(size) < TIES, 0, rng.choice([-1, 1], size))
        one = np.flatnonzero(shown)
        weight, group = chance[one] ** -0.5, step % count.shape[1]
        count[one, group] += weight
        total[one, group] += weight * y[one]
        sums[:, one] += weight * y[one] ** 2, weight**2
        score[y[one], one] += 1
        seen = np.where(shown, chance, (1 - chance) / others)
        least = np.minimum(least, np.minimum(seen, (1 - seen) / others))
    found, none = np.zeros(3, np.int64), np.zeros(1)
    for k in range(size):
        ties, wins, losses = score[:, [k]]
        sequences = Sequences(wins, losses, ties, none, none, none)
        weighed = Weighed(count[[k]], total[[k]], sums[0, [k]], sums[1, [k]], float(steps), float(least[k]))
        given = adaptive_means(sequences, weighed, 0.95)
        found += given.low[0] > 0, given.high[0] < 0, given.weighted
    return found
