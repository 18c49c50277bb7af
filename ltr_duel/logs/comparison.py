"""Result of the comparison of a log's rankers, computed from the sums of each cluster's outcomes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ltr_duel.core import FloatVector, IntVector, statistics
from ltr_duel.logs.clusters import Kinds, Means, interval_ends
from ltr_duel.logs.looks import Look
from ltr_duel.logs.sums import PairSums, Sequences
from ltr_duel.preferences import PreferenceMatrix


@dataclass(frozen=True, eq=False)
class LogComparison:
    """Comparison of each pair of a log's rankers.

    Arrays have one entry per pair. A positive mean favours the first ranker of the pair.

    Parameters
    ----------
    names : tuple of str
        Rankers, in their order of appearance in the log.
    pairs : ndarray of int64, shape (pairs, 2)
        Indices of the two rankers in ``names``.
    wins, losses, ties : ndarray of int64
        Number of impressions that the first ranker of the pair won, lost, or tied.
    means, cautious, naive : Means
        Mean outcome of the impressions (from -1 to 1), with standard error and degrees of freedom. ``means`` has
        cluster-robust errors; ``cautious``, for intervals, adds a won and a lost cluster, so that no error is 0;
        ``naive`` treats all impressions as independent.
    low, high : ndarray of float64
        Confidence interval of the mean outcome, from ``cautious``, widened to contain 0 unless ``p`` is below
        1 - confidence.
    p, p_corrected : ndarray of float64
        p-value of the test that the mean is 0 (the larger of two p-values: Student's t test, and the exact sign test of
        clusters), and the p-value corrected for the number of pairs (Holm).
    sequences : Sequences
        Sums for `stopping_decisions`.
    kinds : list of tuple
        For each pair, the kinds of its clusters: outcomes per cluster, and share of all outcomes.
    half : list of float
        For each pair, the cluster size such that clusters of at least this size have half of the outcomes.
    each : tuple of Means
        ``cautious`` by users alone and by queries alone if ``cluster`` is "both"; otherwise empty.
    looks : list of Look
        Development of the result over time.
    impressions : int
    confidence : float
        Confidence of the intervals.
    cluster : str
        The kind of cluster to which the errors are robust.
    provenance : dict
        Facts about the log, as JSON values.
    warnings : list of str
        Cautions about the result.

    Examples
    --------
    >>> "p_corrected" in LogComparison.__dataclass_fields__
    True
    """

    names: tuple[str, ...]
    pairs: IntVector
    wins: IntVector
    losses: IntVector
    ties: IntVector
    means: Means
    cautious: Means
    naive: Means
    low: FloatVector
    high: FloatVector
    p: FloatVector
    p_corrected: FloatVector
    sequences: Sequences
    kinds: list[Kinds] = field(repr=False)
    half: list[float] = field(repr=False)
    each: tuple[Means, ...] = field(repr=False)
    looks: list[Look] = field(repr=False)
    impressions: int
    confidence: float
    cluster: str
    provenance: dict[str, Any] = field(repr=False)
    warnings: list[str] = field(repr=False)

    @property
    def named_pairs(self) -> list[tuple[str, str]]:
        """The two rankers of each pair."""
        return [(self.names[a], self.names[b]) for a, b in self.pairs]

    @property
    def counts(self) -> IntVector:
        """Number of outcomes of each pair."""
        return self.wins + self.losses + self.ties

    @property
    def tests(self) -> int:
        """Number of pairs among which the error of sequential tests is divided, including pairs not yet shown."""
        return len(self.names) * (len(self.names) - 1) // 2

    @property
    def adaptive(self) -> bool:
        """Whether a policy chose the rankers by earlier outcomes."""
        return "policies" in self.provenance

    @property
    def unit(self) -> str:
        """The unit that counts once: ``impression`` or ``user``."""
        return self.provenance.get("per", "impression")

    @property
    def preferences(self) -> PreferenceMatrix:
        """The preference matrix; a tie is half a win. Errors are above 0, or infinite for a pair with one cluster."""
        size = len(self.names)
        p, error = np.full((size, size), 0.5), np.full((size, size), np.inf)
        comparisons = np.zeros((size, size), np.int64)
        np.fill_diagonal(error, 0)
        first, second = self.pairs.T
        p[first, second] = (1 + self.means.mean) / 2
        p[second, first] = 1 - p[first, second]
        for matrix, values in ((error, self.cautious.error / 2), (comparisons, self.counts)):
            matrix[first, second] = values
            matrix[second, first] = values
        return PreferenceMatrix(p, self.names, error, comparisons, self.provenance | self._undecided())

    @property
    def better(self) -> list[str]:
        """The better ranker of each pair at a single look; "" if neither is shown to be better."""
        sure, side = self.p_corrected < 1 - self.confidence, np.where(self.means.mean >= 0, 0, 1)
        return [pair[k] if one else "" for pair, k, one in zip(self.named_pairs, side, sure, strict=True)]

    @property
    def winner(self) -> str:
        """The ranker that is better than all others at a single look; "" if there is no such ranker."""
        better = self.better
        return next((name for name in self.names if better.count(name) == len(self.names) - 1), "")

    def _undecided(self) -> dict[str, Any]:
        """Return a note if the log decides no winner, because the matrix alone may suggest a winner."""
        if self.winner:
            return {}
        by = f"p = {self.p_corrected[0]:.3g}"
        if len(self.pairs) > 1:
            decided = len(self.pairs) - self.better.count("")
            by = f"{decided} of {len(self.pairs)} pairs {'is' if decided == 1 else 'are'} decided"
        return {"rankers": len(self.names), "undecided": f"Not decided by the log: {by}"}

    def to_frame(self) -> pd.DataFrame:
        """Return the table: one row per pair, the smallest p first."""
        first, second = map(list, zip(*self.named_pairs, strict=True))
        frame = pd.DataFrame(
            {
                "first": first,
                "second": second,
                f"{self.unit}s": self.counts,
                "wins": self.wins,
                "losses": self.losses,
                "ties": self.ties,
                "mean": self.means.mean,
                "standard_error": self.means.error,
                "naive_error": self.naive.error,
                "low": self.low,
                "high": self.high,
                "p": self.p,
                "p_corrected": self.p_corrected,
            }
        )
        return frame.sort_values(["p", "first", "second"], kind="stable", ignore_index=True)


def compared(
    sums: PairSums,
    names: tuple[str, ...],
    pairs: IntVector,
    *,
    confidence: float,
    impressions: int,
    provenance: dict[str, Any],
) -> LogComparison:
    """Return the comparison without looks or warnings; a pair may occur several times, once per slice."""
    cautious = sums.cautious()
    p: FloatVector = np.maximum(statistics.student_p(*cautious), sums.sign_p())
    return LogComparison(
        names,
        pairs,
        sums.wins,
        sums.losses,
        sums.ties,
        sums.means(),
        cautious,
        sums.naive(),
        *tested_ends(cautious, p, confidence),
        p,
        statistics.holm(p),
        sums.sequences,
        sums.sizes(),
        sums.half(),
        sums.cautious_of_each(),
        [],
        impressions,
        confidence,
        sums.cluster,
        provenance,
        [],
    )


def tested_ends(cautious: Means, p: FloatVector, confidence: float) -> tuple[FloatVector, FloatVector]:
    """Return the ends of the intervals, widened to contain 0 unless the test rejects 0."""
    low, high = interval_ends(cautious, confidence)
    inside = p >= 1 - confidence
    return np.where(inside, np.minimum(low, 0.0), low), np.where(inside, np.maximum(high, 0.0), high)
