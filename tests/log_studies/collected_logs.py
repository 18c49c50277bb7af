"""Outcomes that a policy collects, and the statements about them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.bandits import POLICIES
from ltr_duel.bandits.loop import Run
from ltr_duel.bandits.oracle import duel
from ltr_duel.bandits.recorder import new_recorder
from ltr_duel.core import FloatMatrix, Streams, implement, stream, uniform
from ltr_duel.live.state import beats_all
from ltr_duel.logs import Sequences, confidence_sequence
from ltr_duel.logs.clusters import clustered_means, interval_ends, naive_means

TIES = 0.3


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
    valid: NDArray[np.int64]  # those of `confidence_sequence`
    alarms: NDArray[np.int64]  # experiments in which a true hypothesis is rejected, corrected by Bonferroni


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


def collected(case: Case, seed: int, compiled: bool) -> np.ndarray:
    """Run a policy; return for the pairs i < j the numbers of ties, wins and losses, as the rows 0, 1 and -1."""
    given = POLICIES.configure(case.policy)
    k, rng = case.rankers, stream(seed, "adaptive", case.policy)
    oracle = TiedCoins(case.means, np.zeros((4, k, k)))
    streams = Streams(stream(seed, "policy", case.policy), rng, rng, rng, rng)
    run = Run(given.component, given.params, k, oracle, streams, new_recorder(k), horizon=case.steps, compiled=compiled)
    run.advance(case.steps)
    return oracle.score


def experiment(case: Case, seed: int, *, compiled: bool = False) -> tuple[int, ...]:
    """Run the policy, and return the fields of `Held` for its outcomes."""
    score, upper = collected(case, seed, compiled), np.triu_indices(case.rankers, 1)
    ties, wins, losses = (score[y][upper] for y in (0, 1, -1))
    n = ties + wins + losses
    shown = n > 0
    truth, none = case.means[upper][shown], np.zeros(shown.sum())
    plain = naive_means(n[shown], (wins - losses)[shown], (wins + losses)[shown])
    low, high = interval_ends(plain, 0.95)
    sequences = Sequences(wins[shown], losses[shown], ties[shown], none, none, none)
    given = confidence_sequence(*sequences, confidence=0.95)
    inside = (given.low <= truth) & (truth <= given.high)
    alarm = bool((given.log_e[truth == 0] > np.log(len(n) / 0.05)).any())
    covered = (low <= truth + 1e-12) & (truth <= high + 1e-12)
    return len(truth), int(covered.sum()), int(inside.sum()), int(alarm)


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
